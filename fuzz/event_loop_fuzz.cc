// SPDX-License-Identifier: MIT
// A small echo service, clients and all, on a simulated world whose every choice is a byte of the
// input: order, faults, sizes, time-outs, cancels. Whatever they are: each operation completes
// exactly once, no byte is changed, the program ends, and nothing is left (operations, descriptors,
// blocks, memory).
//
// Input: 8 bytes that say what kind of world it is, then the choices of that world.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "fuzz/require.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/task.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

using heddle::fuzz::require;

driver& world() { return runtime::here().io(); }

/// One operation, awaited; gives its result, -ECANCELED included.
class request : public operation {
 public:
  request(op_code what, int descriptor, void* bytes = nullptr, std::size_t size = 0)
      : operation(kind_of_wait, what, descriptor, &arrived) {
    data = bytes;
    len = static_cast<std::uint32_t>(size);
  }
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  ~request() { require(!is_pending(), "an operation died before its last completion"); }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    worker& w = worker::here();
    if (w.current_context().canceled()) {
      outcome_ = -ECANCELED;
      return false;
    }
    completion now;
    if (world().submit(*this, w, now)) {
      outcome_ = now.result;
      return false;
    }
    park(*this, link_of(h), w);
    return true;
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return outcome_; }
  [[nodiscard]] result<std::int64_t> await_result() const noexcept { return outcome_; }

 private:
  static bool arrived(operation& op, worker& w, const completion& c) noexcept {
    auto& self = static_cast<request&>(op);
    require(++self.completions_ == 1, "an operation completed twice");
    require(!c.more && !c.has_block, "a single operation promised more");
    self.outcome_ = c.result;
    wake(self, w);
    return true;
  }
  static constexpr wait_kind kind_of_wait{"request", [](wait& x, worker& w) noexcept {
                                            world().cancel(static_cast<operation&>(x), w);
                                          }};

  std::int64_t outcome_ = 0;
  int completions_ = 0;
};

/// Everything that a connection receives, by receive_all. Lives until its last completion.
class inflow : public operation {
 public:
  explicit inflow(int fd) : operation(kind_of_wait, op_code::receive_all, fd, &arrived) {
    completion never_used;
    const bool at_once = world().submit(*this, worker::here(), never_used);
    require(!at_once, "a multishot operation ended in submit()");
  }
  void release() {
    released_ = true;
    if (ended_)
      delete this;
    else
      world().cancel(*this, worker::here());
  }
  /// Takes what came; empty when it has ended, or when the wait was cancelled.
  [[nodiscard]] std::string take() { return std::exchange(bytes_, {}); }

  [[nodiscard]] bool await_ready() const noexcept { return ended_ || !bytes_.empty(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    worker& w = worker::here();
    if (w.current_context().canceled()) return false;
    park(*this, link_of(h), w);
    return true;
  }
  void await_resume() const noexcept {}

 private:
  ~inflow() = default;
  static bool arrived(operation& op, worker& w, const completion& c) noexcept {
    auto& self = static_cast<inflow&>(op);
    require(!self.ended_, "a completion after the last one");
    if (c.has_block) {
      driver& io = world();
      self.bytes_.append(reinterpret_cast<const char*>(io.block_at(c.block)),
                         static_cast<std::size_t>(c.result));
      io.return_block(c.block);
    }
    self.ended_ = !c.more;
    if (self.parked()) wake(self, w);
    const bool go_on = self.bytes_.size() < 64 * 1024;
    if (self.ended_ && self.released_) delete &self;
    return go_on;
  }
  static constexpr wait_kind kind_of_wait{"inflow",
                                          [](wait& x, worker& w) noexcept { wake(x, w); }};

  std::string bytes_;
  bool ended_ = false, released_ = false;
};

struct plan {
  unsigned clients, bytes, time_out_ms;
  bool by_blocks, cancels;
};

task<bool> send_all(int fd, std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    request r(op_code::send, fd, text.data() + at, text.size() - at);
    const std::int64_t n = co_await r;
    if (n == -EINTR) continue;
    if (n <= 0) co_return false;
    require(static_cast<std::size_t>(n) <= text.size() - at, "more was sent than asked");
    at += static_cast<std::size_t>(n);
  }
  co_return true;
}

task<> serve_one(int fd, plan p) {
  if (p.by_blocks) {
    inflow* in = new inflow(fd);
    for (;;) {
      co_await *in;
      std::string text = in->take();
      if (text.empty() || !co_await send_all(fd, std::move(text))) break;
    }
    in->release();
  } else {
    char bytes[64];
    for (;;) {
      request r(op_code::receive, fd, bytes, sizeof bytes);
      const std::int64_t n = co_await r;
      if (n == -EINTR) continue;
      if (n <= 0 || !co_await send_all(fd, std::string(bytes, static_cast<std::size_t>(n)))) break;
    }
  }
  world().close(fd, worker::here());
}

