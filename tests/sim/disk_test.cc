// SPDX-License-Identifier: MIT
// The simulated disk: paths, files, directories, and what a power failure leaves.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <chrono>
#include <set>

#include "heddle/io/directory_entry.hh"
#include "sim/harness.hh"
#include "support/test.hh"

namespace heddle::test {

using namespace std::chrono_literals;

namespace {

struct disk_harness : sim_harness {
  using sim_harness::sim_harness;

  int open(const char* path, std::uint64_t flags = O_RDONLY, std::uint64_t resolve = 0,
           int at = AT_FDCWD) {
    ::open_how how{};
    how.flags = flags;
    how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
    how.resolve = resolve;
    asked a(op_code::open, at);
    a.data = const_cast<char*>(path);
    a.more = &how;
    submit(a);
    return static_cast<int>(finish(a));
  }
  std::int64_t on_path(op_code code, const char* path, unsigned flags = 0,
                       const void* more = nullptr, int at = AT_FDCWD) {
    asked a(code, at);
    a.data = const_cast<char*>(path);
    a.more = const_cast<void*>(more);
    a.flags = flags;
    a.len = 0755;
    submit(a);
    return finish(a);
  }
  struct ::statx stat(const char* path, unsigned flags = 0, int at = AT_FDCWD) {
    struct ::statx out{};
    EXPECT_EQ(on_path(op_code::stat, path, flags, &out, at), 0) << path;
    return out;
  }
};

}  // namespace

HEDDLE_TEST(sim_disk, "a planted file is read at a place and at the cursor") {
  disk_harness h;
  h.sim.write_file("/www/index.html", "0123456789");
  const int fd = h.open("/www/index.html");
  ASSERT_GE(fd, 1000);
  char bytes[4];
  EXPECT_EQ(h.read(fd, bytes, 4, op_code::read, 8), 2);
  EXPECT_EQ(std::string_view(bytes, 2), "89");
  EXPECT_EQ(h.read_all(fd, op_code::read), "0123456789");
  EXPECT_EQ(h.read(fd, bytes, 4, op_code::read), 0);
  EXPECT_EQ(h.read(fd, bytes, 4, op_code::receive), -ENOTSOCK);
  EXPECT_EQ(h.write(fd, "x", op_code::write), -EBADF);
}

HEDDLE_TEST(sim_disk, "a file is created, written, appended to and cut") {
  disk_harness h;
  const int fd = h.open("/tmp/f", O_CREAT | O_EXCL | O_RDWR);
  EXPECT_EQ(h.write(fd, "abc", op_code::write), 3);
  EXPECT_EQ(h.write(fd, "Z", op_code::write, 5), 1);
  EXPECT_EQ(h.sim.read_file("/tmp/f"), std::string("abc\0\0Z", 6));
  EXPECT_EQ(h.open("/tmp/f", O_CREAT | O_EXCL | O_RDWR), -EEXIST);
  const int end = h.open("/tmp/f", O_WRONLY | O_APPEND | O_TRUNC);
  EXPECT_EQ(h.write(end, "1", op_code::write, 0), 1);
  EXPECT_EQ(h.write(end, "2", op_code::write, 0), 1);
  EXPECT_EQ(h.sim.read_file("/tmp/f"), "12");
}

HEDDLE_TEST(sim_disk, "nothing leads out from beneath a directory") {
  disk_harness h;
  h.sim.write_file("/secret", "s");
  h.sim.write_file("/www/a/page", "p");
  h.sim.make_link("/www/out", "../secret");
  h.sim.make_link("/www/root", "/secret");
  h.sim.make_link("/www/in", "a/page");
  const int www = h.open("/www", O_DIRECTORY);
  EXPECT_EQ(h.open("../secret", O_RDONLY, RESOLVE_BENEATH, www), -EXDEV);
  EXPECT_EQ(h.open("a/../../secret", O_RDONLY, RESOLVE_BENEATH, www), -EXDEV);
  EXPECT_EQ(h.open("/secret", O_RDONLY, RESOLVE_BENEATH, www), -EXDEV);
  EXPECT_EQ(h.open("out", O_RDONLY, RESOLVE_BENEATH, www), -EXDEV);
  EXPECT_EQ(h.open("root", O_RDONLY, RESOLVE_BENEATH, www), -EXDEV);
  EXPECT_GE(h.open("a/../in", O_RDONLY, RESOLVE_BENEATH, www), 0);
  EXPECT_EQ(h.open("in", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, www), -ELOOP);
  EXPECT_GE(h.open("../secret", O_RDONLY, 0, www), 0) << "without the flag the way is open";
}

HEDDLE_TEST(sim_disk, "a directory as root is where / and .. lead") {
  disk_harness h;
  h.sim.write_file("/secret", "outer");
  h.sim.write_file("/www/secret", "inner");
  h.sim.make_link("/www/link", "/secret");
  const int www = h.open("/www", O_DIRECTORY);
  for (const char* path : {"/secret", "../../secret", "link"}) {
    const int fd = h.open(path, O_RDONLY, RESOLVE_IN_ROOT, www);
    EXPECT_EQ(h.read_all(fd, op_code::read), "inner") << path;
  }
  EXPECT_EQ(h.open("x", O_RDONLY, RESOLVE_IN_ROOT | RESOLVE_BENEATH, www), -EINVAL);
}

HEDDLE_TEST(sim_disk, "what cannot be opened says why") {
  disk_harness h;
  h.sim.write_file("/f", "");
  h.sim.write_file("/closed", "");
  h.sim.set_mode("/closed", 0);
  h.sim.make_link("/loop", "loop");
  h.sim.make_link("/link", "f");
  EXPECT_EQ(h.open("/none"), -ENOENT);
  EXPECT_EQ(h.open("/none/x", O_CREAT | O_WRONLY), -ENOENT);
  EXPECT_EQ(h.open("/f/x"), -ENOTDIR);
  EXPECT_EQ(h.open("/f/"), -ENOTDIR);
  EXPECT_EQ(h.open("/f", O_DIRECTORY), -ENOTDIR);
  EXPECT_EQ(h.open("/tmp", O_WRONLY), -EISDIR);
  EXPECT_EQ(h.open("/closed"), -EACCES);
  EXPECT_EQ(h.open("/loop"), -ELOOP);
  EXPECT_EQ(h.open("/link", O_NOFOLLOW), -ELOOP);
  EXPECT_EQ(h.open("f", O_RDONLY, 0, 77), -EBADF);
  EXPECT_EQ(h.open(std::string(300, 'n').c_str()), -ENAMETOOLONG);
  EXPECT_EQ(h.open(""), -ENOENT);
}

HEDDLE_TEST(sim_disk, "stat tells kind, size and a time of the virtual wall clock") {
  disk_harness h;
  h.sim.advance(60s);
  h.sim.write_file("/d/f", "12345");
  h.sim.make_link("/l", "d/f");
  const struct ::statx file = h.stat("/d/f");
  EXPECT_EQ(file.stx_mode, S_IFREG | 0644);
  EXPECT_EQ(file.stx_size, 5u);
  EXPECT_EQ(file.stx_mtime.tv_sec, 1'000'000'060);
  EXPECT_EQ(h.stat("/l").stx_ino, file.stx_ino);
  EXPECT_TRUE(S_ISLNK(h.stat("/l", AT_SYMLINK_NOFOLLOW).stx_mode));
  const int fd = h.open("/d/f");
  EXPECT_EQ(h.stat("", AT_EMPTY_PATH, fd).stx_ino, file.stx_ino);
  EXPECT_TRUE(S_ISDIR(h.stat("/d").stx_mode));
  EXPECT_TRUE(S_ISSOCK(h.stat("", AT_EMPTY_PATH, h.listener(endpoint(80))).stx_mode));
}

HEDDLE_TEST(sim_disk, "names are removed, made and renamed as the kernel does it") {
  disk_harness h;
  h.sim.write_file("/a/f", "1");
  h.sim.write_file("/a/g", "2");
  EXPECT_EQ(h.on_path(op_code::make_directory, "/a"), -EEXIST);
  EXPECT_EQ(h.on_path(op_code::make_directory, "/b/"), 0);
  EXPECT_EQ(h.on_path(op_code::remove, "/a"), -EISDIR);
  EXPECT_EQ(h.on_path(op_code::remove, "/a", AT_REMOVEDIR), -ENOTEMPTY);
  EXPECT_EQ(h.on_path(op_code::remove, "/a/f", AT_REMOVEDIR), -ENOTDIR);
  EXPECT_EQ(h.on_path(op_code::rename, "/a", 0, "/a/inside"), -EINVAL);
  EXPECT_EQ(h.on_path(op_code::rename, "/a/f", 0, "/b"), -EISDIR);
  EXPECT_EQ(h.on_path(op_code::rename, "/a/f", 0, "/a/g"), 0);
  EXPECT_EQ(h.sim.read_file("/a/g"), "1");
  EXPECT_EQ(h.on_path(op_code::rename, "/a", 0, "/b"), 0);
  EXPECT_EQ(h.sim.read_file("/b/g"), "1");
  EXPECT_EQ(h.on_path(op_code::remove, "/b/g"), 0);
  EXPECT_EQ(h.on_path(op_code::remove, "/b", AT_REMOVEDIR), 0);
  EXPECT_FALSE(h.sim.exists("/b"));
}

HEDDLE_TEST(sim_disk, "a directory is listed in an order that the seed draws") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    disk_harness h({.seed = seed});
    h.sim.write_file("/d/a", "");
    h.sim.make_directories("/d/b");
    h.sim.make_link("/d/c", "a");
    std::vector<directory_entry> entries;
    const int d = h.open("/d", O_DIRECTORY);
    EXPECT_EQ(h.on_path(op_code::list, nullptr, 0, &entries, d), 3);
    std::string order;
    for (const directory_entry& e : entries) {
      order += e.name;
      const entry_type wanted[] = {entry_type::file, entry_type::directory, entry_type::link};
      EXPECT_EQ(e.type, wanted[e.name[0] - 'a']);
    }
    orders.insert(order);
    const int file = h.open("/d/a");
    EXPECT_EQ(h.on_path(op_code::list, nullptr, 0, &entries, file), -ENOTDIR);
  }
  EXPECT_GT(orders.size(), 3u);
}

