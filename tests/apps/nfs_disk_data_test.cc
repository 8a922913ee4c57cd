// SPDX-License-Identifier: MIT
// disk_volume: reads, writes, syncs, and the attributes before and after.
#include <sys/resource.h>

#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "nfs_disk_world.hh"

using namespace nfs;
using namespace nfs::test;
using enum nfs::nfsstat3;
using namespace std::chrono_literals;

namespace {

std::string pattern(std::size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  std::uint32_t state = seed * 2654435761U + 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

task<> write_and_read(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "a", 0640));
  EXPECT_EQ(f.attributes->mode, 0640u);
  EXPECT_EQ(f.attributes->size, 0u);
  const std::string text = pattern(300'000, 1);
  const auto how = must(co_await c.write(f.file, 10, text, nfs3::stable_how::FILE_SYNC));
  EXPECT_EQ(how, nfs3::stable_how::FILE_SYNC);
  EXPECT_EQ(must(co_await c.read(f.file)), std::string(10, '\0') + text);
  EXPECT_EQ(must(co_await c.read(f.file, 1000, 4096)), text.substr(990, 4096));
  EXPECT_EQ(must(co_await c.read(f.file, 300'000, 4096)), text.substr(299'990));
  EXPECT_EQ(must(co_await c.read(f.file, 1 << 30, 4096)), "");
  const found again = must(co_await c.lookup(w.root, "a"));
  EXPECT_EQ(again.file, f.file);
  EXPECT_EQ(again.attributes->size, 300'010u);
  EXPECT_EQ(status(co_await c.lookup(w.root, "b")), NFS3ERR_NOENT);
  EXPECT_EQ(status(co_await c.read(w.root)), NFS3ERR_ISDIR);
  EXPECT_EQ(status(co_await c.write(w.root, 0, "x")), NFS3ERR_ISDIR);
  EXPECT_EQ(status(co_await c.write(f.file, ~std::uint64_t{0} - 3, "abc")), NFS3ERR_FBIG);

  heddle::chain many;  // more pieces than a system call takes
  std::string all;
  for (int i = 0; i < 3000; ++i) {
    std::string one = pattern(300, static_cast<unsigned>(i));
    all += one;
    many.append(std::move(one));
  }
  EXPECT_GT(many.piece_count(), 1024u);
  nfs3::wcc_data seen;
  must(co_await c.write(f.file, 0, many, nfs3::stable_how::UNSTABLE, seen));
  EXPECT_EQ(many.to_string(), all);
  EXPECT_EQ(must(co_await c.read(f.file)), all);
}
DRIVER_TEST(nfs_disk, "a file that is written is read again") { on_disk(make, write_and_read); }

task<> fill_up(disk_world& w) {
  disk_client c = w.as(1000, 1000);
  constexpr std::size_t step = 64 << 10;
  std::vector<std::pair<handle, unsigned>> files;
  bool full = false;
  for (unsigned i = 0; i < 200 && !full; ++i) {
    const outcome<found> f = co_await c.create(w.root, "f" + std::to_string(i));
    if (!f) {
      EXPECT_EQ(f.error(), NFS3ERR_NOSPC);
      break;
    }
    const auto how = co_await c.write(f->file, 0, pattern(step, i), nfs3::stable_how::FILE_SYNC);
    full = !how;
    if (full) {
      EXPECT_EQ(how.error(), NFS3ERR_NOSPC);
    } else {
      files.emplace_back(f->file, i);
    }
  }
  EXPECT_TRUE(full);
  EXPECT_GT(files.size(), 40u);
  EXPECT_EQ(must(co_await c.free_space(w.root)).bytes, std::uint64_t{4} << 20);
  EXPECT_LT(must(co_await c.free_space(w.root)).bytes_available, step);
  for (const auto& [file, seed] : files)
    EXPECT_EQ(must(co_await c.read(file)), pattern(step, seed)) << seed;
  must(co_await c.remove(w.root, "f0"));
  must(co_await c.write(files[1].first, step, pattern(step / 2, 9)));
}
DRIVER_TEST(nfs_disk, "a full file system gives NOSPC, and nothing that was acknowledged is lost") {
  on_disk(make, fill_up, {}, "size=4m");
}

task<> exact_attributes(disk_world& w) {
  disk_client c = w.as();
  nfs3::wcc_data dir;
  nfs3::createhow3 how;
  how.obj_attributes() = no_attributes();
  const found f = must(co_await c.create(w.root, "a", how, dir));
  EXPECT_TRUE(dir.before && dir.after);
  nfs3::wcc_data next;
  must(co_await c.create(w.root, "b", how, next));
  EXPECT_EQ(next.before->ctime, dir.after->ctime);
  EXPECT_EQ(next.before->size, dir.after->size);
  EXPECT_NE(next.after->size, next.before->size);
  EXPECT_EQ(status(co_await c.lookup(f.file, "x")), NFS3ERR_NOTDIR);

  nfs3::wcc_data first;
  const heddle::chain text(std::string("0123456789"));
  must(co_await c.write(f.file, 0, text, nfs3::stable_how::UNSTABLE, first));
  EXPECT_EQ(first.before->size, 0u);
  EXPECT_EQ(first.after->size, 10u);
  nfs3::wcc_data sized;
  nfs3::sattr3 to = no_attributes();
  to.size = 4;
  must(co_await c.set(f.file, to, sized));
  EXPECT_EQ(sized.before->size, 10u);
  EXPECT_EQ(sized.before->ctime, first.after->ctime);
  EXPECT_EQ(sized.after->size, 4u);
  nfs3::wcc_data failed;
  nfs3::nfstime3 other = sized.after->ctime;
  ++other.nseconds;
  EXPECT_EQ(status(co_await c.set(f.file, to, failed, other)), NFS3ERR_NOT_SYNC);
  EXPECT_EQ(failed.before->ctime, sized.after->ctime);
  must(co_await c.set(f.file, to, failed, sized.after->ctime));
}
DRIVER_TEST(nfs_disk, "each change begins with the attributes with which the last one ended") {
  on_disk(make, exact_attributes);
}

task<> write_beside(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "a"));
  constexpr std::size_t count = 16;
  constexpr std::size_t step = 32 << 10;
  std::vector<nfs3::wcc_data> seen(count);
  std::vector<heddle::chain> data(count);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string part = pattern(step, static_cast<unsigned>(i));
    all += part;
    data[i].append(std::move(part));
  }
  co_await at_object<void>(w.volume, f.file, [&](object& o) -> task<outcome<void>> {
    auto one = [&](std::size_t i) -> task<> {
      must(co_await w.volume.write(o, i * step, data[i], nfs3::stable_how::UNSTABLE, c.who,
                                   seen[i]));
    };
    heddle::scope s;
    for (std::size_t i = 0; i < count; ++i) s.spawn(one(i));
    co_await s.join();
    co_return outcome<void>();
  });
  EXPECT_EQ(must(co_await c.read(f.file)), all);
  // Only one that ran alone may say what was before.
  for (const nfs3::wcc_data& each : seen) {
    EXPECT_FALSE(each.before);
    EXPECT_TRUE(each.after);
  }
}
DRIVER_TEST(nfs_disk, "writes of a file run side by side, and do not claim to be alone") {
  on_disk(make, write_beside);
}

