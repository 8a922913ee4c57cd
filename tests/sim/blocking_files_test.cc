// SPDX-License-Identifier: MIT
// The calls of driver_files in a simulation, compared with the kernel's: random steps over a few
// names must give the same results, the same bytes and the same folders.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "heddle/io/detail/files_here.hh"
#include "heddle/io/directory_entry.hh"
#include "heddle/sim/driver.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

constexpr std::array names{"a",   "b",   "d",    "d/a",    "d/b",  "d/e",    "d/e/a", ".",
                           "d/.", "a/b", "d/e/", "none/a", "../x", "d/../a", "",      "d/e/../b"};

struct names_of final : entry_receiver {
  std::set<std::pair<std::string, entry_type>> all;
  explicit names_of(std::size_t most) : names_max(most) {}
  bool receive(const char* name, entry_type type) override {
    all.emplace(name, type);
    return all.size() < names_max;
  }
  std::size_t names_max;
};

/// One of the two disks: a folder with the folders d and d/e in it, and files that are open.
class side {
 public:
  side(driver_files& files, std::string root) : files_(files), root_(std::move(root)) {
    folder_ = open_at(AT_FDCWD, root_.c_str(), O_RDONLY | O_DIRECTORY);
  }
  ~side() {
    for (const int fd : open_) files_.close(fd);
    files_.close(folder_);
  }
  side(const side&) = delete;

  /// Makes the step that these draws say, and tells what it gave.
  std::string step(draws draw) {
    const std::string drawn[] = {draw_path(draw), draw_path(draw)};
    const char* const name = drawn[0].c_str();
    const char* const other = drawn[1].c_str();
    const int fd = open_.empty() ? -1 : open_[draw.below(open_.size())];
    std::ostringstream out;
    switch (draw.below(14)) {
      case 0:
      case 1: {
        constexpr int flags[] = {O_RDONLY,
                                 O_WRONLY,
                                 O_RDWR,
                                 O_RDWR | O_CREAT,
                                 O_RDONLY | O_DIRECTORY,
                                 O_WRONLY | O_APPEND | O_CREAT,
                                 O_RDWR | O_CREAT | O_EXCL,
                                 O_RDWR | O_TRUNC,
                                 O_PATH};
        const int asked = flags[draw.below(std::size(flags))];
        const std::uint64_t resolve = draw.one_of(2) ? RESOLVE_BENEATH : 0;
        const int got = open_at(folder_, name, asked, resolve);
        if (got >= 0) open_.push_back(got);
        out << "open " << name << ' ' << asked << ": " << std::min(got, 0);
        break;
      }
      case 2: {
        const std::string bytes(draw.from(1, 3000), static_cast<char>('a' + draw.below(26)));
        out << "write: " << files_.write(fd, bytes.data(), bytes.size());
        break;
      }
      case 3: {
        char bytes[2000];
        const std::uint64_t at = draw.one_of(2) ? at_cursor : draw.below(4000);
        const std::int64_t got = files_.read(fd, bytes, sizeof bytes, at);
        out << "read: " << got << ' '
            << std::string_view(bytes, got < 0 ? 0 : static_cast<std::size_t>(got));
        break;
      }
      case 4: {
        struct ::statx s{};
        const int got = files_.stat(folder_, name, draw.one_of(2) ? AT_SYMLINK_NOFOLLOW : 0, s);
        out << "stat " << name << ": " << got;
        if (got == 0) out << ' ' << (s.stx_mode & S_IFMT);
        if (got == 0 && S_ISREG(s.stx_mode)) out << ' ' << s.stx_size;
        break;
      }
      case 5: {
        constexpr int modes[] = {F_OK, R_OK, W_OK, X_OK, R_OK | W_OK};
        const int mode = modes[draw.below(std::size(modes))];
        out << "access " << name << ' ' << mode << ": " << files_.access(folder_, name, mode);
        break;
      }
      case 6:
        out << "link " << name << ' ' << other << ": ";
        if (const int got = files_.link(folder_, name, other); got == 0) {
          linked_.insert(number_of(folder_, other));
          out << "made";
        } else {
          out << got;
        }
        break;
      case 7:
        out << "rename " << name << ' ' << other << ": " << files_.rename(folder_, name, other);
        break;
      case 8:
        out << "remove " << name << ": " << files_.remove(folder_, name, 0);
        break;
      case 9: {
        names_of found(draw.one_of(3) ? 1 : names.size());
        out << "list: " << files_.list(fd, found) << ' ' << found.all.size();
        if (found.names_max == 1) break;  // which one is not promised
        for (const auto& [each, type] : found.all) out << ' ' << each << static_cast<int>(type);
        break;
      }
      case 10: {
        out << "path: " << path_of(fd);
        break;
      }
      case 11:
        if (fd >= 0 && draw.one_of(2)) {
          std::erase(open_, fd);
          files_.close(fd);
        } else {
          struct ::statx s{};
          const int got = files_.stat(fd, "", AT_EMPTY_PATH, s);
          out << "stat of open: " << got;
          if (got == 0) out << ' ' << (s.stx_mode & S_IFMT);
          if (got == 0 && S_ISREG(s.stx_mode)) out << ' ' << s.stx_size;
        }
        break;
      case 12: {
        const int next = open_.empty() ? -1 : open_[draw.below(open_.size())];
        const int got = files_.replace(fd, next);
        out << "replace: " << (got < 0 ? got : got == fd);
        break;
      }
      case 13:
        out << "flags: " << files_.set_flags(fd, draw.one_of(2) ? O_APPEND : 0);
        break;
    }
    return out.str();
  }

