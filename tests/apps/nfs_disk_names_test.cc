// SPDX-License-Identifier: MIT
// disk_volume: listings of large directories that change, renames and links.
#include <map>
#include <set>

#include "heddle/core/scope.hh"
#include "names.hh"
#include "nfs_disk_world.hh"

using namespace nfs;
using namespace nfs::test;
using enum nfs::nfsstat3;

namespace {

/// Lists everything, in calls of `bytes` each.
task<std::vector<listed>> list_all(disk_client& c, const handle& dir, std::size_t bytes,
                                   bool with_handles) {
  std::vector<listed> all;
  list_request what;
  what.bytes_max = bytes;
  what.with_handles = with_handles;
  for (;;) {
    listing part = must(co_await c.list(dir, what));
    std::size_t used = 0;
    for (listed& e : part.entries) {
      used += listed_bytes(e, with_handles);
      what.cookie = e.cookie;
      all.push_back(std::move(e));
    }
    EXPECT_LE(used, bytes);
    if (part.end) co_return all;
    if (part.entries.empty()) {
      ADD_FAILURE() << "no entry, and no end";
      co_return all;
    }
  }
}

constexpr int names_that_stay = 100'000;
constexpr int names_that_change = 1000;

task<> list_while_changing(disk_world& w) {
  disk_client c = w.as();
  const std::string dir = w.fs.path("d");
  EXPECT_EQ(::mkdir(dir.c_str(), 0777), 0);
  const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < names_that_stay; ++i)
    EXPECT_EQ(::mknodat(fd, ("stay" + std::to_string(i)).c_str(), S_IFREG | 0644, 0), 0);
  for (int i = 0; i < names_that_change; ++i)
    EXPECT_EQ(::mknodat(fd, ("go" + std::to_string(i)).c_str(), S_IFREG | 0644, 0), 0);
  const handle d = must(co_await c.lookup(w.root, "d")).file;
  std::vector<listed> all;
  bool done = false;
  auto change = [&]() -> task<> {
    for (int i = 0; i < names_that_change; ++i) {
      const std::string name = "go" + std::to_string(i);
      if (i % 3 == 0) {
        must(co_await c.remove(d, name));
      } else {
        must(co_await c.rename(d, name, d, "gone" + std::to_string(i)));
      }
      must(co_await c.create(d, "new" + std::to_string(i)));
    }
    done = true;
  };
  auto list = [&]() -> task<> { all = co_await list_all(c, d, 32 << 10, false); };
  heddle::scope s;
  s.spawn(list());
  s.spawn(change());
  co_await s.join();
  EXPECT_TRUE(done);
  std::map<std::string, int> seen;
  for (const listed& e : all) ++seen[e.name];
  for (int i = 0; i < names_that_stay; ++i) {
    const int count = seen["stay" + std::to_string(i)];
    if (count != 1) ADD_FAILURE() << "stay" << i << " is listed " << count << " times";
  }
  EXPECT_EQ(seen["."], 1);
  EXPECT_EQ(seen[".."], 1);
  ::close(fd);
}
DRIVER_TEST(nfs_disk_names,
            "of 100,000 names that are listed each is there once, while 1,000 change") {
  if (!make.real() || !disk_missing().empty()) GTEST_SKIP() << disk_missing();
  on_disk(make, list_while_changing, {}, "size=512m,nr_inodes=200k");
}

task<> list_parts(disk_world& w) {
  disk_client c = w.as();
  std::map<std::string, handle> made;
  for (int i = 0; i < 300; ++i) {
    const std::string name = std::string(1 + i % 200, 'n') + std::to_string(i);
    made[name] = must(co_await c.create(w.root, name)).file;
  }
  const auto plus = co_await list_all(c, w.root, 2000, true);
  EXPECT_EQ(plus.size(), made.size() + 2);
  for (const listed& e : plus) {
    if (e.name == "..") continue;
    if (!e.file || !e.attributes) {
      ADD_FAILURE() << e.name << " has no handle";
      continue;
    }
    EXPECT_EQ(e.attributes->fileid, e.fileid);
    EXPECT_EQ(*e.file, e.name == "." ? w.root : made.at(e.name));
  }
  const auto plain = co_await list_all(c, w.root, 600, false);
  EXPECT_EQ(plain.size(), plus.size());
  for (const listed& e : plain) EXPECT_FALSE(e.file || e.attributes);

  list_request small;
  small.bytes_max = 10;
  EXPECT_EQ(status(co_await c.list(w.root, small)), NFS3ERR_TOOSMALL);
  list_request few;
  few.names_bytes_max = 100;
  few.with_handles = true;
  const listing some = must(co_await c.list(w.root, few));
  EXPECT_FALSE(some.end);
  EXPECT_LE(some.entries.size(), 4u);
  EXPECT_GE(some.entries.size(), 1u);
  list_request wrong;
  wrong.cookie = ~std::uint64_t{0};
  EXPECT_EQ(status(co_await c.list(w.root, wrong)), NFS3ERR_BAD_COOKIE);
  EXPECT_EQ(status(co_await c.list(made.begin()->second, {})), NFS3ERR_NOTDIR);
}
DRIVER_TEST(nfs_disk_names, "a listing fits in the bytes that the client gives") {
  on_disk(make, list_parts);
}

