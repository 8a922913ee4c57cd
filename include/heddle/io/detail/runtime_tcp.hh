// SPDX-License-Identifier: MIT
// The TCP of a runtime for programs whose connections are descriptors of the system: compiled Draft
// programs, which move them between colors, and <tamer/...>, which gives out their numbers. Without
// a source (runtime_options::tcp) they use sockets. With one, each connection is one end of a
// socket pair, and a task in the source's color carries the bytes between the other end and the
// source's stream.
#pragma once

#include <memory>
#include <utility>

#include "heddle/base/clock.hh"
#include "heddle/core/enter.hh"
#include "heddle/io/tcp_source.hh"
#include "heddle/sched/runtime_options.hh"

namespace heddle::detail {

/// How long a program's end waits for peers to acknowledge its last bytes.
inline constexpr nanoseconds settle_patience = std::chrono::seconds(2);

/// Sets runtime_options::tcp by the environment variable HEDDLE_NET. Fails: failure, if the
/// variable is wrong, or if it asks for TCP in the program and the program lacks heddle::net.
void read_network(runtime_options& o);

/// A descriptor that nothing has taken over yet.
class owned_number {
 public:
  owned_number() noexcept = default;
  explicit owned_number(int n) noexcept : number_(n) {}
  owned_number(owned_number&& other) noexcept : number_(other.release()) {}
  owned_number& operator=(owned_number other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~owned_number();
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// One end of a socket pair, from which bytes pass to the stream and back until both sides have
/// ended. A peer's reset looks like the end of the stream.
/// Thread: the stream's color. Fails: failure, when descriptors run out.
[[nodiscard]] owned_number bridge(stream s);

/// The source of a runtime, with the color that it lives in. One of a runtime's colors holds it.
///
/// Thread: open, settled and the destructor: color `home`; connect and accept: any color.
/// Cancel: a connection that was made and not taken is closed.
class runtime_tcp {
 public:
  /// Makes the source in this color; without runtime_options::tcp there is none. Fails: as the
  /// function there.
  runtime_tcp();
  runtime_tcp(const runtime_tcp&) = delete;
  runtime_tcp& operator=(const runtime_tcp&) = delete;
  ~runtime_tcp();

  /// The one of this runtime if it has a source, else null. Thread: any worker's.
  [[nodiscard]] static runtime_tcp* here() noexcept;
  /// Whether this is the source's color.
  [[nodiscard]] bool is_home() const noexcept;
  [[nodiscard]] std::uint32_t home() const noexcept { return home_; }
  [[nodiscard]] opened_door listen(const address& on, const listen_options& options = {}) const {
    return source_->listen(on, options);
  }
  [[nodiscard]] task<owned_number> connect(address to) const;
  /// `door` must live until the task has come to color `home`, and is not touched elsewhere.
  [[nodiscard]] static task<owned_number> accept(const heddle::listener& door, std::uint32_t home);
  /// Waits for last bytes, at most settle_patience.
  [[nodiscard]] task<> settled() const;

 private:
  std::unique_ptr<tcp_source> source_;
  std::uint32_t home_ = 0;
};

}  // namespace heddle::detail
