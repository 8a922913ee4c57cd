// SPDX-License-Identifier: MIT
// A simulated world with a worker and nothing else, so that tests of the driver see each
// completion: no runtime, no task. An `asked` is one operation and everything that came of it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/slab.hh"
#include "heddle/sim/driver.hh"

namespace heddle::test {

class no_scheduler final : public scheduler {
 public:
  void arm(worker&, timer_node&, time_point) noexcept override {}
  time_point read_clock() noexcept override { return {}; }
  void report(const diagnostic&) noexcept override {}
  scope& root() noexcept override { std::abort(); }
};

inline constexpr wait_kind asked_kind{"asked", [](wait&, worker&) noexcept {}};

struct asked : operation {
  asked(op_code what, int descriptor) : operation(asked_kind, what, descriptor, &arrived) {}
  asked(const asked&) = delete;

  std::vector<completion> got;
  bool done = false;         ///< its last completion is in `got`
  bool from_submit = false;  ///< it was answered by submit() itself
  bool keep_going = true;    ///< what a multishot completion answers
  std::size_t order = 0;     ///< among all completions of the harness
  std::size_t* counter = nullptr;

  [[nodiscard]] std::int64_t result() const {
    return got.empty() ? -EINPROGRESS : got.back().result;
  }

  static bool arrived(operation& op, worker&, const completion& c) noexcept {
    auto& self = static_cast<asked&>(op);
    self.got.push_back(c);
    self.done = !c.more;
    if (self.counter != nullptr) self.order = ++*self.counter;
    return self.keep_going;
  }
};

/// An IPv4 address that lives as long as the operation that points to it.
struct endpoint {
  explicit endpoint(unsigned port, const char* host = "127.0.0.1") {
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, host, &in.sin_addr);
  }
  [[nodiscard]] const ::sockaddr* get() const { return reinterpret_cast<const ::sockaddr*>(&in); }
  ::sockaddr_in in{};
  static constexpr unsigned len = sizeof(::sockaddr_in);
};

struct unix_endpoint {
  explicit unix_endpoint(std::string_view path) {
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, path.data(), path.size());
  }
  [[nodiscard]] const ::sockaddr* get() const { return reinterpret_cast<const ::sockaddr*>(&un); }
  ::sockaddr_un un{};
  static constexpr unsigned len = sizeof(::sockaddr_un);
};

class sim_harness {
 public:
  explicit sim_harness(sim_options options = {}) : sim(std::move(options)) {}

  void submit(asked& a) {
    a.counter = &delivered_;
    completion now;
    if (!sim.submit(a, w, now)) return;
    a.from_submit = true;
    asked::arrived(a, w, now);
  }
  /// Turns until this has ended; the result, or -EINPROGRESS when nothing happens any more.
  std::int64_t finish(asked& a) {
    while (!a.done) {
      sim.turn(w, never);
      if (sim.stalled()) break;
    }
    return a.result();
  }
  /// Turns until nothing can happen by itself.
  void settle() {
    do sim.turn(w, never);
    while (!sim.stalled());
  }

  std::int64_t read(int fd, void* to, std::size_t len, op_code code = op_code::receive,
                    std::uint64_t offset = at_cursor) {
    asked a(code, fd);
    a.data = to;
    a.len = static_cast<std::uint32_t>(len);
    a.offset = offset;
    submit(a);
    const std::int64_t result = finish(a);
    stop(a);
    return result;
  }
  /// Everything until the end, or until nothing more comes.
  std::string read_all(int fd, op_code code = op_code::receive) {
    std::string all;
    char bytes[512];
    for (;;) {
      const std::int64_t n = read(fd, bytes, sizeof bytes, code);
      if (n == -EINTR) continue;
      if (n <= 0) return all;
      all.append(bytes, static_cast<std::size_t>(n));
    }
  }
  std::int64_t write(int fd, std::string_view text, op_code code = op_code::send,
                     std::uint64_t offset = at_cursor) {
    asked a(code, fd);
    a.data = const_cast<char*>(text.data());
    a.len = static_cast<std::uint32_t>(text.size());
    a.offset = offset;
    submit(a);
    const std::int64_t result = finish(a);
    stop(a);
    return result;
  }
  int listener(const endpoint& at, int backlog = 16) {
    const int fd = sim.socket(AF_INET, SOCK_STREAM, 0);
    if (sim.bind(fd, at.get(), at.len) != 0 || sim.listen(fd, backlog) != 0) return -1;
    return fd;
  }
  std::int64_t connect(int fd, const endpoint& to) {
    asked a(op_code::connect, fd);
    a.data = const_cast<::sockaddr*>(to.get());
    a.len = to.len;
    submit(a);
    const std::int64_t result = finish(a);
    stop(a);
    return result;
  }
  int accept(int fd) {
    asked a(op_code::accept, fd);
    submit(a);
    const auto result = static_cast<int>(finish(a));
    stop(a);
    return result;
  }
  /// Two connected TCP sockets; the listener is closed again.
  void connected(int& client, int& server, unsigned port = 80) {
    const endpoint at(port);
    const int l = listener(at);
    client = sim.socket(AF_INET, SOCK_STREAM, 0);
    connect(client, at);
    server = accept(l);
    close(l);
  }
  void close(int fd) { sim.close(fd, w); }
  /// Ends an operation that is still out; it must not outlive its record.
  void stop(asked& a) {
    if (!a.done) sim.cancel(a, w);
    while (!a.done) sim.turn(w, never);
  }

  region memory{std::size_t{1} << 26};
  no_scheduler scheduler_;
  worker w{memory, scheduler_};
  sim_driver sim;

 private:
  std::size_t delivered_ = 0;
};

}  // namespace heddle::test
