// SPDX-License-Identifier: MIT
// From a path to an answer: cache, or open beneath the root, look, read; conditions and ranges
// after.
#include "heddle/http/static_files.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "heddle/http/conditional.hh"
#include "heddle/http/etag.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/mime.hh"
#include "heddle/http/range.hh"
#include "heddle/http/uri.hh"
#include "heddle/sched/runtime.hh"
#include "http/driver_call.hh"
#include "http/listing.hh"

namespace heddle::http {
namespace {

bool hidden_path(std::string_view path) noexcept {
  return path.find("/.") != std::string_view::npos;
}

/// What of a file's state is told to clients.
struct file_facts {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::uint64_t changed_ns = 0;
  bool operator==(const file_facts&) const = default;
};

file_facts facts_of(const struct statx& s) noexcept {
  return {s.stx_ino, s.stx_size, s.stx_mtime.tv_sec,
          static_cast<std::uint64_t>(s.stx_mtime.tv_sec) * 1'000'000'000 + s.stx_mtime.tv_nsec};
}

int status_for(std::int64_t error) noexcept {
  switch (-error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EXDEV:  // it would leave the root
    case ELOOP:
      return 404;
    case EACCES:
    case EPERM:
      return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

struct static_files::entry {
  std::string path;
  piece lines;  // Content-Type, Last-Modified, ETag, Accept-Ranges, nosniff
  std::string etag;
  file_facts facts;
  piece body;
  time_point seen_at{};
};

namespace {

std::string lines_for(std::string_view path, const file_facts& facts, std::string_view etag) {
  std::string room(1024, '\0');
  head_writer writer(room);
  char date[date_bytes];
  write_date(facts.modified, date);
  writer.status(200)
      .field("Content-Type", mime_type_of(path))
      .field("Last-Modified", std::string_view(date, date_bytes))
      .field("ETag", etag)
      .lines("Accept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n");
  const std::string_view text = writer.text();
  return std::string(text.substr(text.find('\n') + 1));
}

/// What the conditions and the range make of a file: the status, and the part to send.
struct selection {
  int status = 200;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
  bool partial = false;
};

selection select(const request_head& head, std::string_view etag, const file_facts& facts,
                 std::int64_t now) {
  selection chosen{200, 0, facts.size, false};
  const condition_result c = evaluate(head, {etag, facts.modified, true}, now);
  if (c.what == condition::not_modified) return {304, 0, 0, false};
  if (c.what == condition::precondition_failed) return {412, 0, 0, false};
  if (!c.use_range) return chosen;
  const range_set ranges = parse_ranges(head.value(header_id::range), facts.size);
  if (ranges.answer() == range_answer::unsatisfiable) return {416, 0, 0, false};
  if (ranges.answer() != range_answer::single) return chosen;
  return {206, ranges.front().first, ranges.front().length(), true};
}

std::int64_t wall_now() {
  return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
}

response begin_response(const selection& chosen, std::uint64_t size) {
  if (chosen.status == 412) return error_response(412, "the file is not what was expected");
  if (chosen.status == 416) {
    response r = error_response(416, "");
    r.header("Content-Range", content_range::unsatisfied(size).text());
    return r;
  }
  response r(chosen.status);
  if (chosen.partial)
    r.header("Content-Range",
             content_range({chosen.first, chosen.first + chosen.length - 1}, size).text());
  return r;
}

bool has_conditions(const request_head& head) noexcept {
  return head.has(header_id::if_none_match) || head.has(header_id::if_modified_since) ||
         head.has(header_id::if_match) || head.has(header_id::if_unmodified_since) ||
         head.has(header_id::range);
}

}  // namespace

static_files::static_files(const std::string& root, static_options options)
    : options_(std::move(options)) {
  root_fd_ = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd_ < 0)
    throw failure({errno, std::generic_category()}, "cannot serve the directory '" + root + "'");
}

static_files::~static_files() { ::close(root_fd_); }

task<response> static_files::answer(request& asked) {
  const method verb = asked.verb();
  if (verb != method::get && verb != method::head) {
    response r =
        error_response(verb == method::other ? 501 : 405, "this server answers GET and HEAD");
    r.header("Allow", "GET, HEAD");
    co_return r;
  }
  const std::string_view raw = asked.path();
  if (const auto at = by_path_.find(raw); at != by_path_.end()) {
    entry& e = *at->second;
    if (worker::running().now - e.seen_at < options_.trust) {
      ++counters_.hits;
      co_return from_cache(e, asked);
    }
  }
  std::string room(raw.size(), '\0');
  const auto path = decode_path(raw, room);
  if (!path) {
    co_return error_response(path.error() == path_problem::too_long ? 414 : 400,
                             describe(path.error()));
  }
  if (!options_.hidden && hidden_path(*path)) co_return error_response(404, "");
  ++counters_.misses;
  co_return co_await from_disk(asked, std::string(*path));
}

response static_files::from_cache(entry& e, request& asked) {
  if (&e != &entries_.front())
    entries_.splice(entries_.begin(), entries_, by_path_.find(e.path)->second);
  if (!has_conditions(asked.head())) [[likely]] {
    response r(200);
    r.shared_lines(e.lines).body(e.body);
    return r;
  }
  const selection chosen = select(asked.head(), e.etag, e.facts, wall_now());
  response r = begin_response(chosen, e.facts.size);
  if (chosen.status == 412 || chosen.status == 416) return r;
  r.shared_lines(e.lines);
  if (chosen.status != 304) r.body(e.body.slice(chosen.first, chosen.length));
  return r;
}

task<response> static_files::from_disk(request& asked, std::string path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string relative = path == "/" ? "." : path.substr(1);
  const std::int64_t opened = co_await open_beneath(root_fd_, relative.c_str(), how);
  if (opened < 0) {
    if (const auto stale = by_path_.find(path); stale != by_path_.end()) forget(stale->second);
    co_return error_response(status_for(opened), "");
  }
  open_file file(static_cast<int>(opened));
  struct statx state{};
  if (const std::int64_t error = co_await stat_open(file.number(), state); error < 0)
    co_return error_response(status_for(error), "");
  if (S_ISDIR(state.stx_mode))
    co_return co_await directory(asked, std::move(file), std::move(path));
  if (!S_ISREG(state.stx_mode)) co_return error_response(404, "");
  if (path.ends_with('/')) co_return error_response(404, "");

  const file_facts facts = facts_of(state);
  if (const auto known = by_path_.find(path); known != by_path_.end()) {
    entry& e = *known->second;
    if (e.facts == facts) {
      e.seen_at = worker::running().now;
      co_return from_cache(e, asked);
    }
    forget(known->second);
  }
  entry e;
  e.facts = facts;
  e.etag = file_etag(facts.inode, facts.size, facts.changed_ns).text();
  e.lines = piece(lines_for(path, facts, e.etag));
  e.path = std::move(path);
  if (facts.size > options_.cached_file_bytes_max) {
    const selection chosen = select(asked.head(), e.etag, facts, wall_now());
    response r = begin_response(chosen, facts.size);
    if (chosen.status == 412 || chosen.status == 416) co_return r;
    r.shared_lines(e.lines);
    if (chosen.status != 304) r.file(std::move(file), chosen.first, chosen.length);
    co_return r;
  }
  std::string content(static_cast<std::size_t>(facts.size), '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const std::int64_t got =
        co_await read_at(file.number(), content.data() + have, content.size() - have, have);
    if (got <= 0) co_return error_response(503, "the file changes while it is read");
    have += static_cast<std::size_t>(got);
  }
  e.body = piece(std::move(content));
  e.seen_at = worker::running().now;
  remember(std::move(e));
  co_return from_cache(entries_.front(), asked);
}

task<response> static_files::directory(request& asked, open_file dir, std::string path) {
  if (!path.ends_with('/')) {
    std::string target;
    append_encoded_path(target, path + "/");
    if (!asked.query().empty()) (target += '?') += asked.query();
    response r = error_response(301, "");
    r.header("Location", target);
    co_return r;
  }
  // Whoever has the index in the cache needs no second open of the directory next time.
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::int64_t index = co_await open_beneath(dir.number(), options_.index.c_str(), how);
  if (index >= 0) {
    const open_file probe(static_cast<int>(index));
    std::string file = path + options_.index;
    if (const auto at = by_path_.find(file);
        at != by_path_.end() && worker::running().now - at->second->seen_at < options_.trust)
      co_return from_cache(*at->second, asked);
    co_return co_await from_disk(asked, std::move(file));
  }
  if (!options_.listing) co_return error_response(404, "");
  co_return co_await list_directory(std::move(dir), std::move(path));
}

task<response> static_files::list_directory(open_file dir, std::string path) {
  std::vector<directory_entry> names;
  if (const std::int64_t error = co_await list_open(dir.number(), names); error < 0)
    co_return error_response(status_for(error), "");
  if (!options_.hidden)
    std::erase_if(names, [](const directory_entry& e) { return e.name.starts_with('.'); });
  response r(200);
  r.body("text/html; charset=utf-8", listing_page(path, std::move(names)));
  co_return r;
}

void static_files::remember(entry&& e) {
  counters_.cached_bytes += e.facts.size;
  entries_.push_front(std::move(e));
  by_path_.insert_or_assign(entries_.front().path, entries_.begin());
  while (counters_.cached_bytes > options_.cache_bytes_max && entries_.size() > 1)
    forget(std::prev(entries_.end()));
}

void static_files::forget(order::iterator at) {
  counters_.cached_bytes -= at->facts.size;
  by_path_.erase(at->path);
  entries_.erase(at);
}

}  // namespace heddle::http