HEDDLE_TEST(sim_disk, "a removed file lives while it is open") {
  disk_harness h;
  h.sim.write_file("/f", "still");
  const int fd = h.open("/f");
  EXPECT_EQ(h.on_path(op_code::remove, "/f"), 0);
  EXPECT_EQ(h.read_all(fd, op_code::read), "still");
}

HEDDLE_TEST(sim_disk, "a power failure takes what was not synced, content and names") {
  disk_harness h;
  h.sim.write_file("/d/kept", "old");
  const int kept = h.open("/d/kept", O_RDWR);
  h.write(kept, "new", op_code::write, 0);
  EXPECT_EQ(h.on_path(op_code::sync, nullptr, 0, nullptr, kept), 0);
  h.write(kept, "lost", op_code::write, 0);
  const int unnamed = h.open("/d/unnamed", O_CREAT | O_WRONLY);
  h.write(unnamed, "x", op_code::write);
  EXPECT_EQ(h.on_path(op_code::sync, nullptr, 0, nullptr, unnamed), 0);
  h.sim.crash_disk();
  EXPECT_EQ(h.sim.read_file("/d/kept"), "new");
  EXPECT_FALSE(h.sim.exists("/d/unnamed")) << "its directory was not synced";
}

HEDDLE_TEST(sim_disk, "a full disk says so") {
  disk_harness h({.disk_bytes_max = 10});
  const int fd = h.open("/f", O_CREAT | O_RDWR);
  EXPECT_EQ(h.write(fd, "0123456789", op_code::write), 10);
  EXPECT_EQ(h.write(fd, "x", op_code::write), -ENOSPC);
  EXPECT_GE(h.open("/f", O_WRONLY | O_TRUNC), 0);
  EXPECT_EQ(h.write(fd, "x", op_code::write, 0), 1);
}

}  // namespace heddle::test
