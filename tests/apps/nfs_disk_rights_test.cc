// SPDX-License-Identifier: MIT
// disk_volume: who may do what. The kernel decides, by the caller's file identity.
#include <endian.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <thread>

#include "heddle/io/blocking.hh"
#include "nfs_disk_world.hh"

using namespace nfs;
using namespace nfs::test;
using enum nfs::nfsstat3;

namespace {

constexpr std::uint32_t all_access = nfs3::ACCESS3_READ | nfs3::ACCESS3_LOOKUP |
                                     nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND |
                                     nfs3::ACCESS3_DELETE | nfs3::ACCESS3_EXECUTE;
constexpr std::uint32_t change_file = nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND;
constexpr std::uint32_t change_directory = change_file | nfs3::ACCESS3_DELETE;

task<> identities(disk_world& w) {
  disk_client root = w.as();
  disk_client anna = w.as(1001, 2001);
  disk_client bert = w.as(1002, 2002, {2001, 3000});
  disk_client carl = w.as(1003, 2003);
  const found f = must(co_await anna.create(w.root, "a", 0640));
  EXPECT_EQ(f.attributes->uid, 1001u);
  EXPECT_EQ(f.attributes->gid, 2001u);
  must(co_await anna.write(f.file, 0, "hello"));
  // Each twice: the second time the verdict may be known.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(must(co_await bert.read(f.file)), "hello");  // by a further group
    EXPECT_EQ(status(co_await bert.write(f.file, 0, "x")), NFS3ERR_ACCES);
    EXPECT_EQ(status(co_await carl.read(f.file)), NFS3ERR_ACCES);
    EXPECT_EQ(must(co_await root.read(f.file)), "hello");
    EXPECT_EQ(must(co_await anna.access(f.file, all_access)), nfs3::ACCESS3_READ | change_file);
    EXPECT_EQ(must(co_await bert.access(f.file, all_access)), nfs3::ACCESS3_READ);
    EXPECT_EQ(must(co_await bert.access(f.file, change_file)), 0u);
    EXPECT_EQ(must(co_await carl.access(f.file, all_access)), 0u);
  }
  nfs3::wcc_data seen;
  nfs3::sattr3 to = no_attributes();
  to.mode = 0;
  EXPECT_EQ(status(co_await carl.set(f.file, to, seen)), NFS3ERR_PERM);
  must(co_await anna.set(f.file, to, seen));
  EXPECT_EQ(seen.after->mode, 0u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(must(co_await anna.read(f.file, 1)), "ello");  // the owner always may
    must(co_await anna.write(f.file, 0, "H"));
    EXPECT_EQ(status(co_await bert.read(f.file)), NFS3ERR_ACCES);
  }
  to = no_attributes();
  to.uid = 1003;
  EXPECT_EQ(status(co_await anna.set(f.file, to, seen)), NFS3ERR_PERM);
  must(co_await root.set(f.file, to, seen));
  EXPECT_EQ(seen.after->uid, 1003u);
  EXPECT_EQ(status(co_await anna.read(f.file)), NFS3ERR_ACCES);
  EXPECT_EQ(must(co_await carl.read(f.file)), "Hello");

