// SPDX-License-Identifier: MIT
// From a path to an answer: memory, or open beneath the root and look. What a representation makes
// of a request's conditions is file_answer.cc's; reading and packing files is static_load.cc's.
#include "heddle/http/static_files.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "heddle/http/mime.hh"
#include "heddle/http/uri.hh"
#include "heddle/sched/runtime.hh"
#include "http/counted_body.hh"
#include "http/driver_call.hh"
#include "http/file_answer.hh"
#include "http/fixed_fields.hh"
#include "http/page.hh"
#include "http/static_open.hh"

namespace heddle::http {
namespace {

bool hidden_path(std::string_view path) noexcept {
  return path.find("/.") != std::string_view::npos;
}

constexpr std::string_view changes_text = "the file changes while it is read";

std::int64_t wall_now() {
  return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
}

bool wants_html(const request_head& head) noexcept {
  return head.value(header_id::accept).find("text/html") != std::string_view::npos;
}

/// The part behind the last slash has a dot: a file of some kind, not a page of an application.
bool names_a_file(std::string_view path) noexcept {
  return path.find('.', path.rfind('/')) != std::string_view::npos;
}

}  // namespace

static_files::static_files(const std::string& root, static_options options)
    : options_(std::move(options)),
      cache_(options_.cache_bytes_max),
      held_bytes_(std::make_shared<std::uint64_t>(0)),
      extra_lines_(checked_lines(options_.headers)) {
  if (options_.held_bytes_max == 0)
    options_.held_bytes_max = 2 * options_.cache_bytes_max + (std::uint64_t{16} << 20);
  root_fd_ = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd_ < 0)
    throw failure({errno, std::generic_category()}, "cannot serve the directory '" + root + "'");
}

static_files::~static_files() { ::close(root_fd_); }

/// What is in memory and was looked at a moment ago.
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
  content* c = trusted(raw);
  if (c == nullptr && raw.ends_with('/')) c = trusted(std::string(raw) + options_.index);
  // What is kept is named by its decoded path.
  if (c != nullptr && raw.find('%') == raw.npos) {
    ++counters_.hits;
    if (c->codings.empty() && !packable(*c)) [[likely]]
      co_return send(*c, content_coding::identity, asked);
    co_return co_await respond(*c, asked);
  }
  std::string room(raw.size(), '\0');
  const auto path = decode_path(raw, room);
  if (!path)
    co_return refuse(asked, path.error() == path_problem::too_long ? 414 : 400,
                     describe(path.error()));
  if (!options_.hidden && hidden_path(*path)) co_return refuse(asked, 404);
  if (c = trusted(*path); c != nullptr) {  // a path with escapes
    ++counters_.hits;
    co_return co_await respond(*c, asked);
  }
  co_return co_await find(asked, std::string(*path));
}

/// Which representation, and compressing it first if nobody has.
task<response> static_files::respond(content& c, request& asked) {
  const std::string_view accept = asked.header(header_id::accept_encoding);
  content* from = &c;
  if (packable(c) &&
      choose_coding(accept, c.codings.with(content_coding::gzip)) == content_coding::gzip) {
    from = co_await pack(c.path);
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
    if (status == 404 && options_.single_page && !names_a_file(path)) {
      std::string index = '/' + options_.index;
      found page = co_await look(index);
      if (page.is == found::what::kept || page.is == found::what::large)
        co_return co_await give(asked, std::move(page), std::move(index));
    }
    co_return refuse(asked, status, f.error == file_changes ? changes_text : "");
  }
  if (f.is == found::what::directory)
    co_return co_await directory(asked, std::move(f.file.file), std::move(path));
  co_return co_await give(asked, std::move(f), std::move(path));
}

/// Answers with a file that was found.
task<response> static_files::give(request& asked, found f, std::string path) {
  if (f.is == found::what::large)
    co_return co_await send_large(asked, std::move(f.file), std::move(f.facts));
  content* const c = cache_.find(path);
  if (c != nullptr) co_return co_await respond(*c, asked);
  // Others have pushed it out by now. A second look could end the same way.
  content gone;
  gone.type = mime_type_of(path);
  co_return co_await send_unkept(asked, std::move(path), std::move(gone));
}

/// From the file, without the cache. With facts in `large` the file has to be the same still.
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
  if (!path.ends_with('/')) {
    std::string target;
    append_encoded_path(target, path + "/");
    if (!asked.query().empty()) (target += '?') += asked.query();
    response r = refuse(asked, 301);
    r.header("Location", target);
    co_return r;
  }
  std::string index = path + options_.index;
  found page = co_await look(index);
  if (page.is == found::what::kept || page.is == found::what::large)
    co_return co_await give(asked, std::move(page), std::move(index));
  if (!options_.listing) co_return refuse(asked, 404);
  co_return co_await list_directory(std::move(dir), std::move(path));
}

task<response> static_files::list_directory(open_file dir, std::string path) {
  listing_request wanted{dir.number(), options_.hidden, options_.listing_entries_max, {}, 0};
  const std::int64_t error = co_await list_with_sizes(wanted);
  std::string page;
  int status = error < 0 ? status_for(error) : 200;
  if (status == 200) {
    page = listing_page(path, std::move(wanted.names), wanted.left_out);
    if (!may_hold(page.size())) {
      ++counters_.unkept;
      status = 503;
    }
  }
  if (status != 200) page = error_page(status, "");
  response r(status);
  r.shared_lines(extra_lines_).header("X-Content-Type-Options", "nosniff");
  r.header("Content-Type", "text/html; charset=utf-8");
  r.body(piece::held_by(counted_body(held_bytes_, std::move(page))));
  co_return r;
}

/// A page for browsers, a line for programs.
response static_files::refuse(request& asked, int status, std::string_view what) {
  response r(status);
  if (wants_html(asked.head())) {
    r.body("text/html; charset=utf-8", error_page(status, what));
  } else {
    r = error_response(status, what);
  }
  r.shared_lines(extra_lines_);
  return r;
}

}  // namespace heddle::http
