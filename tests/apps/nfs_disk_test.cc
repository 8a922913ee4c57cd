// SPDX-License-Identifier: MIT
// disk_volume: handles, and that nothing leads out of an export.
#include <sys/fsuid.h>

#include "nfs_disk_world.hh"

using namespace nfs;
using namespace nfs::test;
using enum nfs::nfsstat3;

namespace {

task<> flip_each_bit(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "a"));
  EXPECT_LE(f.file.data.size(), 64u);
  EXPECT_TRUE(w.volume.locate(f.file));
  for (std::size_t bit = 0; bit < f.file.data.size() * 8; ++bit) {
    handle other = f.file;
    other.data[bit / 8] = static_cast<char>(other.data[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(w.volume.locate(other)) << "bit " << bit;
    const outcome<object_ptr> o = co_await w.volume.open(other);
    EXPECT_EQ(status(o), NFS3ERR_BADHANDLE) << "bit " << bit;
  }
  for (std::size_t len = 0; len < f.file.data.size(); ++len) {
    handle other = f.file;
    other.data.resize(len);
    EXPECT_FALSE(w.volume.locate(other)) << len << " bytes";
  }
  handle longer = f.file;
  longer.data += '\0';
  EXPECT_FALSE(w.volume.locate(longer));
}
DRIVER_TEST(nfs_disk, "a handle of which any bit is changed is refused") {
  on_disk(make, flip_each_bit);
}

task<> survive(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "a"));
  const found d = must(co_await c.make_directory(w.root, "d"));
  must(co_await c.write(f.file, 0, "hello"));
  must(co_await c.rename(w.root, "a", d.file, "b"));
  EXPECT_EQ(must(co_await c.read(f.file)), "hello");

  disk_volume again({{w.fs.path(), 7}}, disk_key());
  EXPECT_EQ(again.root(0), w.root);
  EXPECT_NE(again.verifier(), w.volume.verifier());
  disk_client later{again};
  EXPECT_EQ(must(co_await later.read(f.file)), "hello");
  EXPECT_EQ(must(co_await later.lookup(d.file, "b")).file, f.file);

  disk_volume stranger({{w.fs.path(), 7}}, heddle::siphash_key{1, 2});
  EXPECT_FALSE(stranger.locate(f.file));
  disk_volume elsewhere({{w.fs.path(), 8}}, disk_key());
  EXPECT_FALSE(elsewhere.locate(f.file));
}
DRIVER_TEST(nfs_disk, "handles survive a rename and a restart, and no other key accepts them") {
  on_disk(make, survive);
}

task<> go_stale(disk_world& w) {
  disk_client c = w.as();
  const found used = must(co_await c.create(w.root, "used"));
  const found local = must(co_await c.create(w.root, "local"));
  const found closed = must(co_await c.create(w.root, "closed"));
  const found dir = must(co_await c.make_directory(w.root, "dir"));
  const found kept = must(co_await c.create(w.root, "kept"));
  must(co_await c.write(used.file, 0, "x"));
  must(co_await c.write(local.file, 0, "x"));
  must(co_await c.attributes(dir.file));
  must(co_await c.write(kept.file, 0, "x"));
  must(co_await c.link(kept.file, w.root, "second"));

  must(co_await c.remove(w.root, "used"));
  EXPECT_EQ(::unlink(w.fs.path("local").c_str()), 0);
  EXPECT_EQ(::unlink(w.fs.path("closed").c_str()), 0);
  must(co_await c.remove_directory(w.root, "dir"));
  must(co_await c.remove(w.root, "kept"));
  for (int i = 0; i < 20; ++i) must(co_await c.create(w.root, "n" + std::to_string(i)));

  for (const handle& h : {used.file, local.file, closed.file, dir.file}) {
    EXPECT_TRUE(w.volume.locate(h));
    EXPECT_EQ(status(co_await c.attributes(h)), NFS3ERR_STALE);
    EXPECT_EQ(status(co_await c.read(h)), NFS3ERR_STALE);
    EXPECT_EQ(status(co_await c.lookup(h, "x")), NFS3ERR_STALE);
  }
  EXPECT_EQ(status(co_await c.write(local.file, 0, "y")), NFS3ERR_STALE);
  EXPECT_EQ(must(co_await c.read(kept.file)), "x");
}
DRIVER_TEST(nfs_disk, "a handle is stale once the last name is gone, whoever removed it") {
  on_disk(make, go_stale);
}