 private:
  std::string draw_path(draws& draw) const {
    const std::string name = names[draw.below(names.size())];
    return draw.one_of(4) ? root_ + '/' + name : name;
  }
  /// The number of an inode, or 0.
  std::uint64_t number_of(int at, const char* path, unsigned flags = AT_SYMLINK_NOFOLLOW) {
    struct ::statx s{};
    return files_.stat(at, path, flags, s) == 0 ? s.stx_ino : 0;
  }
  /// The path of a file that was removed, or has had two names, is not promised.
  std::string path_of(int fd) {
    std::string path;
    const int got = files_.path_of(fd, path);
    if (got == -EBADF) return "no file";
    const std::uint64_t number = number_of(fd, "", AT_EMPTY_PATH);
    if (linked_.contains(number)) return "one of two";
    const bool there = got == 0 && number_of(AT_FDCWD, path.c_str()) == number;
    return there ? path : "removed";
  }

  int open_at(int at, const char* name, int flags, std::uint64_t resolve = 0) {
    ::open_how how{};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
    how.resolve = resolve;
    return files_.open(at, name, how);
  }

  driver_files& files_;
  std::string root_;
  int folder_ = -1;
  std::vector<int> open_;
  std::set<std::uint64_t> linked_;  // inodes that have, or had, two names
};

HEDDLE_TEST(blocking_files, "random calls give what the kernel gives") {
  for_seeds(300, [](std::uint64_t seed) {
    char made[] = "/tmp/heddle-files-XXXXXX";
    ASSERT_NE(::mkdtemp(made), nullptr);
    const std::string root = made + std::string("/root");  // so that ".." stays in `made`
    std::filesystem::create_directories(root + "/d/e");
    sim_driver world({.seed = seed});
    world.make_directories(root + "/d/e");
    {
      side real(detail::files_here(), root);
      side simulated(*world.blocking_files(), root);
      draws draw(seed);
      std::string log;
      for (std::uint64_t i = draw.from(1, 120); i != 0; --i) {
        const draws next(draw.next());
        const std::string want = real.step(next);
        const std::string got = simulated.step(next);
        log += want + '\n';
        if (want == got) continue;
        ADD_FAILURE() << "after\n" << log << "the simulation gives\n" << got;
        break;
      }
    }
    EXPECT_EQ(world.open_descriptors(), 0U);
    std::filesystem::remove_all(made);
  });
}

/// The names that a receiver gets which wants so many.
std::size_t names_listed(driver_files& files, const std::string& path, std::size_t most) {
  ::open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const int folder = files.open(AT_FDCWD, path.c_str(), how);
  names_of found(most);
  EXPECT_EQ(files.list(folder, found), 0);
  files.close(folder);
  return found.all.size();
}

HEDDLE_TEST(blocking_files, "a list ends when its receiver has enough") {
  char made[] = "/tmp/heddle-files-XXXXXX";
  ASSERT_NE(::mkdtemp(made), nullptr);
  const std::string root = made;
  sim_driver world;
  for (const char* name : {"/a", "/b", "/c"}) {
    std::filesystem::create_directory(root + name);
    world.make_directories(root + name);
  }
  for (driver_files* files : {&detail::files_here(), world.blocking_files()}) {
    EXPECT_EQ(names_listed(*files, root, 2), 2U);
    EXPECT_EQ(names_listed(*files, root, 9), 3U);
  }
  std::filesystem::remove_all(root);
}

HEDDLE_TEST(blocking_files, "a file cannot be renamed to its own name with a slash") {
  sim_driver world;
  world.write_file("/f", "x");
  EXPECT_EQ(world.blocking_files()->rename(AT_FDCWD, "/f", "/f/"), -ENOTDIR);
  EXPECT_EQ(world.blocking_files()->rename(AT_FDCWD, "/f", "/f"), 0);
}

}  // namespace
}  // namespace heddle::test
