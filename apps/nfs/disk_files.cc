// SPDX-License-Identifier: MIT
// Reading, writing and syncing files, and the permissions for it.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "disk_pool.hh"
#include "disk_volume.hh"

namespace nfs {
namespace {

nfsstat3 file_status(const file_stat& st) noexcept {
  if (S_ISREG(st.st_mode)) return nfsstat3::NFS3_OK;
  return S_ISDIR(st.st_mode) ? nfsstat3::NFS3ERR_ISDIR : nfsstat3::NFS3ERR_INVAL;
}

/// Whether READ is allowed: execute permission is enough, because a client reads a program in order
/// to run it (RFC 1813, section 4.4).
bool may_read(const permissions& p) noexcept { return p.read || p.execute; }
/// Whether the caller owns the file. READ and WRITE by the owner always succeed, because a client
/// may have opened the file before a chmod (RFC 1813, section 4.4).
bool owns(const identity& who, const file_stat& st) noexcept { return who.uid == st.st_uid; }

read_data read_result(read_buffers::buffer&& got, std::uint64_t at, const file_stat& st) {
  read_data r;
  r.end = at + got.len() >= static_cast<std::uint64_t>(st.st_size);
  if (got.len() > 0) r.bytes.append(heddle::piece::held_by(std::move(got)));
  return r;
}

/// How many bytes a read gives if the file does not change.
std::size_t readable(const file_stat& st, std::uint64_t at, std::uint32_t count) noexcept {
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (at >= size) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(count, size - at));
}

/// Fills `got` up to `want` bytes.
outcome<void> read_rest(int fd, read_buffers::buffer& got, std::uint64_t at, std::size_t want) {
  while (got.len() < want) {
    const ssize_t n = ::pread(fd, got.room().data() + got.len(), want - got.len(),
                              static_cast<off_t>(at + got.len()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_failure();
    if (n == 0) break;
    got.set_len(got.len() + static_cast<std::size_t>(n));
  }
  return {};
}

/// Writes all, in as many steps as the system wants.
outcome<void> write_all(int fd, std::vector<::iovec>& parts, std::uint64_t at) {
  constexpr std::size_t parts_max = 1024;  // of one system call
  for (std::size_t i = 0; i < parts.size();) {
    const ssize_t n =
        ::pwritev(fd, &parts[i], static_cast<int>(std::min(parts.size() - i, parts_max)),
                  static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_failure();
    if (n == 0) return std::unexpected(nfsstat3::NFS3ERR_IO);
    at += static_cast<std::uint64_t>(n);
    auto left = static_cast<std::size_t>(n);
    while (i < parts.size() && left >= parts[i].iov_len) left -= parts[i++].iov_len;
    if (left > 0) {
      parts[i].iov_base = static_cast<char*>(parts[i].iov_base) + left;
      parts[i].iov_len -= left;
    }
  }
  return {};
}

std::uint32_t access_bits(const permissions& p, bool directory) noexcept {
  std::uint32_t bits = 0;
  if (p.read) bits |= nfs3::ACCESS3_READ;
  if (directory) {
    if (p.execute) bits |= nfs3::ACCESS3_LOOKUP;
    if (p.write && p.execute)
      bits |= nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND | nfs3::ACCESS3_DELETE;
  } else {
    if (p.execute) bits |= nfs3::ACCESS3_EXECUTE;
    if (p.write) bits |= nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND;
  }
  return bits;
}

}  // namespace

heddle::task<outcome<file_stat>> disk_volume::look(disk_object& o) {
  if (!o.in().remote) co_return stat_of(o.fd().number());
  const open_ptr fd = o.fd_ptr();
  auto work = [&] { return stat_of(fd->number()); };
  co_return co_await in_pool(work);
}

heddle::task<outcome<nfs3::fattr3>> disk_volume::attributes(object& of) {
  disk_object& o = disk_object::of(of);
  const outcome<file_stat> st = co_await look(o);
  if (!st) co_return std::unexpected(st.error());
  co_return attributes_of(*st, o.in());
}

heddle::task<outcome<permissions>> disk_volume::ask(disk_object& o, const identity& who,
                                                    file_stat& st) {
  if (!o.in().remote) {
    const outcome<file_stat> now = stat_of(o.fd().number());
    if (!now) co_return std::unexpected(now.error());
    st = *now;
    if (const permissions* known = o.permitted(who, st)) {
      counters_.here.fetch_add(1, std::memory_order_relaxed);
      co_return *known;
    }
  }
  borrowed b = o.lend(who);
  auto work = [&]() -> outcome<permissions> {
    const outcome<file_stat> now = stat_of(b.fd->number());
    if (!now) return std::unexpected(now.error());
    st = *now;
    return b.permitted(who, st);
  };
  const outcome<permissions> may = co_await in_pool(work);
  o.learn(std::move(b), who);
  co_return may;
}

heddle::task<outcome<std::uint32_t>> disk_volume::access(object& of, std::uint32_t wanted,
                                                         const identity& who) {
  disk_object& o = disk_object::of(of);
  file_stat st{};
  const outcome<permissions> may = co_await ask(o, who, st);
  if (!may) co_return std::unexpected(may.error());
  co_return wanted& access_bits(*may, S_ISDIR(st.st_mode));
}

heddle::task<outcome<read_data>> disk_volume::read(object& of, std::uint64_t at,
                                                   std::uint32_t count, const identity& who) {
  disk_object& o = disk_object::of(of);
  count = std::min(count, transfer_bytes_max);
  read_buffers::buffer got;
  if (!o.in().remote && o.fd().for_what() != open_fd::use::path) {
    const outcome<file_stat> st = stat_of(o.fd().number());
    if (!st) co_return std::unexpected(st.error());
    if (const nfsstat3 s = file_status(*st); s != nfsstat3::NFS3_OK) co_return std::unexpected(s);
    const permissions* const known = o.permitted(who, *st);
    if (owns(who, *st) || (known != nullptr && may_read(*known))) {
      const std::size_t want = readable(*st, at, count);
      if (want <= options_.read_here_max) {
        got = read_buffers_.take(want);
        ::iovec into{got.room().data(), want};
        const ssize_t n =
            want == 0 ? 0
                      : ::preadv2(o.fd().number(), &into, 1, static_cast<off_t>(at), RWF_NOWAIT);
        if (n > 0) got.set_len(static_cast<std::size_t>(n));
        if (n >= 0 && got.len() == want) {
          counters_.here.fetch_add(1, std::memory_order_relaxed);
          co_return read_result(std::move(got), at, *st);
        }
      }
    }
  }
  borrowed b = o.lend(who);
  file_stat st{};
  auto work = [&]() -> outcome<void> {
    const outcome<file_stat> now = stat_of(b.fd->number());
    if (!now) return std::unexpected(now.error());
    st = *now;
    if (const nfsstat3 s = file_status(st); s != nfsstat3::NFS3_OK) return std::unexpected(s);
    if (!owns(who, st)) {
      const outcome<permissions> may = b.permitted(who, st);
      if (!may) return std::unexpected(may.error());
      if (!may_read(*may)) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    }
    if (const outcome<void> opened = b.reopen(open_fd::use::read); !opened) return opened;
    const std::size_t want = readable(st, at, count);
    // What the worker has read stays, unless the file has changed its size.
    if (got.room().size() < want) got = read_buffers_.take(want);
    got.set_len(std::min(got.len(), want));
    return read_rest(b.fd->number(), got, at, want);
  };
  const outcome<void> done = co_await in_pool(work);
  o.learn(std::move(b), who);
  if (!done) co_return std::unexpected(done.error());
  co_return read_result(std::move(got), at, st);
}

heddle::task<outcome<nfs3::stable_how>> disk_volume::write(object& of, std::uint64_t at,
                                                           const heddle::chain& data,
                                                           nfs3::stable_how how,
                                                           const identity& who,
                                                           nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(of);
  change_mark mark(o);
  std::vector<::iovec> parts(data.piece_count());
  parts.resize(data.fill(parts.data(), parts.size()));
  const bool too_far = at > static_cast<std::uint64_t>(INT64_MAX) - data.size();
  borrowed b = o.lend(who);
  auto work = [&]() -> outcome<void> {
    const outcome<file_stat> st = stat_of(b.fd->number());
    if (!st) return std::unexpected(st.error());
    seen.before = before_of(*st);
    seen.after = attributes_of(*st, b.in);
    if (const nfsstat3 s = file_status(*st); s != nfsstat3::NFS3_OK) return std::unexpected(s);
    if (!owns(who, *st)) {
      const outcome<permissions> may = b.permitted(who, *st);
      if (!may) return std::unexpected(may.error());
      if (!may->write) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    }
    if (too_far) return std::unexpected(nfsstat3::NFS3ERR_FBIG);
    if (const outcome<void> opened = b.reopen(open_fd::use::write); !opened) return opened;
    outcome<void> done;
    {
      // As the caller, whom the kernel gives no block that is reserved for root, and whose writes
      // take setuid bits away.
      const acting_as caller(who);
      if (!caller) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
      done = write_all(b.fd->number(), parts, at);
    }
    if (const outcome<file_stat> now = stat_of(b.fd->number()))
      seen.after = attributes_of(*now, b.in);
    return done;
  };
  const outcome<void> done = co_await in_pool(work);
  o.learn(std::move(b), who);
  if (!mark.end()) seen.before.reset();
  if (!done) co_return std::unexpected(done.error());
  if (how == nfs3::stable_how::UNSTABLE) co_return how;
  const outcome<void> stable = co_await make_stable(o);
  if (!stable) co_return std::unexpected(stable.error());
  co_return nfs3::stable_how::FILE_SYNC;
}

heddle::task<outcome<void>> disk_volume::commit(object& of, nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(of);
  const change_watch watch(o);
  const outcome<file_stat> before = co_await look(o);
  if (!before) co_return std::unexpected(before.error());
  seen.before = before_of(*before);
  seen.after = attributes_of(*before, o.in());
  if (o.fd().for_what() == open_fd::use::path && S_ISREG(before->st_mode)) {
    const identity without_rights;
    borrowed b = o.lend(without_rights);
    auto work = [&]() -> outcome<void> { return b.reopen(open_fd::use::read); };
    const outcome<void> opened = co_await in_pool(work);
    o.learn(std::move(b), without_rights);
    if (!opened) co_return std::unexpected(opened.error());
  }
  const outcome<void> done = co_await make_stable(o);
  const outcome<file_stat> after = co_await look(o);
  if (after) seen.after = attributes_of(*after, o.in());
  if (!watch.exact()) seen.before.reset();
  co_return done;
}

}  // namespace nfs
