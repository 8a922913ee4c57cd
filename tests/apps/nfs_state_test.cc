// SPDX-License-Identifier: MIT
// The start of disk_volume: its state on disk, and what it says when it cannot serve.
#include <linux/capability.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "nfs_disk_world.hh"
#include "state.hh"

using namespace nfs;
using namespace nfs::test;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The text of the exception that f throws; empty if it throws none.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

class state_folder {
 public:
  state_folder() {
    char name[] = "/tmp/heddle-nfs-state-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    path_ = std::string(name) + "/state";
  }
  state_folder(const state_folder&) = delete;
  state_folder& operator=(const state_folder&) = delete;
  ~state_folder() { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

HEDDLE_TEST(nfs_state, "a key and numbers of exports are kept, and the key is private") {
  const state_folder dir;
  heddle::siphash_key key;
  {
    server_state s(dir.path());
    key = s.key();
    EXPECT_EQ(s.number_of("/srv"), 0u);
    EXPECT_EQ(s.number_of("/home a"), 1u);
    EXPECT_EQ(s.number_of("/srv"), 0u);
  }
  struct stat st{};
  ASSERT_EQ(::stat(dir.path("key").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_EQ(st.st_size, 16);
  {
    server_state again(dir.path());
    EXPECT_EQ(again.key(), key);
    EXPECT_EQ(again.number_of("/new"), 2u);
    EXPECT_EQ(again.number_of("/home a"), 1u);
    EXPECT_NE(failure_of([&] { server_state second(dir.path()); }).find("another server uses"),
              std::string::npos);
  }
  EXPECT_EQ(server_state(dir.path()).number_of("/new"), 2u);
  EXPECT_EQ(bytes_of(dir.path("exports")), "1 /home a\n2 /new\n0 /srv\n");
  const state_folder other;
  EXPECT_NE(server_state(other.path()).key(), key);
}

HEDDLE_TEST(nfs_state, "a state that cannot be right is refused with its place") {
  const state_folder dir;
  const auto start = [&] { server_state s(dir.path()); };
  start();
  const std::string key = bytes_of(dir.path("key"));
  std::ofstream(dir.path("key")) << key.substr(0, 15);
  EXPECT_NE(failure_of(start).find("key: has 15 bytes, not 16"), std::string::npos)
      << failure_of(start);
  std::ofstream(dir.path("key")) << key << key;
  EXPECT_NE(failure_of(start).find("too long"), std::string::npos) << failure_of(start);
  std::ofstream(dir.path("key")) << key;
  ASSERT_EQ(::chmod(dir.path("key").c_str(), 0644), 0);
  EXPECT_NE(failure_of(start).find("others may read it"), std::string::npos) << failure_of(start);
  ASSERT_EQ(::chmod(dir.path("key").c_str(), 0600), 0);
  EXPECT_EQ(failure_of(start), "");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  EXPECT_NE(failure_of(start).find("others may change"), std::string::npos) << failure_of(start);
  ASSERT_EQ(::chmod(dir.path().c_str(), 0700), 0);
  for (const char* text : {"x /a\n", "1/a\n", "256 /a\n", "1 \n", "1 /a", "-1 /a\n", "\n",
                           "1 /a\n1 /b\n", "1 /a\n2 /a\n"}) {
    std::ofstream(dir.path("exports")) << text;
    EXPECT_NE(failure_of(start).find("exports:"), std::string::npos) << text;
  }
  std::string full;
  for (int i = 0; i < 256; ++i) full += std::to_string(i) + " /" + std::to_string(i) + "\n";
  std::ofstream(dir.path("exports")) << full;
  server_state s(dir.path());
  EXPECT_EQ(s.number_of("/255"), 255u);
  EXPECT_NE(failure_of([&] { static_cast<void>(s.number_of("/new")); }).find("256 paths"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { server_state in_file(dir.path("key")); }).find("give a folder"),
            std::string::npos);
}

std::string start_volume(const std::string& path) {
  return failure_of([&] { disk_volume v({{path, 0}}, disk_key()); });
}

HEDDLE_TEST(nfs_state, "what cannot be exported is named at the start") {
  if (const std::string& why = disk_missing(); !why.empty()) GTEST_SKIP() << why;
  const own_tmpfs fs;
  EXPECT_EQ(start_volume(fs.path()), "");
  EXPECT_EQ(start_volume(fs.path("none")),
            "nfs: " + fs.path("none") + " cannot be exported: No such file or directory");
  put_file(fs.path("file"), "x");
  EXPECT_EQ(start_volume(fs.path("file")),
            "nfs: " + fs.path("file") + " cannot be exported: Not a directory");
  EXPECT_NE(start_volume("/proc").find("without file handles"), std::string::npos)
      << start_volume("/proc");
  EXPECT_NE(failure_of([&] {
              disk_volume v({{fs.path(), 3}, {"/tmp", 3}}, disk_key());
            }).find("number of another export"),
            std::string::npos);

  for (const char* name : {"lower", "upper", "work", "merged"})
    ASSERT_EQ(::mkdir(fs.path(name).c_str(), 0755), 0);
  const std::string options = "lowerdir=" + fs.path("lower") + ",upperdir=" + fs.path("upper") +
                              ",workdir=" + fs.path("work");
  if (::mount("overlay", fs.path("merged").c_str(), "overlay", 0, options.c_str()) == 0) {
    EXPECT_EQ(start_volume(fs.path("merged")),
              "nfs: " + fs.path("merged") + " is on overlayfs without nfs_export: export a volume");
    ::umount2(fs.path("merged").c_str(), MNT_DETACH);
  }
}

HEDDLE_TEST(nfs_state, "a program without the capability says how to get it") {
  if (const std::string& why = disk_missing(); !why.empty()) GTEST_SKIP() << why;
  const own_tmpfs fs;
  std::string said;
  std::thread without([&] {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (::syscall(SYS_capget, &head, data) != 0) return;
    data[0].effective &= ~(1U << CAP_DAC_READ_SEARCH);
    data[0].permitted &= ~(1U << CAP_DAC_READ_SEARCH);
    if (::syscall(SYS_capset, &head, data) == 0) said = start_volume(fs.path());
  });
  without.join();
  EXPECT_EQ(said,
            "nfs: cannot open files by handle (EPERM): run as root, or setcap "
            "cap_dac_read_search+ep PROGRAM; in a container --cap-add DAC_READ_SEARCH");
}

/// An ext4 in a file of a tmpfs, or a reason why there is none.
class own_ext4 {
 public:
  explicit own_ext4(const std::string& tmpfs_options) : fs_(tmpfs_options), path_(fs_.path("m")) {
    const std::string image = fs_.path("image");
    const std::string make = "truncate -s 64M " + image + " && mkfs.ext4 -q -F -O ^has_journal " +
                             image + " 2>/dev/null && mkdir " + path_ + " && mount -o loop " +
                             image + " " + path_ + " 2>/dev/null";
    if (std::system(make.c_str()) != 0) return;
    ::chmod(path_.c_str(), 0777);
    mounted_ = true;
  }
  own_ext4(const own_ext4&) = delete;
  own_ext4& operator=(const own_ext4&) = delete;
  ~own_ext4() {
    if (mounted_) ::umount(path_.c_str());
  }
  [[nodiscard]] explicit operator bool() const noexcept { return mounted_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  own_tmpfs fs_;
  std::string path_;
  bool mounted_ = false;
};

task<> use_inode_again(disk_volume& v) {
  disk_client c{v};
  const handle root = v.root(0);
  const found first = must(co_await c.create(root, "first"));
  must(co_await c.write(first.file, 0, "old"));
  must(co_await c.remove(root, "first"));
  std::optional<found> second;
  for (int i = 0; i < 100; ++i) {
    second = must(co_await c.create(root, "n" + std::to_string(i)));
    if (second->attributes->fileid == first.attributes->fileid) break;
  }
  EXPECT_EQ(second->attributes->fileid, first.attributes->fileid);
  EXPECT_NE(second->file, first.file);
  EXPECT_EQ(status(co_await c.read(first.file)), nfsstat3::NFS3ERR_STALE);
  must(co_await c.write(second->file, 0, "new"));
  EXPECT_EQ(status(co_await c.write(first.file, 0, "bad")), nfsstat3::NFS3ERR_STALE);
  EXPECT_EQ(must(co_await c.read(second->file)), "new");
}
DRIVER_TEST(nfs_disk, "a handle is stale although its inode is used again") {
  if (!make.real()) GTEST_SKIP() << "needs the kernel's file systems";
  if (const std::string& why = disk_missing(); !why.empty()) GTEST_SKIP() << why;
  const own_ext4 fs("size=128m");
  if (!fs) GTEST_SKIP() << "no ext4 on a loop device here";
  disk_volume v({{fs.path(), 0}}, disk_key());
  heddle::runtime rt(make(), {});
  rt.run(use_inode_again(v));
}

task<> lose_a_write(disk_volume& v) {
  disk_client c{v};
  const handle root = v.root(0);
  const found f = must(co_await c.create(root, "f"));
  const nfs3::writeverf3 before = v.verifier();
  for (std::uint64_t i = 0; i < 40; ++i)
    must(co_await c.write(f.file, i << 20, std::string(1 << 20, 'x')));
  EXPECT_EQ(v.verifier(), before);
  nfs3::wcc_data seen;
  const nfsstat3 lost = status(co_await c.commit(f.file, seen));
  EXPECT_TRUE(lost == nfsstat3::NFS3ERR_IO || lost == nfsstat3::NFS3ERR_NOSPC)
      << static_cast<int>(lost);
  EXPECT_NE(v.verifier(), before);
  EXPECT_EQ(v.counters().failed_syncs, 1u);
  const nfs3::writeverf3 then = v.verifier();
  static_cast<void>(co_await c.commit(f.file, seen));
  EXPECT_TRUE(v.counters().failed_syncs > 1 || v.verifier() == then);
}
DRIVER_TEST(nfs_disk, "a sync that fails changes the verifier, so that clients write again") {
  if (!make.real()) GTEST_SKIP() << "needs the kernel's file systems";
  if (const std::string& why = disk_missing(); !why.empty()) GTEST_SKIP() << why;
  const own_ext4 fs("size=16m");  // less than the file system believes to have
  if (!fs) GTEST_SKIP() << "no ext4 on a loop device here";
  disk_volume v({{fs.path(), 0}}, disk_key(), {.sync_changes = false});
  heddle::runtime rt(make(), {});
  rt.run(lose_a_write(v));
}

}  // namespace
