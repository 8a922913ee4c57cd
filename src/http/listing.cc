// SPDX-License-Identifier: MIT
// The listing page. Names are escaped twice over: for the link and for the page.
#include "http/listing.hh"

#include <algorithm>

#include "heddle/http/uri.hh"

namespace heddle::http {
namespace {

constexpr std::string_view style =
    "<style>:root{color-scheme:light dark}"
    "body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.2rem;overflow-wrap:anywhere}ul{list-style:none;padding:0}"
    "li{border-top:1px solid color-mix(in srgb,currentColor 15%,transparent)}"
    "a{display:block;padding:.45rem .25rem;text-decoration:none;overflow-wrap:anywhere}"
    "a:hover,a:focus{text-decoration:underline}</style>";

}  // namespace

std::string listing_page(std::string_view path, std::vector<directory_entry> names) {
  std::sort(names.begin(), names.end(), [](const directory_entry& a, const directory_entry& b) {
    const bool a_dir = a.type == entry_type::directory;
    const bool b_dir = b.type == entry_type::directory;
    return a_dir != b_dir ? a_dir : a.name < b.name;
  });
  std::string page =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>";
  append_html(page, path);
  page += "</title>";
  page += style;
  page += "<h1>";
  append_html(page, path);
  page += "</h1><ul>\n";
  if (path != "/") page += "<li><a href=\"../\">../</a></li>\n";
  for (const directory_entry& e : names) {
    const std::string_view slash = e.type == entry_type::directory ? "/" : "";
    std::string link = "./";  // so that a name with a colon is no scheme
    append_encoded(link, e.name);
    page += "<li><a href=\"";
    append_html(page, link);
    (page += slash) += "\">";
    append_html(page, e.name);
    (page += slash) += "</a></li>\n";
  }
  page += "</ul></html>\n";
  return page;
}

}  // namespace heddle::http
