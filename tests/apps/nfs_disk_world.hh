// SPDX-License-Identifier: MIT
// A file system of a test's own with a disk_volume on it, and a client of it without a network. The
// file system is a tmpfs in a mount namespace that ends with the process. The tests need root.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "disk_volume.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/runtime.hh"
#include "support/drivers.hh"

namespace nfs::test {

using heddle::task;

/// The reason why these tests cannot run here; empty if they can.
inline const std::string& disk_missing() {
  static const std::string reason = [] {
    if (::geteuid() != 0) return std::string("needs root");
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return std::string("no mount namespace: ") + std::strerror(errno);
    return std::string();
  }();
  return reason;
}

inline heddle::siphash_key disk_key() { return {0x1122334455667788, 0x99aabbccddeeff00}; }

/// A tmpfs at a path of its own.
class own_tmpfs {
 public:
  explicit own_tmpfs(const std::string& options = "size=256m") {
    char name[] = "/tmp/heddle-nfs-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    path_ = name;
    if (::mount("tmpfs", name, "tmpfs", 0, options.c_str()) != 0) std::abort();
    ::chmod(name, 0777);
  }
  own_tmpfs(const own_tmpfs&) = delete;
  own_tmpfs& operator=(const own_tmpfs&) = delete;
  ~own_tmpfs() {
    ::umount2(path_.c_str(), MNT_DETACH);
    ::rmdir(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void put_file(const std::string& path, std::string_view text, mode_t mode = 0644) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0) << path << ": " << std::strerror(errno);
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_EQ(::fchmod(fd, mode), 0);
  ::close(fd);
}

/// No attributes, where XDR's first arm would be a time.
inline nfs3::sattr3 no_attributes() {
  nfs3::sattr3 a;
  a.atime.set(nfs3::time_how::DONT_CHANGE);
  a.mtime.set(nfs3::time_how::DONT_CHANGE);
  return a;
}

/// Enters the color of the handle, opens its object, and calls f(object).
template <class T, class F>
task<outcome<T>> at_object(volume& v, const handle& of, F f) {
  const std::optional<handle_place> place = v.locate(of);
  if (!place) co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  co_await heddle::enter(place->color);
  const outcome<object_ptr> o = co_await v.open(of);
  if (!o) co_return std::unexpected(o.error());
  co_return co_await f(**o);
}

/// Calls a volume as the procedures do, with the status alone as failure.
struct disk_client {
  volume& v;
  identity who{0, 0, {}};

