// SPDX-License-Identifier: MIT
// From settings to static files, and what they count.
#include "cli/serve_folder.hh"

namespace heddle::cli {
namespace {

http::static_options options_of(const serve_options& o) {
  http::static_options s;
  s.listing = o.listing;
  s.hidden = o.hidden;
  s.single_page = o.spa;
  s.precompressed = o.precompressed;
  s.compress = o.compress;
  s.headers = o.fields_of_answers();
  s.cache_bytes_max = o.cache_bytes_max;
  s.cached_file_bytes_max = o.cached_file_bytes_max;
  s.held_bytes_max = o.held_bytes_max;
  s.trust = o.trust;
  return s;
}

}  // namespace

folder::folder(bus& b, const serve_options& o) : bus_(b), files_(o.directory, options_of(o)) {
  if (o.compress && !http::can_compress())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--compress: this program was built without zlib");
  b.bind<asked, &folder::on_asked>(this, 90);
  if (files_.extra_lines().size() != 0) b.bind<made_here, &folder::on_made_here>(this, 10);
}

flow folder::on_asked(question& q) {
  q.answer = files_.answer(q.request);
  return flow::halt;
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

}  // namespace heddle::cli
