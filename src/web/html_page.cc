// SPDX-License-Identifier: MIT
// The server's own pages. Names are escaped twice: as part of a link, and as text of the page.
#include "web/html_page.hh"

#include <algorithm>
#include <ctime>

#include "heddle/http/status.hh"
#include "heddle/http/uri.hh"
#include "web/natural_order.hh"

namespace heddle::http {
namespace {

constexpr std::string_view style =
    "<style>"
    ":root{color-scheme:light dark;--line:#8884;--dim:#767676;--link:#0b57d0}"
    "@media(prefers-color-scheme:dark){:root{--dim:#9a9a9a;--link:#9ec1ff}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:0 auto;padding:1.5rem 1rem}"
    "h1{font-size:1.25rem;font-weight:600;overflow-wrap:anywhere;margin:.5rem 0 1rem}"
    "h1 a{color:inherit}"
    "a{color:var(--link);text-decoration:none}a:hover,a:focus-visible{text-decoration:underline}"
    "ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--line)}"
    "li a{display:grid;grid-template-columns:1fr auto;gap:0 1rem;padding:.6rem .25rem}"
    "li a:hover,li a:focus-visible{background:#8881;text-decoration:none}"
    "li b{font-weight:500;overflow-wrap:anywhere}"
    "li i{font-style:normal;color:var(--dim);font-variant-numeric:tabular-nums;text-align:right}"
    "li i+i{min-width:10ch}"
    "@media(min-width:34rem){li a{grid-template-columns:1fr auto auto}}"
    "@media(max-width:33.99rem){li i+i{display:none}}"
    "form{border-top:1px solid var(--line);margin-top:.5rem;padding:.75rem .25rem;display:flex;"
    "flex-wrap:wrap;gap:.5rem 1rem;align-items:center}form *{font:inherit;max-width:100%}"
    "p{margin:.5rem 0}.dim{color:var(--dim)}.code{font-size:3rem;font-weight:700;margin:2rem 0 0}"
    "</style>";

std::string page_start(std::string_view title) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>";
  append_html(page, title);
  (page += "</title>\n") += style;
  return page += '\n';
}

constexpr std::string_view key_names[] = {"name", "size", "time"};  // by listing_key

std::string_view name_of(listing_key key) { return key_names[static_cast<std::size_t>(key)]; }

/// The query to append to links to other folders, so that they are sorted the same way.
std::string query_of(listing_sort sort) {
  if (sort == listing_sort{}) return {};
  return std::string(sort.descending ? "?sort=-" : "?sort=") += name_of(sort.by);
}

/// Appends the links that change the order. The link of the current key reverses it; sizes and
/// times begin with the largest and the latest.
void append_sort_links(std::string& page, listing_sort now) {
  page += "<p class=\"dim\">Sort by";
  for (const listing_key key : {listing_key::name, listing_key::size, listing_key::time}) {
    const bool present = key == now.by;
    const bool descending = present ? !now.descending : key != listing_key::name;
    page += " <a href=\"?sort=";
    (page += descending ? "-" : "") += name_of(key);
    (page += "\">") += name_of(key);
    if (present) page += now.descending ? " \u2193" : " \u2191";
    page += "</a>";
  }
  page += "</p>\n";
}

/// Appends the path as links to each of its directories.
void append_trail(std::string& page, std::string_view path, std::string_view query) {
  ((page += "<h1><a href=\"/") += query) += "\">/</a>";
  for (std::size_t from = 1; from < path.size();) {
    const std::size_t end = path.find('/', from);
    std::string link;
    append_encoded_path(link, path.substr(0, end + 1));
    page += "<a href=\"";
    append_html(page, link);
    (page += query) += "\">";
    append_html(page, path.substr(from, end - from));
    page += "/</a>";
    from = end + 1;
  }
  page += "</h1>\n";
}

void append_day(std::string& page, std::int64_t seconds) {
  if (seconds == 0) return;
  const std::time_t at = seconds;
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  char text[16];
  page.append(text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts));
}