  task<outcome<nfs3::fattr3>> attributes(const handle& of) {
    return at_object<nfs3::fattr3>(v, of, [this](object& o) { return v.attributes(o); });
  }
  task<outcome<found>> lookup(const handle& dir, const std::string& name) {
    return at_object<found>(v, dir, [&, this](object& o) { return v.lookup(o, name, who); });
  }
  task<outcome<std::uint32_t>> access(const handle& of, std::uint32_t wanted) {
    return at_object<std::uint32_t>(v, of,
                                    [wanted, this](object& o) { return v.access(o, wanted, who); });
  }
  task<outcome<std::string>> read(const handle& of, std::uint64_t at = 0,
                                  std::uint32_t count = 1 << 20) {
    outcome<read_data> r = co_await at_object<read_data>(
        v, of, [at, count, this](object& o) { return v.read(o, at, count, who); });
    if (!r) co_return std::unexpected(r.error());
    co_return r->bytes.to_string();
  }
  task<outcome<nfs3::stable_how>> write(const handle& of, std::uint64_t at, std::string text,
                                        nfs3::stable_how how = nfs3::stable_how::UNSTABLE) {
    const heddle::chain data(std::move(text));
    nfs3::wcc_data seen;
    co_return co_await write(of, at, data, how, seen);
  }
  task<outcome<nfs3::stable_how>> write(const handle& of, std::uint64_t at,
                                        const heddle::chain& data, nfs3::stable_how how,
                                        nfs3::wcc_data& seen) {
    return at_object<nfs3::stable_how>(v, of, [&data, &seen, at, how, this](object& o) {
      return v.write(o, at, data, how, who, seen);
    });
  }
  task<outcome<void>> commit(const handle& of, nfs3::wcc_data& seen) {
    return at_object<void>(v, of, [&seen, this](object& o) { return v.commit(o, seen); });
  }
  task<outcome<void>> set(const handle& of, const nfs3::sattr3& to, nfs3::wcc_data& seen,
                          const std::optional<nfs3::nfstime3>& guard = {}) {
    return at_object<void>(v, of, [&, this](object& o) { return v.set(o, to, guard, who, seen); });
  }
  task<outcome<found>> create(const handle& dir, const std::string& name,
                              const nfs3::createhow3& how, nfs3::wcc_data& seen) {
    return at_object<found>(v, dir,
                            [&, this](object& o) { return v.create(o, name, how, who, seen); });
  }
  /// UNCHECKED, with a mode.
  task<outcome<found>> create(const handle& dir, const std::string& name,
                              std::uint32_t mode = 0644) {
    nfs3::createhow3 how;
    how.obj_attributes() = no_attributes();
    how.obj_attributes().mode = mode;
    nfs3::wcc_data seen;
    co_return co_await create(dir, name, how, seen);
  }
  task<outcome<found>> make_directory(const handle& dir, const std::string& name,
                                      std::uint32_t mode = 0755) {
    nfs3::sattr3 with = no_attributes();
    with.mode = mode;
    nfs3::wcc_data seen;
    co_return co_await at_object<found>(
        v, dir, [&, this](object& o) { return v.make_directory(o, name, with, who, seen); });
  }
  task<outcome<found>> make_link(const handle& dir, const std::string& name, std::string text) {
    nfs3::symlinkdata3 link;
    link.symlink_attributes = no_attributes();
    link.symlink_data = std::move(text);
    nfs3::wcc_data seen;
    co_return co_await at_object<found>(
        v, dir, [&, this](object& o) { return v.make_link(o, name, link, who, seen); });
  }
  task<outcome<found>> make_node(const handle& dir, const std::string& name,
                                 const nfs3::mknoddata3& what) {
    nfs3::wcc_data seen;
    co_return co_await at_object<found>(
        v, dir, [&, this](object& o) { return v.make_node(o, name, what, who, seen); });
  }
  task<outcome<std::string>> read_link(const handle& of) {
    return at_object<std::string>(v, of, [this](object& o) { return v.read_link(o, who); });
  }
  task<outcome<void>> remove(const handle& dir, const std::string& name) {
    nfs3::wcc_data seen;
    co_return co_await at_object<void>(
        v, dir, [&, this](object& o) { return v.remove(o, name, who, seen); });
  }
  task<outcome<void>> remove_directory(const handle& dir, const std::string& name) {
    nfs3::wcc_data seen;
    co_return co_await at_object<void>(
        v, dir, [&, this](object& o) { return v.remove_directory(o, name, who, seen); });
  }
  task<outcome<void>> rename(const handle& from, const std::string& name, const handle& to,
                             const std::string& to_name, nfs3::wcc_data& from_seen,
                             nfs3::wcc_data& to_seen) {
    return at_object<void>(v, from, [&, this](object& o) {
      return v.rename(o, name, to, to_name, who, from_seen, to_seen);
    });
  }
  task<outcome<void>> rename(const handle& from, const std::string& name, const handle& to,
                             const std::string& to_name) {
    nfs3::wcc_data from_seen;
    nfs3::wcc_data to_seen;
    co_return co_await rename(from, name, to, to_name, from_seen, to_seen);
  }
  task<outcome<void>> link(const handle& of, const handle& dir, const std::string& name) {
    nfs3::wcc_data seen;
    co_return co_await at_object<void>(
        v, of, [&, this](object& o) { return v.link(o, dir, name, who, seen); });
  }
  task<outcome<listing>> list(const handle& dir, list_request what) {
    return at_object<listing>(v, dir, [what, this](object& o) { return v.list(o, what, who); });
  }
  task<outcome<space>> free_space(const handle& of) {
    return at_object<nfs::space>(v, of, [this](object& o) { return v.space(o); });
  }
};

/// The status of an outcome: NFS3_OK, or why not.
template <class T>
nfsstat3 status(const outcome<T>& o) {
  return o ? nfsstat3::NFS3_OK : o.error();
}

/// The value, which must be there.
template <class T>
T must(outcome<T>&& o, int line = __builtin_LINE()) {
  if (!o)
    throw std::runtime_error("line " + std::to_string(line) + ": status " +
                             std::to_string(static_cast<int>(o.error())));
  if constexpr (!std::is_void_v<T>) return std::move(*o);
}

/// A tmpfs with one export, and a volume on it.
struct disk_world {
  explicit disk_world(disk_options options = {}, const std::string& mount_options = "size=256m")
      : fs(mount_options), volume({{fs.path(), 7}}, disk_key(), options), root(volume.root(0)) {}

  own_tmpfs fs;
  disk_volume volume;
  handle root;

  [[nodiscard]] disk_client as(std::uint32_t uid = 0, std::uint32_t gid = 0,
                               std::vector<std::uint32_t> gids = {}) {
    return {volume, identity{uid, gid, std::move(gids)}};
  }
};

/// Runs body(world) with the driver, on one worker and on two.
inline void on_disk(const heddle::test::driver_maker& make, task<> (*body)(disk_world&),
                    const disk_options& options = {},
                    const std::string& mount_options = "size=256m") {
  if (!make.real()) GTEST_SKIP() << "needs the kernel's file systems";
  if (const std::string& why = disk_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned workers : {1U, 2U}) {
    SCOPED_TRACE(std::to_string(workers) + " workers");
    disk_world world(options, mount_options);
    heddle::runtime_options o;
    o.workers = workers;
    o.drivers = [&make](heddle::driver_place& place) { return make(place); };
    heddle::runtime rt(std::move(o));
    rt.run(body(world));
  }
}

}  // namespace nfs::test