task<> serve(int listener, plan p, scope& connections) {
  for (;;) {
    request r(op_code::accept, listener);
    const std::int64_t fd = co_await r;
    if (fd == -ECANCELED) break;
    // A real server would wait before it tries again; here each try takes virtual time already.
    if (fd >= 0) connections.spawn(serve_one(static_cast<int>(fd), p));
  }
}

task<> converse(int fd, ::sockaddr_in to, std::string text) {
  request r(op_code::connect, fd, &to, sizeof to);
  if (co_await r != 0) co_return;
  if (!co_await send_all(fd, text)) co_return;
  if (world().shutdown(fd, SHUT_WR) != 0) co_return;
  std::string back;
  char bytes[100];
  for (;;) {
    request in(op_code::receive, fd, bytes, sizeof bytes);
    const std::int64_t n = co_await in;
    if (n == -EINTR) continue;
    if (n <= 0) break;
    back.append(bytes, static_cast<std::size_t>(n));
    require(text.starts_with(back), "the echo differs from what was sent");
  }
}

task<> client(::sockaddr_in to, std::string text, nanoseconds limit) {
  driver& io = world();
  const int fd = io.socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) co_return;
  result<void> ended = co_await as_expected(with_timeout(converse(fd, to, std::move(text)), limit));
  require(ended || ended.error() == timed_out_error() || ended.error() == canceled_error(),
          "an error that nobody made");
  io.close(fd, worker::here());
}

task<> clients(scope& s, plan p, ::sockaddr_in to) {
  for (unsigned i = 0; i < p.clients; ++i) {
    std::string text(p.bytes * (i + 1), '\0');
    for (std::size_t at = 0; at < text.size(); ++at) text[at] = static_cast<char>(at * 7 + i);
    s.spawn(client(to, std::move(text), std::chrono::milliseconds(p.time_out_ms * (i + 1))));
  }
  // A time-out of all of them together comes in the middle of things.
  if (p.cancels) {
    co_await sleep_for(std::chrono::milliseconds(p.time_out_ms));
    s.cancel();
  }
}

task<> everybody(scope& all, int listener, plan p, ::sockaddr_in at) {
  all.spawn(serve(listener, p, all));
  co_await with_scope(clients, p, at);
  all.cancel();
}

task<> program(plan p) {
  driver& io = world();
  ::sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(7);
  const int listener = io.socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) co_return;
  require(io.bind(listener, reinterpret_cast<::sockaddr*>(&at), sizeof at) == 0, "no bind");
  require(io.listen(listener, 2) == 0, "no listen");
  co_await with_scope(everybody, listener, p, at);
  io.close(listener, worker::here());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t len) {
  if (len < 8) return 0;
  const plan p{1u + bytes[0] % 5, bytes[1] * 4u, 1u + bytes[2], (bytes[3] & 1) != 0,
               (bytes[3] & 2) != 0};
  const auto rate = [](std::uint8_t b) { return b / 1024.0; };  // at most a quarter: things go on
  sim_options options;
  options.choices.assign(bytes + 8, bytes + len);
  options.link = {.latency = nanoseconds(bytes[4] * 1000), .jitter = nanoseconds(bytes[4] * 500)};
  options.faults = {.short_transfer = rate(bytes[5]),
                    .interrupted = rate(bytes[6]),
                    .reset = rate(bytes[7]) / 4,
                    .no_memory = rate(bytes[7]) / 8,
                    .no_descriptors = rate(bytes[6]) / 4,
                    .delayed = rate(bytes[5])};
  options.fault_delay_max = 5ms;
  options.socket_buffer_bytes = 512;
  options.limits.block_bytes = 48;
  options.limits.block_count = 8;
  options.trace_lines_max = 0;
  auto made = std::make_unique<sim_driver>(std::move(options));
  sim_driver& sim = *made;
  runtime_options settings;
  settings.memory_bytes = std::size_t{1} << 28;
  settings.report = [](const diagnostic& d) { require(false, to_string(d).c_str()); };
  runtime rt(std::move(made), std::move(settings));
  rt.run(program(p));
  rt.drain();
  while (sim.pending() != 0 && !sim.stalled()) sim.turn(rt.main_worker(), never);
  require(sim.pending() == 0, "an operation never completed");
  require(sim.open_descriptors() == 0, "a descriptor was left open");
  require(sim.blocks_out() == 0, "a block was not returned");
  return 0;
}
