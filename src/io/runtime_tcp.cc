// SPDX-License-Identifier: MIT
// A runtime's source of TCP, and the tasks that carry bytes between its streams and socket pairs.
#include "heddle/io/detail/runtime_tcp.hh"

#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/unix.hh"
#include "heddle/sched/detail/here.hh"

/// Defined by room net, which a program may lack.
extern "C" [[gnu::weak]] void heddle_net_from_environment(heddle::runtime_options& o);

namespace heddle::detail {
namespace {

// How often a connection whose program has ended writing is asked whether it was closed.
constexpr nanoseconds close_check_pause = std::chrono::seconds(1);

/// The worker's note of the runtime's source.
struct tcp_note final : worker_part {
  explicit tcp_note(runtime_tcp& x) noexcept : of(x) {}
  runtime_tcp& of;
};

/// Whether the program has closed its end, and not only ended writing. A stream that has come to
/// the end does not ask the system again.
bool is_closed(const stream& near) noexcept {
  return !near.is_open() || driver_here().unread(near.number()).over;
}

/// Carries bytes from the program to the network. After the program's end of writing, waits until
/// the program has closed its end, because only that ends the reading, too.
task<> carry_out(stream near, stream far) {
  for (;;) {
    auto in = co_await as_expected(near.receive());
    if (!in || in->empty()) break;
    const auto sent = co_await as_expected(far.write(in->data()));
    if (sent) continue;
    near.close();
    far.close();
    co_return;
  }
  if (!is_closed(near)) {
    try {
      far.shutdown_write();
    } catch (const std::system_error&) {
      near.close();
    }
    while (!is_closed(near)) co_await sleep_for(close_check_pause);
  }
  far.close();
  near.close();
}

/// Carries bytes from the network to the program.
task<> carry_in(stream near, stream far) {
  for (;;) {
    auto in = co_await as_expected(far.receive());
    if (!in) {
      near.close();
      co_return;
    }
    if (in->empty()) break;
    const auto given = co_await as_expected(near.write(in->data()));
    if (given) continue;
    if (far.is_open()) far.reset_on_close();  // the program has closed its end without reading all
    far.close();
    co_return;
  }
  if (!near.is_open()) co_return;
  try {
    near.shutdown_write();
  } catch (const std::system_error&) {
    near.close();
  }
}

/// Connects in the source's color, of which the caller knows only the place.
task<owned_number> connect_at_home(tcp_source& source, std::uint32_t home, address to) {
  co_await enter(color(home));
  stream made = co_await source.connect(to);
  co_return bridge(std::move(made));
}

}  // namespace

void read_network(runtime_options& o) {
  const char* const text = std::getenv("HEDDLE_NET");
  if (text == nullptr || *text == 0 || std::string_view(text) == "kernel") return;
  if (heddle_net_from_environment == nullptr)
    throw failure(std::make_error_code(std::errc::not_supported),
                  "HEDDLE_NET=" + std::string(text) +
                      ": this program is built without heddle::net; link that library, or unset "
                      "HEDDLE_NET");
  heddle_net_from_environment(o);
}

owned_number::~owned_number() {
  if (number_ >= 0) driver_here().close(number_, worker::here());
}

owned_number bridge(stream s) {
  int ends[2];
  if (const int error = driver_here().socket_pair(ends); error < 0)
    throw failure(kernel_error(error), "cannot make a pair of sockets");
  owned_number given(ends[1]);
  owned_number kept(ends[0]);
  const unix_stream near(kept.get());
  static_cast<void>(kept.release());
  runtime::here().spawn(carry_in(near, s));
  runtime::here().spawn(carry_out(near, std::move(s)));
  return given;
}

runtime_tcp::runtime_tcp() : home_(worker::here().color) {
  runtime& rt = runtime::here();
  if (!rt.options().tcp) return;
  source_ = rt.options().tcp();
  if (source_) rt.main_worker().tcp = std::make_unique<tcp_note>(*this);
}

runtime_tcp::~runtime_tcp() {
  if (source_) runtime::here().main_worker().tcp.reset();
}

runtime_tcp* runtime_tcp::here() noexcept {
  const std::unique_ptr<worker_part>& note = runtime::here().main_worker().tcp;
  return note == nullptr ? nullptr : &static_cast<tcp_note&>(*note).of;
}

bool runtime_tcp::is_home() const noexcept { return worker::running().color == home_; }

task<owned_number> runtime_tcp::connect(address to) const {
  return connect_at_home(*source_, home_, to);
}

task<owned_number> runtime_tcp::accept(const heddle::listener& door, std::uint32_t home) {
  co_await enter(color(home));
  const heddle::listener kept = door;
  stream made = co_await kept.accept();
  co_return bridge(std::move(made));
}

task<> runtime_tcp::settled() const {
  if (!source_) co_return;
  static_cast<void>(co_await as_expected(with_timeout(source_->settled(), settle_patience)));
}

}  // namespace heddle::detail