task<> rename_both_ways(disk_world& w) {
  disk_client c = w.as(1001, 2001);
  std::vector<handle> dirs;
  for (int i = 0; i < 4; ++i)
    dirs.push_back(must(co_await c.make_directory(w.root, "d" + std::to_string(i))).file);
  constexpr int movers = 16;
  auto move = [&](int n) -> task<> {
    const std::string name = "f" + std::to_string(n);
    std::size_t at = static_cast<std::size_t>(n) % dirs.size();
    const handle file = must(co_await c.create(dirs[at], name)).file;
    for (int i = 0; i < 25; ++i) {
      const std::size_t to = (at + static_cast<std::size_t>(1 + (n + i) % 4)) % dirs.size();
      nfs3::wcc_data from_seen;
      nfs3::wcc_data to_seen;
      must(co_await c.rename(dirs[at], name, dirs[to], name, from_seen, to_seen));
      EXPECT_TRUE(from_seen.before && from_seen.after && to_seen.before && to_seen.after);
      at = to;
    }
    EXPECT_EQ(must(co_await c.lookup(dirs[at], name)).file, file);
  };
  heddle::scope s;
  for (int n = 0; n < movers; ++n) s.spawn(move(n));
  co_await s.join();
  std::set<std::string> names;
  for (const handle& d : dirs)
    for (const listed& e : must(co_await c.list(d, {})).entries)
      if (e.name[0] == 'f') EXPECT_TRUE(names.insert(e.name).second) << e.name;
  EXPECT_EQ(names.size(), std::size_t{movers});
}
DRIVER_TEST(nfs_disk_names,
            "renames between directories in all directions do not wait for each other") {
  on_disk(make, rename_both_ways);
}

task<> rename_and_link(disk_world& w) {
  disk_client c = w.as(1001, 2001);
  disk_client carl = w.as(1003, 2003);
  const found a = must(co_await c.make_directory(w.root, "a"));
  const found b = must(co_await c.make_directory(a.file, "b"));
  const found f = must(co_await c.create(a.file, "f"));
  must(co_await c.link(f.file, b.file, "g"));
  EXPECT_EQ(must(co_await c.lookup(b.file, "g")).file, f.file);
  EXPECT_EQ(must(co_await c.attributes(f.file)).nlink, 2u);
  EXPECT_EQ(status(co_await c.link(f.file, b.file, "g")), NFS3ERR_EXIST);
  EXPECT_EQ(status(co_await c.link(f.file, f.file, "h")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.link(a.file, b.file, "h")), NFS3ERR_ISDIR);
  EXPECT_NE(status(co_await carl.link(f.file, b.file, "h")), NFS3_OK);  // by fs.protected_hardlinks
  const found l = must(co_await c.make_link(a.file, "l", "nowhere"));
  must(co_await c.link(l.file, b.file, "l2"));
  EXPECT_EQ(must(co_await c.lookup(b.file, "l2")).file, l.file);
  // Both names are one file: nothing happens, and nothing is forgotten.
  must(co_await c.rename(a.file, "f", b.file, "g"));
  EXPECT_EQ(must(co_await c.attributes(f.file)).nlink, 2u);

  EXPECT_EQ(status(co_await c.rename(a.file, "none", b.file, "x")), NFS3ERR_NOENT);
  EXPECT_EQ(status(co_await c.rename(w.root, "a", b.file, "x")), NFS3ERR_INVAL);
  EXPECT_EQ(status(co_await c.rename(a.file, "f", a.file, "b")), NFS3ERR_ISDIR);
  EXPECT_EQ(status(co_await c.rename(a.file, "b", a.file, "f")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.rename(a.file, "f", f.file, "x")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.remove_directory(a.file, "b")), NFS3ERR_NOTEMPTY);
  EXPECT_EQ(status(co_await c.remove_directory(a.file, "f")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.remove(a.file, "b")), NFS3ERR_ISDIR);
  EXPECT_EQ(status(co_await c.remove(a.file, "none")), NFS3ERR_NOENT);
  EXPECT_EQ(status(co_await c.make_directory(a.file, "b")), NFS3ERR_EXIST);

  disk_volume two({{w.fs.path(), 1}, {w.fs.path("a"), 2}}, disk_key());
  disk_client d{two, c.who};
  EXPECT_EQ(two.locate(two.root(1))->export_number, 1u);
  EXPECT_EQ(status(co_await d.rename(two.root(0), "a", two.root(1), "x")), NFS3ERR_XDEV);
  const found inner = must(co_await d.lookup(two.root(1), "f"));
  EXPECT_EQ(status(co_await d.link(inner.file, two.root(0), "x")), NFS3ERR_XDEV);
}
DRIVER_TEST(nfs_disk_names, "RENAME, LINK, REMOVE and RMDIR fail as RFC 1813 says") {
  on_disk(make, rename_and_link);
}

}  // namespace