task<> commit_together(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "a"));
  must(co_await c.write(f.file, 0, "hello"));
  const std::uint64_t syncs = w.volume.counters().syncs;
  const nfs3::writeverf3 verifier = w.volume.verifier();
  nfs3::wcc_data alone;
  must(co_await c.commit(f.file, alone));
  EXPECT_EQ(w.volume.counters().syncs, syncs + 1);
  EXPECT_TRUE(alone.before && alone.after);
  co_await at_object<void>(w.volume, f.file, [&](object& o) -> task<outcome<void>> {
    auto one = [&]() -> task<> {
      nfs3::wcc_data seen;
      must(co_await w.volume.commit(o, seen));
    };
    heddle::scope s;
    for (int i = 0; i < 10; ++i) s.spawn(one());
    co_await s.join();
    co_return outcome<void>();
  });
  // The first begins at once; what comes meanwhile waits for the next.
  EXPECT_EQ(w.volume.counters().syncs, syncs + 3);
  EXPECT_EQ(w.volume.counters().syncs_shared, 8u);
  EXPECT_EQ(w.volume.verifier(), verifier);
}
DRIVER_TEST(nfs_disk, "COMMITs that wait together share one sync") {
  on_disk(make, commit_together);
}

task<> wait_for_open(disk_world& w, std::int64_t count) {
  for (int i = 0; i < 5000 && w.volume.counters().open_now > count; ++i)
    co_await heddle::sleep_for(1ms);
}

task<> close_unused(disk_world& w) {
  disk_client c = w.as();
  heddle::scope s;
  s.spawn(w.volume.close_idle());
  std::vector<handle> files;
  for (int i = 0; i < 200; ++i)
    files.push_back(must(co_await c.create(w.root, "f" + std::to_string(i))).file);
  for (const handle& h : files) must(co_await c.write(h, 0, "x"));
  EXPECT_GT(w.volume.counters().open_now, 0);
  EXPECT_LE(w.volume.counters().open_now, 128);  // two for each shard
  co_await wait_for_open(w, 0);
  EXPECT_EQ(w.volume.counters().open_now, 0);
  for (const handle& h : files) EXPECT_EQ(must(co_await c.read(h)), "x");
  s.cancel();
  static_cast<void>(co_await heddle::as_expected(s.join()));
}
DRIVER_TEST(nfs_disk, "open descriptors have a limit, and are closed when nobody uses them") {
  on_disk(make, close_unused, {.open_max = 128, .idle = 20ms});
}

