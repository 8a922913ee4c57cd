// SPDX-License-Identifier: MIT
// Makes an answer from a path: from memory, or by opening the file below the root. file_answer.cc
// applies a request's conditions; static_load.cc reads and compresses files.
#include "heddle/web/static_files.hh"
#include "heddle/http/detail/fixed_fields.hh"

#include <fcntl.h>

#include "heddle/http/mime.hh"
#include "heddle/http/uri.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/detail/hidden_path.hh"
#include "web/counted_body.hh"
#include "web/direct_read.hh"
#include "web/driver_call.hh"
#include "web/file_answer.hh"
#include "web/html_page.hh"
#include "web/listing_json.hh"
#include "web/static_open.hh"

namespace heddle::http {
namespace {

constexpr std::string_view changes_text = "the file changes while it is read";

std::int64_t wall_now() {
  return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
}

bool wants_html(const request_head& head) noexcept {
  return head.value(header_id::accept).find("text/html") != std::string_view::npos;
}

bool wants_json(const request_head& head) noexcept {
  return head.value(header_id::accept).find("application/json") != std::string_view::npos &&
         !wants_html(head);
}

constexpr std::string_view page_ending = ".html";

/// Whether the last segment of a path contains a dot, as names of files do and page paths of an
/// application do not.
bool names_a_file(std::string_view path) noexcept {
  return path.find('.', path.rfind('/')) != std::string_view::npos;
}

/// The clean path of a page, which ends with ".html": `index` is its folder itself. Empty if the
/// page has none: with a dot in its last segment it would name a file.
std::string clean_path(std::string_view page, std::string_view index) {
  if (page.ends_with(index) && page.substr(0, page.size() - index.size()).ends_with('/'))
    return std::string(page.substr(0, page.size() - index.size()));
  page.remove_suffix(page_ending.size());
  return page.ends_with('/') || names_a_file(page) ? std::string() : std::string(page);
}

}  // namespace

static_files::static_files(const std::string& root, static_options options)
    : root_(root, O_RDONLY | O_DIRECTORY, "serve the directory"),
      options_(std::move(options)),
      makes_(options_.compress ? codings_made() : coding_set()),
      cache_(options_.cache_bytes_max),
      held_bytes_(std::make_shared<std::uint64_t>(0)),
      extra_lines_(checked_lines(options_.headers)) {
  if (options_.held_bytes_max == 0)
    options_.held_bytes_max = 2 * options_.cache_bytes_max + (std::uint64_t{16} << 20);
  if (!options_.direct) return;
  if (const std::string why = why_not_directly(root_.number()); !why.empty())
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "cannot read the files of '" + root + "' directly: " + why);
}

static_files::~static_files() = default;

/// The cached content of a path, if it was checked recently; else null.
content* static_files::trusted(std::string_view path) {
  content* c = cache_.find(path);
  return c != nullptr && worker::running().now - c->seen_at < options_.trust ? c : nullptr;
}

task<response> static_files::answer(request& asked) {
  struct mark {
    explicit mark(std::size_t& n) : count(n) { ++count; }
    ~mark() { --count; }
    std::size_t& count;
  } const at_work(busy_);
  const method verb = asked.verb();
  if (verb != method::get && verb != method::head) {
    response r =
        refuse(asked, verb == method::other ? 501 : 405, "this server answers GET and HEAD");
    r.header("Allow", "GET, HEAD");
    co_return r;
  }
  const std::string_view raw = asked.path();
  // A page may have to be answered with its clean path, although it is in the cache.
  const bool is_page = options_.clean_urls && raw.ends_with(page_ending);
  content* c = is_page ? nullptr : trusted(raw);
  if (c == nullptr && raw.ends_with('/')) c = trusted(std::string(raw) + options_.index);
  if (c == nullptr && options_.clean_urls && !names_a_file(raw)) {
    c = trusted(std::string(raw) += page_ending);
    if (c != nullptr && !c->clean) c = nullptr;  // a file or a folder may have that path
  }
  // The cache uses decoded paths as keys.
  if (c != nullptr && raw.find('%') == raw.npos) {
    ++counters_.hits;
    if (c->codings.empty() && packable(*c).empty()) [[likely]]
      co_return send(*c, content_coding::identity, asked);
    co_return co_await respond(*c, asked);
  }
  std::string room(raw.size(), '\0');
  const auto path = decode_path(raw, room, {.encoded_backslash = true});
  if (!path)
    co_return refuse(asked, path.error() == path_problem::too_long ? 414 : 400,
                     describe(path.error()));
  if (withheld_path(*path, options_.hidden)) co_return co_await missing(asked);
  if (options_.clean_urls && path->ends_with(page_ending))
    co_return co_await answer_page(asked, std::string(*path));
  if (c = trusted(*path); c != nullptr) {  // a path with escapes
    ++counters_.hits;
    co_return co_await respond(*c, asked);
  }
  co_return co_await find(asked, std::string(*path));
}

