// SPDX-License-Identifier: MIT
// A driver with a worker but without a runtime and tasks, so that tests see each completion. A
// `request` is one operation with all its completions. A test that waits for a completion that
// never comes fails after a bounded time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/slab.hh"
#include "heddle/sched/driver.hh"

namespace heddle::test {

class silent_scheduler final : public scheduler {
 public:
  void arm(worker&, timer_node&, time_point) noexcept override {}
  time_point read_clock() noexcept override { return {}; }
  void report(const diagnostic&) noexcept override {}
  scope& root() noexcept override { std::abort(); }
};

inline constexpr wait_kind request_kind{"request", [](wait&, worker&) noexcept {}};

struct request : operation {
  request(op_code what, int descriptor) : operation(request_kind, what, descriptor, &arrived) {}
  request(op_code what, int descriptor, void* at, std::size_t size) : request(what, descriptor) {
    data = at;
    len = static_cast<std::uint32_t>(size);
  }
  request(const request&) = delete;

  std::vector<completion> got;
  bool done = false;         ///< its last completion is in `got`
  bool from_submit = false;  ///< submit() completed it itself
  bool keep_going = true;    ///< returned from each multishot completion
  std::size_t order = 0;     ///< of its last completion, among all requests of the harness
  std::function<void(request&)> then = {};  ///< runs inside each completion
  std::size_t* counter = nullptr;

  [[nodiscard]] std::int64_t result() const {
    return got.empty() ? -EINPROGRESS : got.back().result;
  }

  static bool arrived(operation& op, worker&, const completion& c) noexcept {
    auto& self = static_cast<request&>(op);
    self.got.push_back(c);
    self.done = !c.more;
    if (self.counter != nullptr) self.order = ++*self.counter;
    const bool go_on = self.keep_going;
    if (self.then) self.then(self);
    return go_on;
  }
};

/// An IPv4 loopback address that lives as long as the operation that points to it.
struct loopback {
  loopback() {
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  [[nodiscard]] ::sockaddr* get() { return reinterpret_cast<::sockaddr*>(&in); }
  ::sockaddr_in in{};
  unsigned len = sizeof(::sockaddr_in);
};

class driver_harness {
 public:
  explicit driver_harness(std::unique_ptr<driver> under_test) : io(std::move(under_test)) {}
  ~driver_harness() {
    for (const int fd : open_) io->close(fd, w);
    turn();
  }

  void submit(request& r) {
    r.counter = &completions_;
    completion now;
    r.done = false;
    if (!io->submit(r, w, now)) return;
    r.from_submit = true;
    request::arrived(r, w, now);
  }
  /// One turn that does not sleep.
  void turn() { io->turn(w, time_point::min()); }
  /// Runs turns until `ready()`, at most for `span` of the driver's time. Each sleep is short,
  /// because no frame is queued here that would end it.
  template <class Ready>
  bool turn_until(Ready&& ready, nanoseconds span = std::chrono::seconds(5)) {
    const time_point end = io->now() + span;
    while (!ready()) {
      const time_point now = io->now();
      if (now >= end) return false;
      io->turn(w, now + std::chrono::milliseconds(1));
    }
    return true;
  }
  /// Runs turns for a while, so that pending events can happen.
  void settle() {
    turn_until([] { return false; }, std::chrono::milliseconds(5));
  }
  std::int64_t finish(request& r) {
    turn_until([&] { return r.done; });
    return r.result();
  }
  /// Cancels an operation that is still pending, because it must not outlive its record.
  std::int64_t stop(request& r) {
    if (!r.done) io->cancel(r, w);
    turn_until([&] { return r.done; });
    return r.result();
  }
  /// Submits the request and runs turns until it is done.
  std::int64_t run(request& r) {
    submit(r);
    finish(r);
    return stop(r);
  }

  std::int64_t send(int fd, std::string_view text, op_code code = op_code::send) {
    request r(code, fd, const_cast<char*>(text.data()), text.size());
    return run(r);
  }
  /// The bytes of one receive.
  std::string receive(int fd, std::size_t len = 4096, op_code code = op_code::receive) {
    std::string bytes(len, '\0');
    request r(code, fd, bytes.data(), len);
    const std::int64_t got = run(r);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

  void pair(int (&ends)[2]) {
    if (io->socket_pair(ends) >= 0) open_.insert(open_.end(), {ends[0], ends[1]});
  }
  void pipe(int (&ends)[2]) {
    if (io->pipe(ends) >= 0) open_.insert(open_.end(), {ends[0], ends[1]});
  }
  int socket(int type = SOCK_STREAM) { return keep(io->socket(AF_INET, type, 0)); }
  /// A listening socket on a free loopback port; stores its address in `at`.
  int listener(loopback& at, int backlog = 16) {
    const int fd = socket();
    if (io->bind(fd, at.get(), at.len) < 0 || io->listen(fd, backlog) < 0 ||
        io->local_name(fd, at.get(), &at.len) < 0)
      return -1;
    return fd;
  }
  std::int64_t connect(int fd, loopback& to) {
    request r(op_code::connect, fd, to.get(), to.len);
    return run(r);
  }
  /// Two connected TCP sockets.
  void tcp_pair(int (&ends)[2]) {
    loopback at;
    const int door = listener(at);
    ends[0] = socket();
    connect(ends[0], at);
    request r(op_code::accept, door);
    ends[1] = keep(static_cast<int>(run(r)));
    close(door);
  }
  void close(int fd) {
    std::erase(open_, fd);
    io->close(fd, w);
  }
  int keep(int fd) {
    if (fd >= 0) open_.push_back(fd);
    return fd;
  }

  region memory{std::size_t{1} << 26};
  silent_scheduler scheduler_;
  worker w{memory, scheduler_};
  std::unique_ptr<driver> io;

 private:
  std::size_t completions_ = 0;
  std::vector<int> open_;
};

}  // namespace heddle::test