  // Directories: no search, no write, and somebody else's file in a sticky one.
  const found d = must(co_await anna.make_directory(w.root, "d", 0700));
  must(co_await anna.create(d.file, "x"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(status(co_await carl.lookup(d.file, "x")), NFS3ERR_ACCES);
    EXPECT_EQ(status(co_await carl.lookup(d.file, "..")), NFS3ERR_ACCES);
    EXPECT_EQ(status(co_await carl.list(d.file, {})), NFS3ERR_ACCES);
    EXPECT_EQ(status(co_await carl.create(d.file, "y")), NFS3ERR_ACCES);
    EXPECT_EQ(status(co_await carl.remove(d.file, "x")), NFS3ERR_ACCES);
    EXPECT_EQ(must(co_await anna.access(d.file, all_access)),
              nfs3::ACCESS3_READ | nfs3::ACCESS3_LOOKUP | change_directory);
    EXPECT_EQ(must(co_await carl.access(d.file, all_access)), 0u);
  }
  const found sticky = must(co_await root.make_directory(w.root, "tmp", 01777));
  must(co_await anna.create(sticky.file, "hers"));
  EXPECT_EQ(status(co_await carl.remove(sticky.file, "hers")), NFS3ERR_PERM);
  EXPECT_EQ(status(co_await carl.rename(sticky.file, "hers", w.root, "his")), NFS3ERR_PERM);
  must(co_await anna.remove(sticky.file, "hers"));

  // No thread of the pool keeps what a caller gave it.
  for (int i = 0; i < 8; ++i) {
    auto look = [] {
      return std::pair(::setfsuid(static_cast<uid_t>(-1)), ::setfsgid(static_cast<gid_t>(-1)));
    };
    const auto ids = co_await heddle::blocking(look);
    EXPECT_EQ(ids.first, 0);
    EXPECT_EQ(ids.second, 0);
  }
}
DRIVER_TEST(nfs_disk_rights, "each caller has the rights of its user and groups") {
  on_disk(make, identities);
}

task<> revoked(disk_world& w) {
  disk_client carl = w.as(1003, 2003);
  put_file(w.fs.path("a"), "hello", 0644);
  const found f = must(co_await carl.lookup(w.root, "a"));
  for (int i = 0; i < 3; ++i) {
    // Until the verdict is kept, and the worker answers by itself.
    const std::uint64_t here = w.volume.counters().here;
    while (w.volume.counters().here == here)
      EXPECT_EQ(must(co_await carl.access(f.file, all_access)), nfs3::ACCESS3_READ);
    EXPECT_EQ(must(co_await carl.read(f.file)), "hello");
    EXPECT_EQ(::chmod(w.fs.path("a").c_str(), 0600), 0);
    EXPECT_EQ(status(co_await carl.read(f.file)), NFS3ERR_ACCES);
    EXPECT_EQ(must(co_await carl.access(f.file, all_access)), 0u);
    EXPECT_EQ(::chmod(w.fs.path("a").c_str(), 0644), 0);
  }
}
DRIVER_TEST(nfs_disk_rights, "a right that is taken away on the server is gone at once") {
  on_disk(make, revoked);
}

/// Gives a user rights beside the mode, as setfacl -m u:UID:RIGHTS does.
bool add_user_acl(const std::string& path, std::uint32_t uid, std::uint16_t rights) {
  struct entry {
    std::uint16_t tag, perm;
    std::uint32_t id;
  };
  struct {
    std::uint32_t version = htole32(2);
    entry entries[5];
  } acl;
  constexpr std::uint32_t none = 0xffffffff;
  const entry wanted[5] = {
      {0x01, 6, none}, {0x02, rights, uid}, {0x04, 0, none}, {0x10, 7, none}, {0x20, 0, none}};
  for (int i = 0; i < 5; ++i)
    acl.entries[i] = {htole16(wanted[i].tag), htole16(wanted[i].perm), htole32(wanted[i].id)};
  return ::setxattr(path.c_str(), "system.posix_acl_access", &acl, sizeof acl, 0) == 0;
}

task<> lists_of_rights(disk_world& w) {
  disk_client bert = w.as(1002, 2002);
  disk_client carl = w.as(1003, 2003);
  put_file(w.fs.path("a"), "hello", 0600);
  if (!add_user_acl(w.fs.path("a"), 1002, 4)) {
    EXPECT_EQ(errno, EOPNOTSUPP);
    co_return;
  }
  const found f = must(co_await bert.lookup(w.root, "a"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(must(co_await bert.read(f.file)), "hello");
    EXPECT_EQ(status(co_await bert.write(f.file, 0, "x")), NFS3ERR_ACCES);
    EXPECT_EQ(must(co_await bert.access(f.file, all_access)), nfs3::ACCESS3_READ);
    EXPECT_EQ(status(co_await carl.read(f.file)), NFS3ERR_ACCES);
  }
  EXPECT_TRUE(add_user_acl(w.fs.path("a"), 1002, 6));
  must(co_await bert.write(f.file, 0, "J"));
  EXPECT_TRUE(add_user_acl(w.fs.path("a"), 1003, 4));
  EXPECT_EQ(status(co_await bert.read(f.file)), NFS3ERR_ACCES);
  EXPECT_EQ(must(co_await carl.read(f.file)), "Jello");
}
DRIVER_TEST(nfs_disk_rights, "an access list counts, and so does a change of it") {
  on_disk(make, lists_of_rights);
}

task<> attributes_set(disk_world& w) {
  disk_client root = w.as();
  disk_client anna = w.as(1001, 2001, {3000});
  disk_client carl = w.as(1003, 2003);
  const found f = must(co_await anna.create(w.root, "a", 0666));
  nfs3::wcc_data seen;
  nfs3::sattr3 to = no_attributes();
  to.gid = 3000;
  to.mode = 02755;
  to.atime.set(nfs3::time_how::SET_TO_CLIENT_TIME);
  to.atime.time() = {1'000'000, 5};
  to.mtime.set(nfs3::time_how::SET_TO_CLIENT_TIME);
  to.mtime.time() = {2'000'000, 6};
  must(co_await anna.set(f.file, to, seen));
  EXPECT_EQ(seen.after->gid, 3000u);
  EXPECT_EQ(seen.after->mode, 02755u);
  EXPECT_EQ(seen.after->atime, (nfs3::nfstime3{1'000'000, 5}));
  EXPECT_EQ(seen.after->mtime, (nfs3::nfstime3{2'000'000, 6}));
  to = no_attributes();
  to.gid = 2003;
  EXPECT_EQ(status(co_await anna.set(f.file, to, seen)), NFS3ERR_PERM);
  to = no_attributes();
  to.mtime.set(nfs3::time_how::SET_TO_SERVER_TIME);
  EXPECT_EQ(status(co_await carl.set(f.file, to, seen)), NFS3ERR_PERM);
  must(co_await anna.set(f.file, to, seen));
  EXPECT_GT(seen.after->mtime.seconds, 2'000'000u);
  EXPECT_EQ(seen.after->atime, (nfs3::nfstime3{1'000'000, 5}));
  to.mtime.set(nfs3::time_how::SET_TO_CLIENT_TIME);
  to.mtime.time() = {1, 1'000'000'000};
  EXPECT_EQ(status(co_await anna.set(f.file, to, seen)), NFS3ERR_INVAL);
  to = no_attributes();
  to.size = ~std::uint64_t{0};
  EXPECT_EQ(status(co_await anna.set(f.file, to, seen)), NFS3ERR_FBIG);
  to.size = 5;
  EXPECT_EQ(status(co_await anna.set(w.root, to, seen)), NFS3ERR_ISDIR);
  EXPECT_EQ(status(co_await carl.set(f.file, to, seen)), NFS3ERR_ACCES);

  // A write by somebody else takes the setuid bit away.
  put_file(w.fs.path("suid"), "x", 0644);
  EXPECT_EQ(::chmod(w.fs.path("suid").c_str(), 04666), 0);
  const found s = must(co_await carl.lookup(w.root, "suid"));
  EXPECT_EQ(s.attributes->mode, 04666u);
  must(co_await carl.write(s.file, 0, "y"));
  EXPECT_EQ(must(co_await root.attributes(s.file)).mode, 0666u);

  // A link has an owner, and no mode of its own.
  const found l = must(co_await anna.make_link(w.root, "l", "a"));
  to = no_attributes();
  to.mode = 0600;
  to.uid = 1003;
  must(co_await root.set(l.file, to, seen));
  EXPECT_EQ(seen.after->uid, 1003u);
  EXPECT_EQ(must(co_await root.attributes(f.file)).uid, 1001u);
}
DRIVER_TEST(nfs_disk_rights, "SETATTR sets what is given, as far as the caller may") {
  on_disk(make, attributes_set);
}

task<> nodes(disk_world& w) {
  disk_client root = w.as();
  disk_client anna = w.as(1001, 2001);
  nfs3::mknoddata3 what;
  what.set(nfs3::ftype3::NF3FIFO);
  what.pipe_attributes() = no_attributes();
  what.pipe_attributes().mode = 0620;
  const found pipe = must(co_await anna.make_node(w.root, "pipe", what));
  EXPECT_EQ(pipe.attributes->type, nfs3::ftype3::NF3FIFO);
  EXPECT_EQ(pipe.attributes->mode, 0620u);
  EXPECT_EQ(pipe.attributes->uid, 1001u);
  EXPECT_EQ(status(co_await anna.read(pipe.file)), NFS3ERR_INVAL);  // and it does not wait
  EXPECT_EQ(status(co_await anna.write(pipe.file, 0, "x")), NFS3ERR_INVAL);
  what.set(nfs3::ftype3::NF3SOCK);
  what.pipe_attributes() = no_attributes();
  must(co_await anna.make_node(w.root, "socket", what));
  what.set(nfs3::ftype3::NF3CHR);
  what.device().dev_attributes = no_attributes();
  what.device().spec = {1, 3};
  EXPECT_EQ(status(co_await anna.make_node(w.root, "null", what)), NFS3ERR_PERM);
  const found null = must(co_await root.make_node(w.root, "null", what));
  EXPECT_EQ(null.attributes->type, nfs3::ftype3::NF3CHR);
  EXPECT_EQ(null.attributes->rdev, (nfs3::specdata3{1, 3}));
  EXPECT_EQ(status(co_await root.read(null.file)), NFS3ERR_INVAL);
  nfs3::wcc_data seen;
  nfs3::sattr3 to = no_attributes();
  to.mode = 0600;
  must(co_await root.set(null.file, to, seen));
  EXPECT_EQ(seen.after->mode, 0600u);
  what.set(nfs3::ftype3::NF3REG);
  EXPECT_EQ(status(co_await root.make_node(w.root, "file", what)), NFS3ERR_BADTYPE);

  // Somebody who is not root cannot give a new file away; the file is made.
  nfs3::createhow3 how;
  how.obj_attributes() = no_attributes();
  how.obj_attributes().uid = 1003;
  how.obj_attributes().mode = 0777;
  how.obj_attributes().size = 3;
  const found f = must(co_await anna.create(w.root, "f", how, seen));
  EXPECT_EQ(f.attributes->uid, 1001u);
  EXPECT_EQ(f.attributes->mode, 0777u);  // whatever the umask is
  EXPECT_EQ(f.attributes->size, 3u);
  EXPECT_EQ(must(co_await root.create(w.root, "g", how, seen)).attributes->uid, 1003u);
}
DRIVER_TEST(nfs_disk_rights, "pipes, sockets and devices are made, and never opened") {
  on_disk(make, nodes);
}

task<> read_only(disk_world& w) {
  disk_client root = w.as();
  const found f = must(co_await root.create(w.root, "a", 0666));
  must(co_await root.write(f.file, 0, "x"));
  EXPECT_EQ(::mount(nullptr, w.fs.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), -1);
  // The descriptor that can write is in the way, as on any system; a new volume has none.
  EXPECT_EQ(errno, EBUSY);
  must(co_await root.remove(w.root, "a"));
  put_file(w.fs.path("b"), "hello");
  EXPECT_EQ(::mount(nullptr, w.fs.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const found b = must(co_await root.lookup(w.root, "b"));
  EXPECT_EQ(must(co_await root.read(b.file)), "hello");
  EXPECT_EQ(status(co_await root.write(b.file, 0, "x")), NFS3ERR_ROFS);
  EXPECT_EQ(status(co_await root.create(w.root, "c")), NFS3ERR_ROFS);
  EXPECT_EQ(status(co_await root.remove(w.root, "b")), NFS3ERR_ROFS);
  EXPECT_EQ(status(co_await root.make_directory(w.root, "d")), NFS3ERR_ROFS);
}
DRIVER_TEST(nfs_disk_rights, "a read-only file system gives ROFS") { on_disk(make, read_only); }

std::uint64_t effective_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  ::syscall(SYS_capget, &head, data);
  return data[0].effective | static_cast<std::uint64_t>(data[1].effective) << 32;
}

constexpr int has_no_reserves = 77;

/// Has all capabilities, in a user namespace of its own, and drops that for reserves. 0: it and no
/// other is gone, also from threads that start later.
int drop_reserves() {
  constexpr std::uint64_t reserves = std::uint64_t{1} << CAP_SYS_RESOURCE;
  if (::unshare(CLONE_NEWUSER) != 0) return has_no_reserves;
  const std::uint64_t before = effective_capabilities();
  if ((before & reserves) == 0) return has_no_reserves;
  keep_no_reserves();
  const std::uint64_t here = effective_capabilities();
  std::uint64_t later = 0;
  std::thread([&later] { later = effective_capabilities(); }).join();
  return here == (before & ~reserves) && later == here ? 0 : 1;
}

HEDDLE_TEST(nfs_disk_rights, "the capability to use blocks reserved for root is dropped alone") {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(drop_reserves());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == has_no_reserves) GTEST_SKIP() << "no user namespace can be made";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