/// With clean URLs: a page is answered with its clean path if that path leads to this page.
task<response> static_files::answer_page(request& asked, std::string path) {
  const std::string clean = clean_path(path, options_.index);
  if (const content* const known = trusted(path); known != nullptr && known->clean)
    co_return elsewhere(asked, 308, clean);
  found page = co_await look(path);
  if (page.is != found::what::kept && page.is != found::what::large)
    co_return co_await find(asked, std::move(path));
  bool leads_here = !clean.empty();
  if (leads_here && !clean.ends_with('/')) {
    const found other = co_await look(clean);
    leads_here = other.is == found::what::failed && status_for(other.error) == 404;
  }
  if (content* const kept = cache_.find(path)) kept->clean = leads_here;
  if (!leads_here) co_return co_await give(asked, std::move(page), std::move(path));
  co_return elsewhere(asked, 308, clean);
}

/// Sends the client to another path of this server, which is decoded.
response static_files::elsewhere(request& asked, int status, std::string_view path) {
  std::string target;
  append_encoded_path(target, path);
  if (!asked.query().empty()) (target += '?') += asked.query();
  response r = refuse(asked, status);
  r.header("Location", own_location(target));
  return r;
}

/// Chooses the representation; compresses the content at the first request that accepts it.
task<response> static_files::respond(content& c, request& asked) {
  const std::string_view accept = asked.header(header_id::accept_encoding);
  content* from = &c;
  const coding_set possible = packable(c);
  const content_coding best =
      possible.empty() ? content_coding::identity : choose_coding(accept, c.codings.with(possible));
  if (best != content_coding::identity && !c.codings.has(best)) {
    from = co_await pack(c.path, best);
    if (from == nullptr) co_return refuse(asked, 503, changes_text);
  }
  const content_coding coding = choose_coding(accept, from->codings);
  if (coding == content_coding::identity && from->plain.body.size() != from->plain.facts.size) {
    content large;
    large.type = from->type;
    large.codings = from->codings;
    large.plain.facts = from->plain.facts;
    large.plain.etag = from->plain.etag;
    co_return co_await send_unkept(asked, std::string(from->path), std::move(large));
  }
  co_return send(*from, coding, asked);
}

response static_files::send(const content& c, content_coding coding, request& asked) {
  const representation& r = c.in(coding);
  if (!has_conditions(asked.head())) [[likely]] {
    response whole(200);
    whole.body(r.body).shared_lines(r.lines, r.length_line);
    return whole;
  }
  const std::uint64_t size = r.body.size();
  const selection chosen = select_part(asked.head(), r, size, wall_now());
  if (chosen.status == 412) return refuse(asked, 412);
  if (chosen.status == 304 || chosen.status == 416)
    return answer_without_body(chosen, r, size, extra_lines_);
  const auto ranges = chosen.ranges.ranges();
  response part(chosen.status);
  std::uint64_t sum = 0;
  for (const byte_range& range : ranges) sum += range.length();
  if (ranges.size() > 1 && !may_hold(sum)) {
    ++counters_.unkept;
    return std::move(response(200).body(r.body).shared_lines(r.lines, r.length_line));
  }
  if (ranges.empty()) {
    part.body(r.body).shared_lines(r.lines, r.length_line);
  } else if (ranges.size() == 1) {
    part.header("Content-Range", content_range(ranges[0], size).text());
    part.shared_lines(r.lines_of_part()).body(r.body.slice(ranges[0].first, ranges[0].length()));
  } else {
    multipart parts(c.type, size, runtime::here().io().random());
    for (const byte_range& range : ranges)
      parts.add(range, r.body.bytes().text().substr(range.first, range.length()));
    part.shared_lines(piece(
        assemble_lines(parts.content_type(), r, coding, varies(c), extra_lines_.bytes().text())));
    part.body(piece::held_by(counted_body(held_bytes_, parts.finish())));
  }
  return part;
}

