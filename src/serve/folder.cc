// SPDX-License-Identifier: MIT
// Creates static files from the settings and shows their counters.
#include "serve/folder.hh"

#include <algorithm>

#include "heddle/client/page_fetch.hh"
#include "heddle/http/uri.hh"

namespace heddle::serve {
namespace {

/// Links to the folder as one file, and a form for uploads, where they are on.
std::string list_foot(const serve_options& o, std::string_view path) {
  std::string html;
  if (o.archives)
    html +=
        "<p class=\"dim\">All of it: <a href=\"./?archive=zip\" download>zip</a>"
        " <a href=\"./?archive=tar\" download>tar</a></p>\n";
  if (std::ranges::any_of(o.uploads, [&](const path_pattern& p) { return p.matches(path); }))
    html +=
        "<form method=\"post\" action=\"./\" enctype=\"multipart/form-data\">"
        "<label>Add files: <input type=\"file\" name=\"file\" multiple required></label>"
        "<button>Upload</button></form>\n";
  return html;
}

/// Archives and uploads are about the main folder, and not about those of other names.
http::static_options options_of(const serve_options& o, bool main) {
  http::static_options s = o.files;
  s.headers = o.fields_of_answers();
  if (main && (o.archives || !o.uploads.empty()))
    s.listing_foot = [o](std::string_view path) { return list_foot(o, path); };
  return s;
}

constexpr std::string_view page_files_end = ".page";

/// Whether a path leads to the text of a page, which visitors do not get.
bool is_page_text(std::string_view raw) {
  std::string room(raw.size(), '\0');
  const auto path = http::decode_path(raw, room, {.encoded_backslash = true});
  return path && path->ends_with(page_files_end);
}

void add_sources(http::page_files& pages, const serve_options& o) {
  http::page_fetch_options allowed;
  allowed.origins = o.origins;
  allowed.client.per_origin_max = o.page_connections;
  pages.source("fetch", http::fetch_source(std::move(allowed)), http::fetch_check(o.origins));
}

}  // namespace

task<std::vector<std::string>> check_pages(const serve_options& o) {
  std::vector<std::string> wrong;
  if (!o.pages) co_return wrong;
  std::vector<std::string> folders{o.directory};
  for (const auto& [name, folder] : o.sites) folders.push_back(folder);
  for (const std::string& each : folders) {
    http::page_files pages(each);
    add_sources(pages, o);
    const std::vector<std::string> found = co_await pages.check();
    wrong.insert(wrong.end(), found.begin(), found.end());
  }
  co_return wrong;
}

folder::folder(const serve_options& o, bool main)
    : files_(o.directory, options_of(o, main)), fields_(o.path_fields) {
  if (o.files.compress && http::codings_made().empty())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--compress: this program was built without zlib, libbrotlienc and libzstd");
  if (!o.pages) return;
  http::page_files_options options;
  options.complete = [this](http::request& r, http::response& head) { complete(r, head); };
  pages_.emplace(o.directory, std::move(options));
  add_sources(*pages_, o);
}

folder::folder(const serve_options& o) : folder(o, false) {}

folder::folder(bus& b, const serve_options& o) : folder(o, true) {
  bus_ = &b;
  b.bind<asked, &folder::on_asked>(this, 90);
  if (files_.extra_lines().size() != 0) b.bind<made_here, &folder::on_made_here>(this, 10);
}

flow folder::on_asked(question& q) {
  if (pages_) {
    q.answer = with_pages(q.request);
  } else if (fields_.empty()) [[likely]] {
    q.answer = files_.answer(q.request);
  } else {
    q.answer = with_fields(q.request);
  }
  return flow::halt;
}

/// An answer with a file or a list gets the fields of its path; an error does not.
task<http::response> folder::with_fields(http::request& asked) {
  http::response r = co_await files_.answer(asked);
  if (r.status() >= 400) co_return r;
  for (const path_field& each : fields_)
    if (each.about.leads_to(asked.path())) r.header(each.name, each.value);
  co_return r;
}

/// A page begins to leave before it is whole, so its head is completed where it is made.
void folder::complete(http::request& asked, http::response& head) const {
  head.shared_lines(files_.extra_lines());
  for (const path_field& each : fields_)
    if (each.about.leads_to(asked.path())) head.header(each.name, each.value);
}

task<http::response> folder::with_pages(http::request& asked) {
  std::optional<http::response> page = co_await pages_->answer_if_page(asked);
  if (page) co_return std::move(*page);
  if (!is_page_text(asked.path())) co_return co_await with_fields(asked);
  http::response missing = asked.error(404, "");
  co_return missing;
}

void folder::on_made_here(http::response& r) { r.shared_lines(files_.extra_lines()); }

folder_counters folder::counters() const noexcept {
  return {files_.counters(), files_.cache().evictions(), files_.cache().bytes(),
          files_.cache().count(), files_.held_bytes()};
}

folder_counters& folder_counters::operator+=(const folder_counters& other) noexcept {
  files.hits += other.files.hits;
  files.misses += other.files.misses;
  files.compressed += other.files.compressed;
  files.direct += other.files.direct;
  files.joined += other.files.joined;
  files.unkept += other.files.unkept;
  evictions += other.evictions;
  cached_bytes += other.cached_bytes;
  cached += other.cached;
  held_bytes += other.held_bytes;
  return *this;
}

void show(const folder_counters& c, http::metrics_page& page) {
  page.counter("heddle_files_hits_total", "Answered from memory.", c.files.hits)
      .counter("heddle_files_misses_total", "A file was opened.", c.files.misses)
      .counter("heddle_files_compressed_total", "Files packed on the fly.", c.files.compressed)
      .counter("heddle_files_direct_total", "Files read without the kernel's cache.",
               c.files.direct)
      .counter("heddle_files_joined_total", "Waited for a file that was being opened.",
               c.files.joined)
      .counter("heddle_files_unkept_total", "Sent in parts: slow clients held too much.",
               c.files.unkept)
      .counter("heddle_files_evictions_total", "Files that had to leave the cache.", c.evictions)
      .gauge("heddle_files_cached_bytes", "Memory of cached files.", c.cached_bytes)
      .gauge("heddle_files_cached", "Cached files.", c.cached)
      .gauge("heddle_files_held_bytes", "Memory of files, cached or on their way.", c.held_bytes);
}

}  // namespace heddle::serve
