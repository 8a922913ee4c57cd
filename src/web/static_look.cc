// SPDX-License-Identifier: MIT
// Looks up a path: the first request for a path opens and reads the file, and other requests for it
// wait for the result. They share the result if the file went into the cache, or if there is no
// such file; for a directory, or for a file too large to cache, each looks for itself. If the
// request that looks is cancelled, one of the waiting requests takes over. Failures are not
// remembered.
#include <cerrno>

#include "heddle/base/sometimes.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/http/mime.hh"
#include "web/static_open.hh"

namespace heddle::http {
namespace {

/// Ends the look if its request was cancelled. File calls fail when their request is cancelled;
/// that says nothing about the file, so neither the cache nor other requests may use the error.
void end_if_canceled() {
  if (worker::running().current_context().canceled()) heddle::detail::check_outcome(-ECANCELED);
}

/// The cached content of a path that is looked at: unless the look ends well, no request trusts it.
class doubt {
 public:
  doubt(content_cache& cache, std::string path) : cache_(cache), path_(std::move(path)) {}
  doubt(const doubt&) = delete;
  ~doubt() {
    if (settled_) return;
    if (content* const old = cache_.find(path_)) {
      HEDDLE_SOMETIMES("a look at a file with cached content fails");
      old->seen_at = {};
    }
  }
  void settle() noexcept { settled_ = true; }

 private:
  content_cache& cache_;
  std::string path_;
  bool settled_ = false;
};

}  // namespace

/// One look and the requests that wait for its end. It lives in the frame of the request that
/// looks.
class static_files::flight {
 public:
  /// The next step of the waiting requests.
  enum class landing : std::uint8_t { look_again, share, look_alone };
  struct result {
    landing how = landing::look_again;
    found::what is = found::what::failed;
    std::int64_t error = 0;
  };

  flight(static_files& owner, std::string_view path) : owner_(owner), path_(path) {
    if (!owner.flights_.emplace(path, this).second)
      path_ = {};  // another look is registered: this one is not shared
  }
  flight(const flight&) = delete;
  ~flight() {
    if (path_.data() == nullptr) return;
    owner_.flights_.erase(path_);
    for (const event<result>& each : waiting_) each.trigger(result_);
  }

  void wait(event<result> ended) { waiting_.push_back(std::move(ended)); }
  void land(const found& f) noexcept {
    const bool shared = f.is == found::what::kept || f.is == found::what::failed;
    result_ = {shared ? landing::share : landing::look_alone, f.is, f.error};
  }

 private:
  static_files& owner_;
  std::string_view path_;
  result result_;
  std::vector<event<result>> waiting_;
};

task<static_files::found> static_files::look(std::string path) {
  found f;
  for (bool alone = false; !alone;) {
    if (trusted(path) != nullptr) {
      f.is = found::what::kept;
      co_return f;
    }
    const auto other = flights_.find(path);
    if (other == flights_.end()) break;
    ++counters_.joined;
    rendezvous<> r;
    flight::result came;
    other->second->wait(r.make_event(came));
    co_await r;
    if (came.how == flight::landing::share) {
      f.is = came.is;
      f.error = came.error;
      co_return f;
    }
    alone = came.how == flight::landing::look_alone;
  }
  flight mine(*this, path);
  f = co_await load(path);
  mine.land(f);
  co_return f;
}

/// Whether the cached forms match the files as they are now.
bool static_files::same_forms(const content& known, const content& fresh) const noexcept {
  if (!(known.plain.facts == fresh.plain.facts)) return false;
  for (std::size_t i = 0; i < content_coding_count; ++i) {
    const auto coding = static_cast<content_coding>(i);
    // A form compressed by the server has no file to compare; it is as new as the plain file.
    const bool packed_here =
        known.codings.has(coding) && known.in(coding).facts == known.plain.facts;
    const bool same = packed_here ? !fresh.codings.has(coding)
                                  : known.codings.has(coding) == fresh.codings.has(coding) &&
                                        known.in(coding).facts == fresh.in(coding).facts;
    if (!same) return false;
  }
  return true;
}

task<static_files::found> static_files::load(std::string path) {
  // Requests that come meanwhile get the cached content: one look a second is enough. A look that
  // fails says nothing about it, so the next request looks again.
  if (content* known = cache_.find(path)) known->seen_at = worker::running().now;
  doubt about_old(cache_, path);
  found f;
  f.file = co_await open(path);
  if (f.file.error == 0 && !f.file.is_directory && path.ends_with('/')) f.file.error = -ENOENT;
  if (f.file.error != 0 || !f.file.is_directory) ++counters_.misses;
  if (f.file.error != 0) {
    end_if_canceled();
    cache_.erase(path);
    f.error = f.file.error;
    co_return f;
  }
  if (f.file.is_directory) {
    f.is = found::what::directory;
    co_return f;
  }
  const std::uint64_t size = f.file.facts.size;
  content fresh;
  fresh.type = mime_type_of(path);
  fresh.plain.facts = f.file.facts;
  fresh.plain.etag = etag_of(f.file.facts);
  fresh.seen_at = worker::running().now;
  if (!mime_compressible(fresh.type) || size < options_.compress_bytes_min ||
      size > options_.cached_file_bytes_max)
    fresh.tried = codings_made();
  fresh.path = std::move(path);
  if (const content* known = cache_.find(fresh.path);
      known != nullptr && known->plain.facts == f.file.facts)
    fresh.plain.body = known->plain.body;
  co_await add_precompressed(fresh);
  end_if_canceled();
  bool keeps = size <= options_.cached_file_bytes_max;
  if (keeps && fresh.plain.body.size() != size && !may_hold(size)) {
    ++counters_.unkept;
    keeps = false;
  }
  // A compressed form may be small enough to cache even if the file itself is not.
  if (!keeps && fresh.codings.empty()) {
    cache_.erase(fresh.path);
    f.is = found::what::large;
    f.facts = std::move(fresh);
    co_return f;
  }
  f.is = found::what::kept;
  content* const now = cache_.find(fresh.path);
  const bool whole = now != nullptr && now->plain.body.size() == size;
  if (now != nullptr && (whole || !keeps) && same_forms(*now, fresh)) {
    now->seen_at = worker::running().now;
    about_old.settle();
    co_return f;
  }
  if (keeps && fresh.plain.body.size() != size) {
    fresh.plain.body = co_await read_whole(f.file);
    if (fresh.plain.body.size() != size) {
      end_if_canceled();
      f.is = found::what::failed;
      f.error = file_changes;
      co_return f;
    }
  }
  assemble(fresh, content_coding::identity);
  for (std::size_t i = 0; i < content_coding_count; ++i)
    if (const auto coding = static_cast<content_coding>(i); fresh.codings.has(coding))
      assemble(fresh, coding);
  about_old.settle();
  cache_.insert(std::move(fresh));
  co_return f;
}

}  // namespace heddle::http
