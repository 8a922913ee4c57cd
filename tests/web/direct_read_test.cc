// SPDX-License-Identifier: MIT
// Files that are read without the kernel's cache: the same bytes as with it, none of them left in
// it, and a clear error where that is not possible.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "heddle/web/static_files.hh"
#include "web/direct_read.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

std::string drawn_text(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = static_cast<std::uint32_t>(size) * 2654435761u + 1;
  for (char& c : text)
    c = static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 24) % 26);
  return text;
}

class direct_folder {
 public:
  direct_folder() {
    char name[] = "/tmp/heddle_direct_XXXXXX";
    if (::mkdtemp(name) != nullptr) root = name;
  }
  direct_folder(const direct_folder&) = delete;
  ~direct_folder() { std::filesystem::remove_all(root); }

  /// Writes a file, and drops it from the kernel's cache.
  void write(const std::string& name, const std::string& text) const {
    const int fd = ::open((root + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(::fsync(fd), 0);
    EXPECT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(fd);
  }
  /// How many pages of a file are in the kernel's cache.
  [[nodiscard]] std::size_t cached_pages(const std::string& name) const {
    const int fd = ::open((root + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    const auto size = static_cast<std::size_t>(std::filesystem::file_size(root + "/" + name));
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(::mincore(at, size, pages.data()), 0);
    ::munmap(at, size);
    ::close(fd);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char c) { return (c & 1) != 0; }));
  }
  [[nodiscard]] bool works() const {
    const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::string why = http::why_not_directly(fd);
    ::close(fd);
    return why.empty();
  }

  std::string root;
};

}  // namespace

DRIVER_TEST(direct_read,
            "files of every size are the same bytes, and leave none in the page cache") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const direct_folder site;
  const std::vector<std::size_t> sizes = {0,     1,     4095,    4096,     4097,   16384,
                                          65535, 65537, 300'001, 1u << 20, 200'000};
  for (const std::size_t size : sizes)
    site.write("f" + std::to_string(size) + ".bin", drawn_text(size));
  if (!site.works()) GTEST_SKIP() << "the file system of /tmp has no O_DIRECT";
  // A cache that holds some of them: the others drop what is there.
  http::static_files files(site.root, {.cache_bytes_max = 400'000, .direct = true, .trust = 0s});
  runtime rt(make());
  rt.run(with_server([&](http::request& r) { return files.answer(r); }, {},
                     [&](address at, http::server&) -> task<> {
                       for (int round = 0; round != 2; ++round)
                         for (const std::size_t size : sizes) {
                           const std::string name = "f" + std::to_string(size) + ".bin";
                           const std::string whole = co_await ask(at, "GET /" + name);
                           EXPECT_EQ(status_of(whole), "200") << size;
                           EXPECT_TRUE(body_of(whole) == drawn_text(size)) << size;
                           if (size != 0) {
                             EXPECT_EQ(site.cached_pages(name), 0u) << size;
                           }
                         }
                     }));
  EXPECT_GE(files.counters().direct, sizes.size());
}

DRIVER_TEST(direct_read, "a file larger than what is cached is sent from the page cache") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const direct_folder site;
  site.write("large.bin", drawn_text(300'001));
  if (!site.works()) GTEST_SKIP() << "the file system of /tmp has no O_DIRECT";
  http::static_files files(site.root, {.cached_file_bytes_max = 100'000, .direct = true});
  runtime rt(make());
  rt.run(with_server([&](http::request& r) { return files.answer(r); }, {},
                     [&](address at, http::server&) -> task<> {
                       const std::string whole = co_await ask(at, "GET /large.bin");
                       EXPECT_TRUE(body_of(whole) == drawn_text(300'001));
                     }));
  EXPECT_EQ(files.counters().direct, 0u);
}

HEDDLE_TEST(direct_read_start, "a file system without O_DIRECT is refused with a clear message") {
  try {
    const http::static_files files("/proc/sys/kernel", {.direct = true});
    FAIL() << "it was taken";
  } catch (const failure& e) {
    EXPECT_TRUE(std::string_view(e.what()).contains("cannot read the files of '/proc/sys/kernel'"))
        << e.what();
    EXPECT_TRUE(std::string_view(e.what()).contains("(O_DIRECT); leave out --direct")) << e.what();
  }
}