void append_entry(std::string& page, const listed_name& e, std::string_view query) {
  const bool folder = e.entry.type == entry_type::directory;
  std::string link = "./";  // so that a colon in a name does not look like a scheme
  append_encoded(link, e.entry.name);
  page += "<li><a href=\"";
  append_html(page, link);
  if (folder) (page += '/') += query;
  page += "\"><b>";
  append_html(page, e.entry.name);
  (page += folder ? "/" : "") += "</b><i>";
  if (!folder && e.modified != 0) page += page_size_text(e.size);
  page += "</i><i>";
  append_day(page, e.modified);
  page += "</i></a></li>\n";
}

std::string_view meaning_of(int status) {
  switch (status) {
    case 400:
      return "The address is not one that this server understands.";
    case 401:
      return "This server asks for a name and a password.";
    case 403:
      return "The server may not read this file.";
    case 404:
      return "There is nothing at this address.";
    case 405:
      return "This server only hands out files.";
    case 412:
      return "The file is not the one that was expected.";
    case 416:
      return "The file has no such part.";
    case 503:
      return "The server cannot answer now. Try again in a moment.";
    default:
      return status >= 500 ? "The server could not do this." : "";
  }
}

}  // namespace

std::string page_size_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10;
  if (bytes > (UINT64_MAX >> 4)) return "";
  while (tenths >= 10'000 && unit + 1 < std::size(units)) {
    tenths = (tenths + 500) / 1000;
    ++unit;
  }
  std::string text = std::to_string(tenths / 10);
  if (unit > 0) (text += '.') += static_cast<char>('0' + tenths % 10);
  return text += units[unit];
}

listing_sort listing_sort_of(std::string_view query) {
  query_pair pair;
  while (take_query_pair(query, pair)) {
    if (pair.name != "sort") continue;
    listing_sort sort{.descending = pair.value.starts_with('-')};
    const std::string_view key = pair.value.substr(sort.descending ? 1 : 0);
    const auto at = std::ranges::find(key_names, key);
    if (at == std::end(key_names)) return {};
    sort.by = static_cast<listing_key>(at - std::begin(key_names));
    return sort;
  }
  return {};
}

void sort_listing(std::vector<listed_name>& names, listing_sort sort) {
  const auto by_key = [sort](const listed_name& a, const listed_name& b) {
    if (sort.by == listing_key::size && a.size != b.size) return a.size < b.size;
    if (sort.by == listing_key::time && a.modified != b.modified) return a.modified < b.modified;
    return natural_less(a.entry.name, b.entry.name);
  };
  std::sort(names.begin(), names.end(), [&](const listed_name& a, const listed_name& b) {
    const bool a_folder = a.entry.type == entry_type::directory;
    const bool b_folder = b.entry.type == entry_type::directory;
    if (a_folder != b_folder) return a_folder;
    return sort.descending ? by_key(b, a) : by_key(a, b);
  });
}

std::string listing_page(std::string_view path, const std::vector<listed_name>& names,
                         std::size_t left_out, listing_sort sort, std::string_view foot) {
  const std::string query = query_of(sort);
  std::string page = page_start(path);
  append_trail(page, path, query);
  if (names.size() > 1) append_sort_links(page, sort);
  page += "<ul>\n";
  if (path != "/") ((page += "<li><a href=\"../") += query) += "\"><b>../</b></a></li>\n";
  for (const listed_name& e : names) append_entry(page, e, query);
  page += "</ul>\n";
  if (names.empty()) page += "<p class=\"dim\">This folder is empty.</p>\n";
  if (left_out != 0)
    page += "<p class=\"dim\">and " + std::to_string(left_out) + " more, not listed</p>\n";
  return (page += foot) += "</html>\n";
}

std::string error_page(int status, std::string_view what) {
  const std::string code = std::to_string(status);
  const std::string reason(reason_of(status));
  std::string page = page_start(code + ' ' + reason);
  page += "<p class=\"code\">" + code + "</p>\n<h1>" + reason + "</h1>\n";
  if (const std::string_view meaning = meaning_of(status); !meaning.empty())
    ((page += "<p>") += meaning) += "</p>\n";
  if (!what.empty()) {
    page += "<p class=\"dim\">";
    append_html(page, what);
    page += "</p>\n";
  }
  return page += "<p><a href=\"/\">To the start</a></p>\n</html>\n";
}

}  // namespace heddle::http
