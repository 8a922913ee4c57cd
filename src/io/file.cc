// SPDX-License-Identifier: MIT
// Transfers at a place, and whole files.
#include "heddle/io/file.hh"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "heddle/base/sometimes.hh"
#include "heddle/core/deadline.hh"
#include "heddle/io/call.hh"
#include "heddle/io/detail/folder_of.hh"
#include "heddle/io/detail/unfinished_name.hh"
#include "heddle/io/directory.hh"
#include "io/descriptor_state.hh"
#include "io/file_call.hh"

namespace heddle {
namespace {

// The last place that the system has: its offsets are signed. -1 means the cursor to a driver, and
// so it must not come from a program's place.
constexpr std::uint64_t place_max = std::numeric_limits<std::int64_t>::max();

byte_span unconst(byte_view bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// A name in the folder of `path`, because a rename must stay in one folder; hidden, hard to guess.
std::string name_beside(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, start) + detail::unfinished_name(path.substr(start));
}

task<> write_new(std::string path, byte_view content, unsigned mode) {
  file out = co_await open_file(
      path, {.write = true, .read = false, .create = true, .exclusive = true, .mode = mode});
  co_await out.write_at(0, content);
  co_await out.sync();
}

task<> sync_folder(std::string path) {
  const directory folder = co_await open_directory(std::move(path));
  co_await folder.sync();
}

}  // namespace

namespace detail {

const wait_kind file_awaiter::read_kind{"read", &asked_to_end};
const wait_kind file_awaiter::write_kind{"write", &asked_to_end};

file_awaiter::file_awaiter(pinned_state&& on, file_asked&& asked) noexcept
    : operation(asked.write ? write_kind : read_kind, asked.write ? op_code::write : op_code::read,
                -1, &completed),
      file_(std::move(on), *this),
      bytes_(asked.bytes.data()),
      size_(asked.bytes.size()),
      counter_(asked.counter),
      at_(asked.at) {}

file_awaiter::~file_awaiter() {
  HEDDLE_ASSERT(!is_pending(),
                "a transfer was destroyed while the driver had it: cancel and await it");
}

bool file_awaiter::await_suspend(std::coroutine_handle<> h) noexcept {
  worker& w = worker::running();
  if (w.current_context().canceled()) {
    outcome_ = -ECANCELED;
    return false;
  }
  if (file_.number() < 0) {
    outcome_ = -EBADF;
    return false;
  }
  if (at_ > place_max) {
    outcome_ = -EINVAL;
    return false;
  }
  if (size_ == 0 || run(w)) return false;
  park(*this, link_of(h), w);
  return true;
}

bool file_awaiter::run(worker& w) noexcept {
  for (;;) {
    fd = file_.number();
    data = bytes_ + count_;
    offset = at_ + count_;
    // The system refuses a transfer that would end beyond the last place, instead of a shorter one.
    const std::uint64_t room = place_max - offset;
    if (room == 0) {
      if (code == op_code::write) outcome_ = -EFBIG;
      return true;
    }
    len = static_cast<std::uint32_t>(
        std::min({std::uint64_t{size_ - count_}, std::uint64_t{detail::step_bytes_max}, room}));
    completion now;
    if (!driver_here().submit(*this, w, now)) return false;
    if (step(now.result)) return true;
  }
}

bool file_awaiter::step(std::int64_t got) noexcept {
  if (got > 0) {
    count_ += static_cast<std::size_t>(got);
    if (counter_ != nullptr) *counter_ = count_;
    if (count_ == size_) return true;
  }
  if (got == 0) {
    // A write to a file never takes 0 bytes; trying again would be an endless loop.
    if (code == op_code::write) outcome_ = -EIO;
    return true;
  }
  if (got < 0 && got != -EINTR) outcome_ = static_cast<std::int32_t>(got);
  if (outcome_ == 0 && (ending_ || file_.number() < 0)) outcome_ = -ECANCELED;
  return outcome_ != 0;
}

bool file_awaiter::completed(operation& op, worker& w, const completion& c) noexcept {
  auto& self = static_cast<file_awaiter&>(op);
  if (self.step(c.result) || self.run(w)) wake(self, w);
  return false;
}

void file_awaiter::asked_to_end(wait& x, worker& w) noexcept {
  auto& self = static_cast<file_awaiter&>(static_cast<operation&>(x));
  if (self.ending_) return;
  self.ending_ = true;
  runtime::here().cancel(self, w);
}

}  // namespace detail

file_transfer file::read_at(std::uint64_t at, byte_span into) const noexcept {
  return file_transfer(state_, {into, at});
}
file_transfer file::read_at(std::uint64_t at, byte_span into, std::size_t& count) const noexcept {
  count = 0;
  return file_transfer(state_, {into, at, &count});
}
file_transfer file::write_at(std::uint64_t at, byte_view bytes) const noexcept {
  return file_transfer(state_, {unconst(bytes), at, nullptr, true});
}
file_transfer file::write_at(std::uint64_t at, byte_view bytes, std::size_t& count) const noexcept {
  count = 0;
  return file_transfer(state_, {unconst(bytes), at, &count, true});
}

task<file_status> file::status() const {
  const file held = *this;  // open until it has ended
  co_return co_await detail::status_of(detail::open_state(held));
}

task<std::uint64_t> file::size() const {
  const file_status known = co_await status();
  co_return known.size;
}

task<> file::sync(bool data_only) const {
  const file held = *this;
  co_await detail::sync_native(detail::open_state(held), data_only);
}

task<std::string> file::read_all(std::size_t limit) const {
  const file held = *this;
  const std::uint64_t expected = co_await held.size();
  if (expected > limit) detail::check_outcome(-EFBIG);
  std::string content(static_cast<std::size_t>(expected), '\0');
  std::size_t have = 0;
  for (;;) {
    if (have < content.size()) {
      have += co_await held.read_at(have, byte_span(content.data() + have, content.size() - have));
      if (have < content.size()) break;
    }
    // The file may have grown, or be one of those that say size 0: look for one byte more.
    char next[4096];
    const std::size_t more = co_await held.read_at(have, next);
    if (more == 0) break;
    if (have + more > limit) detail::check_outcome(-EFBIG);
    content.append(next, more);
    have += more;
    content.resize(std::min(limit, have * 2));
  }
  content.resize(have);
  co_return content;
}

task<file> open_file(std::string path, file_options options) {
  const int fd =
      co_await detail::open_native(nullptr, path, detail::native_flags(options), options.mode, 0);
  co_return file(detail::make_file(fd));
}

task<std::string> read_file(std::string path, std::size_t limit) {
  const file in = co_await open_file(std::move(path));
  co_return co_await in.read_all(limit);
}

task<> write_file(std::string path, byte_view content, unsigned mode) {
  const std::string beside = name_beside(path);
  std::exception_ptr error;
  try {
    co_await write_new(beside, content, mode);
    co_await rename_file(beside, path);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    HEDDLE_SOMETIMES("write_file fails and removes its new file");
    // Cleanup goes on when the caller was cancelled; 5 s is long for one unlink.
    static_cast<void>(co_await as_expected(shield(remove_file(beside), std::chrono::seconds(5))));
    std::rethrow_exception(error);
  }
  co_await sync_folder(detail::folder_of(path));
}

task<> remove_file(std::string path) {
  detail::check_name("remove", path);
  one_operation removing(op_code::remove, AT_FDCWD, "remove");
  removing.data = path.data();
  detail::check_path(co_await removing, "remove", path);
}

task<> rename_file(std::string from, std::string to) {
  detail::check_name("rename", from);
  detail::check_name("rename", to);
  one_operation renaming(op_code::rename, AT_FDCWD, "rename");
  renaming.data = from.data();
  renaming.more = to.data();
  detail::check_path(co_await renaming, "rename", from);
}

}  // namespace heddle
