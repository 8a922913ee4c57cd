// SPDX-License-Identifier: MIT
// Start, handles, the table of open objects, and syncs.
#include "disk_volume.hh"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "disk_pool.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/sleep.hh"

namespace nfs {
namespace {

constexpr long overlay_type = 0x794c7630;
// FUSE, NFS, SMB (three numbers), Ceph, 9p, AFS: each system call may send a request to a server.
constexpr long remote_types[] = {
    0x65735546, 0x6969,     0x517b,    static_cast<long>(0xff534d42), static_cast<long>(0xfe534d42),
    0x00c36400, 0x01021997, 0x5346414f};

[[noreturn]] void start_failure(const std::string& text) { throw std::runtime_error(text); }

export_root open_export(const disk_export& e, const handle_seal& seal,
                        const heddle::siphash_key& key) {
  const std::string place = "nfs: " + e.path;
  const auto why = [](int error) { return std::system_category().message(error); };
  const int fd = ::open(e.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) start_failure(place + " cannot be exported: " + why(errno));
  export_root in;
  in.path = e.path;
  in.number = e.number;
  in.fd = std::make_shared<const open_fd>(fd, open_fd::use::read);
  in.seal = &seal;
  struct statfs fs{};
  file_stat st{};
  if (::fstatfs(fd, &fs) != 0 || ::fstat(fd, &st) != 0)
    start_failure(place + " cannot be exported: " + why(errno));
  in.device = st.st_dev;
  in.inode = st.st_ino;
  in.remote =
      std::ranges::find(remote_types, static_cast<long>(fs.f_type)) != std::end(remote_types);
  const std::uint64_t words[] = {0x6e66732d66736964, e.number};
  in.fsid = heddle::siphash<2, 4>(key, std::span<const std::uint64_t>(words));
  outcome<handle> root = handle_of(fd, in);
  if (!root) {
    if (fs.f_type == overlay_type)
      start_failure(place + " is on overlayfs without nfs_export: export a volume");
    start_failure(place + " is on a file system without file handles: export another folder");
  }
  in.root = std::move(*root);
  errno = 0;
  if (const outcome<open_ptr> again = open_handle(in, parts_of(in.root), open_fd::use::path);
      !again) {
    if (errno == EPERM)
      start_failure(
          "nfs: cannot open files by handle (EPERM): run as root, or setcap "
          "cap_dac_read_search+ep PROGRAM; in a container --cap-add DAC_READ_SEARCH");
    start_failure(place + " cannot be opened by its handle: " + why(errno));
  }
  return in;
}

}  // namespace

disk_volume::disk_volume(const std::vector<disk_export>& exports, const heddle::siphash_key& key,
                         disk_options options)
    : seal_(key), options_(options), open_max_each_(1), read_buffers_(options.read_buffer_bytes) {
  std::uint64_t most = options.open_max;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
    most = std::min<std::uint64_t>(most, files.rlim_cur / 4);
  open_max_each_ = std::max<std::size_t>(1, most / shard_count);
  index_of_.fill(-1);
  for (const disk_export& e : exports) {
    if (index_of_[e.number] >= 0)
      start_failure("nfs: " + e.path + " has the number of another export: give each its own");
    index_of_[e.number] = static_cast<std::int16_t>(exports_.size());
    exports_.push_back(open_export(e, seal_, key));
  }
  new_verifier();
  ::umask(0);
}

void disk_volume::new_verifier() noexcept {
  std::uint64_t fresh = 0;
  if (::getrandom(&fresh, sizeof fresh, 0) != sizeof fresh)
    fresh = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  if (fresh == verifier_.load(std::memory_order_relaxed)) ++fresh;
  verifier_.store(fresh, std::memory_order_relaxed);  // by itself: it orders nothing
}

nfs3::writeverf3 disk_volume::verifier() const noexcept {
  const std::uint64_t now = verifier_.load(std::memory_order_relaxed);  // see new_verifier()
  nfs3::writeverf3 v;
  std::memcpy(v.data(), &now, sizeof now);
  return v;
}

heddle::color disk_volume::color_of(std::uint64_t hash) noexcept {
  constexpr std::uint64_t first = 0x6e6673'0000;  // "nfs": no color of a connection
  return heddle::color(first + hash % shard_count);
}

std::optional<handle_place> disk_volume::locate(const handle& of) const noexcept {
  const std::optional<handle_parts> parts = seal_.read(of);
  if (!parts || index_of_[parts->export_number] < 0) return {};
  return handle_place{static_cast<std::uint32_t>(index_of_[parts->export_number]),
                      color_of(parts->hash)};
}

handle disk_volume::root(std::uint32_t export_number) const {
  return exports_.at(export_number).root;
}

heddle::task<outcome<object_ptr>> disk_volume::open(const handle& of) {
  outcome<std::shared_ptr<disk_object>> o = co_await open_object(of);
  if (!o) co_return std::unexpected(o.error());
  co_return object_ptr(std::move(*o));
}

heddle::task<outcome<std::shared_ptr<disk_object>>> disk_volume::open_object(const handle& of) {
  const std::optional<handle_parts> parts = seal_.read(of);
  if (!parts || index_of_[parts->export_number] < 0)
    co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  disk_shard& shard = shard_of(parts->hash);
  if (std::shared_ptr<disk_object> known = shard.find(of, parts->hash)) co_return known;
  const export_root& in = exports_[static_cast<std::size_t>(index_of_[parts->export_number])];
  // The descriptors that are closed to make room for this one; the pool call below closes them.
  std::vector<open_ptr> unused =
      shard.take_unused(open_max_each_ - 1, heddle::clock::now() - options_.idle);
  counters_.open_now.fetch_sub(static_cast<std::int64_t>(unused.size()), std::memory_order_relaxed);
  auto work = [&]() -> outcome<open_ptr> {
    unused.clear();
    outcome<open_ptr> fd = open_handle(in, *parts, open_fd::use::path);
    if (!fd) return fd;
    const outcome<file_stat> st = stat_of((*fd)->number());
    if (!st) return std::unexpected(st.error());
    if (S_ISDIR(st->st_mode)) return open_handle(in, *parts, open_fd::use::read);
    return fd;
  };
  outcome<open_ptr> fd = co_await in_pool(work);
  if (!fd) co_return std::unexpected(fd.error());
  // Another call may have opened it meanwhile.
  if (std::shared_ptr<disk_object> known = shard.find(of, parts->hash)) co_return known;
  auto made =
      std::make_shared<disk_object>(in, of, parts->hash, std::move(*fd), color_of(parts->hash));
  shard.add(made);
  counters_.opens.fetch_add(1, std::memory_order_relaxed);
  counters_.open_now.fetch_add(1, std::memory_order_relaxed);
  co_return made;
}

heddle::task<> disk_volume::forget(handle gone) {
  const std::uint64_t hash = parts_of(gone).hash;
  co_await heddle::enter(color_of(hash));
  open_ptr fd = shard_of(hash).take(gone, hash);
  if (fd == nullptr) co_return;
  counters_.open_now.fetch_sub(1, std::memory_order_relaxed);
  // The last close of a large file frees its blocks, which takes time.
  auto work = [&] { fd.reset(); };
  static_cast<void>(co_await heddle::as_expected(heddle::blocking(std::ref(work))));
}

heddle::task<> disk_volume::close_idle() {
  const heddle::nanoseconds pause =
      std::max<heddle::nanoseconds>(options_.idle / 4, std::chrono::milliseconds(1));
  for (;;) {
    co_await heddle::sleep_for(pause);
    for (std::size_t i = 0; i < shard_count; ++i) co_await close_unused(i, which::idle);
  }
}

heddle::task<std::size_t> disk_volume::close_unused(std::size_t shard, which those) {
  co_await heddle::enter(color_of(shard));
  disk_shard& at = shards_[shard];
  std::vector<open_ptr> unused =
      those == which::half ? at.take_unused(at.objects.size() / 2, heddle::time_point::min())
                           : at.take_unused(open_max_each_, heddle::clock::now() - options_.idle);
  const std::size_t taken = unused.size();
  if (taken == 0) co_return taken;
  counters_.open_now.fetch_sub(static_cast<std::int64_t>(taken), std::memory_order_relaxed);
  auto work = [&] { unused.clear(); };
  static_cast<void>(co_await heddle::as_expected(heddle::blocking(std::ref(work))));
  co_return taken;
}

heddle::task<bool> disk_volume::make_room() {
  std::size_t closed = 0;
  for (std::size_t i = 0; i < shard_count; ++i) closed += co_await close_unused(i, which::half);
  co_return closed != 0;
}

heddle::task<outcome<void>> disk_volume::make_stable(disk_object& o) {
  // A sync that begins from now on covers what was done before.
  const std::uint64_t enough = o.syncs_begun + 1;
  const heddle::mutex::hold turn = co_await o.sync.lock();
  if (o.syncs_done >= enough) {
    counters_.syncs_shared.fetch_add(1, std::memory_order_relaxed);
    co_return o.synced;
  }
  const std::uint64_t number = ++o.syncs_begun;
  const open_ptr fd = o.fd_ptr();
  auto work = [&]() -> outcome<void> { return sync_fd(o.in(), *fd); };
  const heddle::result<outcome<void>> done =
      co_await heddle::as_expected(heddle::blocking(std::ref(work)));
  if (!done) co_return std::unexpected(nfsstat3::NFS3ERR_JUKEBOX);  // it was not made
  o.syncs_done = number;
  o.synced = *done;
  counters_.syncs.fetch_add(1, std::memory_order_relaxed);
  if (!o.synced) {
    // The kernel drops pages that it could not write: clients must write all again.
    counters_.failed_syncs.fetch_add(1, std::memory_order_relaxed);
    new_verifier();
  }
  co_return o.synced;
}

heddle::task<outcome<void>> disk_volume::change_made(disk_object& o) {
  if (!options_.sync_changes) co_return outcome<void>();
  co_return co_await make_stable(o);
}

}  // namespace nfs
