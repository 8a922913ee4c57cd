// SPDX-License-Identifier: MIT
// Creates static files from the settings and shows their counters.
#include "serve/folder.hh"

#include <algorithm>

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

}  // namespace

folder::folder(const serve_options& o, bool main)
    : files_(o.directory, options_of(o, main)), fields_(o.path_fields) {
  if (o.files.compress && http::codings_made().empty())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--compress: this program was built without zlib, libbrotlienc and libzstd");
}

folder::folder(const serve_options& o) : folder(o, false) {}

folder::folder(bus& b, const serve_options& o) : folder(o, true) {
  bus_ = &b;
  b.bind<asked, &folder::on_asked>(this, 90);
  if (files_.extra_lines().size() != 0) b.bind<made_here, &folder::on_made_here>(this, 10);
}

flow folder::on_asked(question& q) {
  if (fields_.empty()) [[likely]] {
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

void folder::on_made_here(http::response& r) { r.shared_lines(files_.extra_lines()); }

folder_counters folder::counters() const noexcept {
  return {files_.counters(), files_.cache().evictions(), files_.cache().bytes(),
          files_.cache().count(), files_.held_bytes()};
}

folder_counters& folder_counters::operator+=(const folder_counters& other) noexcept {
  files.hits += other.files.hits;
  files.misses += other.files.misses;
  files.compressed += other.files.compressed;
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