task<> do_not_escape(disk_world& w) {
  disk_client c = w.as();
  const found a = must(co_await c.make_directory(w.root, "a"));
  const found b = must(co_await c.make_directory(a.file, "b"));
  EXPECT_EQ(must(co_await c.lookup(w.root, "..")).file, w.root);
  EXPECT_EQ(must(co_await c.lookup(w.root, ".")).file, w.root);
  EXPECT_EQ(must(co_await c.lookup(a.file, "..")).file, w.root);
  EXPECT_EQ(must(co_await c.lookup(b.file, "..")).file, a.file);

  const found link = must(co_await c.make_link(a.file, "out", "/"));
  EXPECT_EQ(link.attributes->type, nfs3::ftype3::NF3LNK);
  const found same = must(co_await c.lookup(a.file, "out"));
  EXPECT_EQ(same.file, link.file);
  EXPECT_EQ(must(co_await c.read_link(link.file)), "/");
  EXPECT_EQ(must(co_await c.read_link(link.file)), "/");
  EXPECT_EQ(status(co_await c.lookup(link.file, "etc")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.list(link.file, {})), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.create(link.file, "x")), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(co_await c.read(link.file)), NFS3ERR_INVAL);
  EXPECT_EQ(status(co_await c.read_link(a.file)), NFS3ERR_INVAL);
  // CREATE follows no link either.
  must(co_await c.make_link(a.file, "dangling", w.fs.path("made")));
  EXPECT_EQ(status(co_await c.create(a.file, "dangling")), NFS3ERR_EXIST);
  EXPECT_NE(::access(w.fs.path("made").c_str(), F_OK), 0);

  // Paths instead of names.
  for (const char* path : {"../x", "b/x", "/x", ""}) {
    EXPECT_NE(status(co_await c.lookup(a.file, path)), NFS3_OK) << path;
    EXPECT_EQ(status(co_await c.create(a.file, path)), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.make_directory(a.file, path)), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.make_link(a.file, path, "x")), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.remove(a.file, path)), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.rename(a.file, path, a.file, "y")), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.rename(a.file, "out", a.file, path)), NFS3ERR_INVAL) << path;
    EXPECT_EQ(status(co_await c.link(link.file, a.file, path)), NFS3ERR_INVAL) << path;
  }

  // A file system that is mounted inside of the export.
  const std::string inside = w.fs.path("a/b");
  EXPECT_EQ(::mount("tmpfs", inside.c_str(), "tmpfs", 0, "size=1m"), 0);
  EXPECT_EQ(status(co_await c.lookup(a.file, "b")), NFS3ERR_ACCES);
  EXPECT_EQ(status(co_await c.remove_directory(a.file, "b")), NFS3ERR_ACCES);
  list_request plus;
  plus.with_handles = true;
  const listing l = must(co_await c.list(a.file, plus));
  bool listed_it = false;
  for (const listed& e : l.entries)
    if (e.name == "b") {
      listed_it = true;
      EXPECT_FALSE(e.file);
      EXPECT_FALSE(e.attributes);
    }
  EXPECT_TRUE(listed_it);
  EXPECT_EQ(::umount2(inside.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(must(co_await c.lookup(a.file, "b")).file, b.file);
}
DRIVER_TEST(nfs_disk, "neither dots nor links nor mounts lead out of an export") {
  on_disk(make, do_not_escape);
}

task<> go_up(disk_world& w) {
  disk_client whole = w.as();
  const found inner = must(co_await whole.make_directory(w.root, "inner"));
  const found outer = must(co_await whole.make_directory(w.root, "outer"));
  disk_volume small({{w.fs.path("inner"), 9}}, disk_key());
  disk_client c{small};
  const handle root = small.root(0);
  EXPECT_NE(root, inner.file);
  EXPECT_EQ(must(co_await c.lookup(root, "..")).file, root);
  const listing l = must(co_await c.list(root, {}));
  for (const listed& e : l.entries) EXPECT_EQ(e.fileid, inner.attributes->fileid) << e.name;
  handle at = root;
  for (int depth = 1; depth <= 258; ++depth) {
    const handle above = at;
    at = must(co_await c.make_directory(at, "d")).file;
    const outcome<found> up = co_await c.lookup(at, "..");
    if (depth <= 256) {
      EXPECT_EQ(must(outcome<found>(up)).file, above) << depth;
    } else {
      EXPECT_EQ(status(up), NFS3ERR_ACCES) << depth;
    }
  }
  const handle d = must(co_await c.lookup(root, "d")).file;
  must(co_await whole.rename(inner.file, "d", outer.file, "d"));
  EXPECT_EQ(status(co_await c.lookup(d, "..")), NFS3ERR_ACCES);
}
DRIVER_TEST(nfs_disk, "a parent is given if the way up leads to the export's root") {
  on_disk(make, go_up);
}

task<> exclusive(disk_world& w) {
  disk_client c = w.as(1000, 1000);
  nfs3::createhow3 how;
  how.set(nfs3::createmode3::EXCLUSIVE);
  for (int i = 0; i < 8; ++i) how.verf()[i] = static_cast<std::byte>(i * 37 + 200);
  nfs3::wcc_data seen;
  const found first = must(co_await c.create(w.root, "x", how, seen));
  const found again = must(co_await c.create(w.root, "x", how, seen));
  EXPECT_EQ(first.file, again.file);
  nfs3::createhow3 other = how;
  other.verf()[1] ^= std::byte{1};
  EXPECT_EQ(status(co_await c.create(w.root, "x", other, seen)), NFS3ERR_EXIST);
  other = how;
  other.verf()[6] ^= std::byte{1};
  EXPECT_EQ(status(co_await c.create(w.root, "x", other, seen)), NFS3ERR_EXIST);
  must(co_await c.write(first.file, 0, "x"));
  EXPECT_EQ(status(co_await c.create(w.root, "x", how, seen)), NFS3ERR_EXIST);

  nfs3::createhow3 guarded;
  guarded.set(nfs3::createmode3::GUARDED);
  guarded.obj_attributes() = no_attributes();
  EXPECT_EQ(status(co_await c.create(w.root, "x", guarded, seen)), NFS3ERR_EXIST);
  EXPECT_EQ(must(co_await c.create(w.root, "x")).file, first.file);
  EXPECT_EQ(must(co_await c.read(first.file)), "x");
  nfs3::createhow3 cut;
  cut.obj_attributes() = no_attributes();
  cut.obj_attributes().size = 0;
  EXPECT_EQ(must(co_await c.create(w.root, "x", cut, seen)).attributes->size, 0u);
}
DRIVER_TEST(nfs_disk, "an exclusive CREATE succeeds again with its own verifier alone") {
  on_disk(make, exclusive);
}

}  // namespace