/// Takes all descriptors that are free up to the highest in use, and allows none above.
class no_descriptor_left {
 public:
  no_descriptor_left() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (int fd = 0; fd < 10'000; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) highest = fd;
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(highest) + 1;
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = 0; (fd = ::open("/", O_PATH | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  no_descriptor_left(const no_descriptor_left&) = delete;
  no_descriptor_left& operator=(const no_descriptor_left&) = delete;
  ~no_descriptor_left() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

task<> lack_descriptors(disk_world& w) {
  disk_client c = w.as();
  std::vector<handle> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(must(co_await c.create(w.root, "f" + std::to_string(i))).file);
    must(co_await c.write(files.back(), 0, "x"));
  }
  put_file(w.fs.path("late"), "y");
  const handle late = must(co_await c.lookup(w.root, "late")).file;
  const std::int64_t open = w.volume.counters().open_now;
  EXPECT_GT(open, 50);
  {
    const no_descriptor_left now;
    EXPECT_EQ(must(co_await c.read(late)), "y");
    EXPECT_LT(w.volume.counters().open_now, open / 2 + 32);
    EXPECT_GT(w.volume.counters().open_now, 0);
    for (const handle& h : files) EXPECT_EQ(must(co_await c.read(h)), "x");
  }
  {
    const no_descriptor_left now;
    EXPECT_EQ(must(co_await c.list(w.root, {.cookie = 0, .bytes_max = 32768})).entries.size(),
              103u);
  }
  {
    // The server does not make a change a second time: it succeeds when the client tries again.
    const no_descriptor_left now;
    EXPECT_EQ(status(co_await c.create(w.root, "new")), NFS3ERR_JUKEBOX);
    must(co_await c.create(w.root, "new"));
  }
}
DRIVER_TEST(nfs_disk, "without a free descriptor, those used last the longest ago are closed") {
  on_disk(make, lack_descriptors);
}

task<> keep_buffers(disk_world& w) {
  disk_client c = w.as();
  const found f = must(co_await c.create(w.root, "f"));
  const std::string all = pattern(1 << 20, 5);
  must(co_await c.write(f.file, 0, all));
  EXPECT_EQ(must(co_await c.read(f.file)), all);
  EXPECT_EQ(w.volume.buffers().kept(), 1U << 20);
  EXPECT_EQ(must(co_await c.read(f.file, 1, 600'000)), all.substr(1, 600'000));
  EXPECT_EQ(w.volume.buffers().kept(), 1U << 20);  // the same
  EXPECT_EQ(must(co_await c.read(f.file, (1 << 20) - 100'000)), all.substr((1 << 20) - 100'000));
  EXPECT_EQ(w.volume.buffers().kept(), (1U << 20) + (128U << 10));
  EXPECT_EQ(must(co_await c.read(f.file, 0, 5000)), all.substr(0, 5000));  // small: not kept
  EXPECT_EQ(w.volume.buffers().kept(), (1U << 20) + (128U << 10));
  // The bound is 1 MiB and a half: the least recently used buffer goes.
  EXPECT_EQ(must(co_await c.read(f.file, 0, 500'000)), all.substr(0, 500'000));
  EXPECT_EQ(w.volume.buffers().kept(), (512U << 10) + (128U << 10));
}
DRIVER_TEST(nfs_disk, "memory of large READs is kept for others, up to a bound") {
  on_disk(make, keep_buffers, {.read_buffer_bytes = 3 << 19});
}

task<> close_removed(disk_world& w) {
  disk_client c = w.as();
  const found big = must(co_await c.create(w.root, "big"));
  must(co_await c.write(big.file, 0, pattern(1 << 20, 1)));
  const std::uint64_t before = must(co_await c.free_space(w.root)).bytes_free;
  const std::int64_t open = w.volume.counters().open_now;
  must(co_await c.remove(w.root, "big"));
  EXPECT_EQ(w.volume.counters().open_now, open - 1);
  EXPECT_GE(must(co_await c.free_space(w.root)).bytes_free, before + (1 << 20));
  const found old = must(co_await c.create(w.root, "old"));
  const found other = must(co_await c.create(w.root, "other"));
  must(co_await c.write(old.file, 0, "x"));
  const std::int64_t then = w.volume.counters().open_now;
  must(co_await c.rename(w.root, "other", w.root, "old"));
  EXPECT_EQ(w.volume.counters().open_now, then - 1);
  EXPECT_EQ(status(co_await c.attributes(old.file)), NFS3ERR_STALE);
  EXPECT_EQ(must(co_await c.lookup(w.root, "old")).file, other.file);
}
DRIVER_TEST(nfs_disk, "a file's descriptor is closed and its space is free with its last name") {
  on_disk(make, close_removed);
}

}  // namespace