task<response> static_files::find(request& asked, std::string path) {
  found f = co_await look(path);
  if (f.is == found::what::failed) {
    const int status = status_for(f.error);
    if (status != 404) co_return refuse(asked, status, f.error == file_changes ? changes_text : "");
    if (options_.clean_urls && !names_a_file(path) && !path.ends_with('/')) {
      std::string named = path + std::string(page_ending);
      found page = co_await look(named);
      if (content* const kept = cache_.find(named)) kept->clean = true;
      if (page.is == found::what::kept || page.is == found::what::large)
        co_return co_await give(asked, std::move(page), std::move(named));
    }
    if (options_.single_page && !names_a_file(path)) {
      std::string index = '/' + options_.index;
      found page = co_await look(index);
      if (page.is == found::what::kept || page.is == found::what::large)
        co_return co_await give(asked, std::move(page), std::move(index));
    }
    co_return co_await missing(asked);
  }
  if (f.is == found::what::directory)
    co_return co_await directory(asked, std::move(f.file.file), std::move(path));
  co_return co_await give(asked, std::move(f), std::move(path));
}

/// Answers with 404: for browsers with the site's own page, if it has one that fits in the cache.
task<response> static_files::missing(request& asked) {
  if (options_.not_found.empty() || !wants_html(asked.head())) co_return refuse(asked, 404);
  const std::string path = '/' + options_.not_found;
  const found page = co_await look(path);
  const content* const c = page.is == found::what::kept ? cache_.find(path) : nullptr;
  if (c == nullptr || c->plain.body.size() != c->plain.facts.size) co_return refuse(asked, 404);
  response r(404);
  r.header("Content-Type", c->type).header("X-Content-Type-Options", "nosniff");
  r.header("Vary", "Accept").shared_lines(extra_lines_).body(c->plain.body);
  co_return r;
}

/// Answers with the result of looking up a path.
task<response> static_files::give(request& asked, found f, std::string path) {
  if (f.is == found::what::large)
    co_return co_await send_large(asked, std::move(f.file), std::move(f.facts));
  content* const c = cache_.find(path);
  if (c != nullptr) co_return co_await respond(*c, asked);
  // Other files have evicted it meanwhile. Another look could end the same way.
  content gone;
  gone.type = mime_type_of(path);
  co_return co_await send_unkept(asked, std::move(path), std::move(gone));
}

/// Sends a file without the cache. If `large` has facts, the file must still match them.
task<response> static_files::send_unkept(request& asked, std::string path, content large) {
  opened file = co_await open(path);
  if (file.error != 0) co_return refuse(asked, status_for(file.error));
  if (!large.plain.etag.empty() && !(file.facts == large.plain.facts))
    co_return refuse(asked, 503, changes_text);
  large.plain.facts = file.facts;
  large.plain.etag = etag_of(file.facts);
  co_return co_await send_large(asked, std::move(file), std::move(large));
}

task<response> static_files::directory(request& asked, open_file dir, std::string path) {
  if (!path.ends_with('/')) co_return elsewhere(asked, 301, path + "/");
  std::string index = path + options_.index;
  found page = co_await look(index);
  if (page.is == found::what::kept || page.is == found::what::large)
    co_return co_await give(asked, std::move(page), std::move(index));
  if (!options_.listing) co_return co_await missing(asked);
  co_return co_await list_directory(asked, std::move(dir), std::move(path));
}

task<response> static_files::list_directory(request& asked, open_file dir, std::string path) {
  const bool json = wants_json(asked.head());
  listing_request wanted{
      root_.number(), dir.number(), path, options_.hidden, options_.listing_entries_max, {}, 0};
  const std::int64_t error = co_await list_with_sizes(wanted);
  std::string page;
  int status = error < 0 ? status_for(error) : 200;
  if (status == 200) {
    const listing_sort sort = listing_sort_of(asked.query());
    sort_listing(wanted.names, sort);
    const std::string foot =
        json || !options_.listing_foot ? std::string() : options_.listing_foot(path);
    page = json ? listing_json(path, wanted.names, wanted.left_out)
                : listing_page(path, wanted.names, wanted.left_out, sort, foot);
    if (!may_hold(page.size())) {
      ++counters_.unkept;
      status = 503;
    }
  }
  if (status != 200) co_return refuse(asked, status);
  response r(status);
  r.shared_lines(extra_lines_).header("X-Content-Type-Options", "nosniff");
  r.header("Content-Type", json ? "application/json" : "text/html; charset=utf-8");
  r.header("Vary", "Accept");
  r.body(piece::held_by(counted_body(held_bytes_, std::move(page))));
  co_return r;
}

/// Makes an error answer: an HTML page for browsers, a line of text for programs.
response static_files::refuse(request& asked, int status, std::string_view what) {
  response r(status);
  if (wants_html(asked.head())) {
    r.header("X-Content-Type-Options", "nosniff");
    r.body("text/html; charset=utf-8", error_page(status, what));
  } else {
    r = error_response(status, what);
  }
  r.header("Vary", "Accept").shared_lines(extra_lines_);
  return r;
}

}  // namespace heddle::http
