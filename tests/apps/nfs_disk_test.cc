// SPDX-License-Identifier: MIT
// disk_volume on file systems of the kernel: handles, names, reads, writes, and changes.
#include "nfs_disk_world.hh"

using namespace nfs;
using namespace nfs::test;
using enum nfs::nfsstat3;

namespace {

task<> flip_each_bit(disk_world& w) {
  disk_client c = w.as();
  const outcome<found> f = co_await c.create(w.root, "a");
  if (!f) {
    ADD_FAILURE() << static_cast<int>(f.error());
    co_return;
  }
  EXPECT_LE(f->file.data.size(), 64u);
  EXPECT_TRUE(w.volume.locate(f->file));
  for (std::size_t bit = 0; bit < f->file.data.size() * 8; ++bit) {
    handle other = f->file;
    other.data[bit / 8] = static_cast<char>(other.data[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(w.volume.locate(other)) << "bit " << bit;
    const outcome<object_ptr> o = co_await w.volume.open(other);
    EXPECT_EQ(status(o), NFS3ERR_BADHANDLE) << "bit " << bit;
  }
  for (std::size_t len = 0; len < f->file.data.size(); ++len) {
    handle other = f->file;
    other.data.resize(len);
    EXPECT_FALSE(w.volume.locate(other)) << len << " bytes";
  }
}
DRIVER_TEST(nfs_disk, "a handle of which any bit is changed is refused") {
  on_disk(make, flip_each_bit);
}

task<> write_and_read(disk_world& w) {
  disk_client c = w.as();
  const outcome<found> f = co_await c.create(w.root, "a", 0640);
  if (!f) {
    ADD_FAILURE() << static_cast<int>(f.error());
    co_return;
  }
  EXPECT_EQ(f->attributes->mode, 0640u);
  EXPECT_EQ(f->attributes->size, 0u);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += static_cast<char>(i * 7 + i / 251);
  const auto how = co_await c.write(f->file, 10, text, nfs3::stable_how::FILE_SYNC);
  EXPECT_EQ(status(how), NFS3_OK);
  const outcome<std::string> all = co_await c.read(f->file);
  EXPECT_EQ(all.value_or("?"), std::string(10, '\0') + text);
  const outcome<std::string> part = co_await c.read(f->file, 1000, 4096);
  EXPECT_EQ(part.value_or("?"), text.substr(990, 4096));
  const outcome<std::string> beyond = co_await c.read(f->file, 1 << 30, 4096);
  EXPECT_EQ(beyond.value_or("?"), "");
  const outcome<found> again = co_await c.lookup(w.root, "a");
  EXPECT_EQ(status(again), NFS3_OK);
  EXPECT_EQ(again->file, f->file);
  EXPECT_EQ(again->attributes->size, 300'010u);
  const outcome<found> none = co_await c.lookup(w.root, "b");
  EXPECT_EQ(status(none), NFS3ERR_NOENT);
  const outcome<std::string> dir = co_await c.read(w.root);
  EXPECT_EQ(status(dir), NFS3ERR_ISDIR);
  const auto too_far = co_await c.write(f->file, ~std::uint64_t{0} - 3, "abc");
  EXPECT_EQ(status(too_far), NFS3ERR_FBIG);
}
DRIVER_TEST(nfs_disk, "a file that is written is read again") { on_disk(make, write_and_read); }

}  // namespace
