// SPDX-License-Identifier: MIT
// A layer over another stream that splits the bytes differently than they were sent, delays some of
// them, and takes some that leave only in flush(). A stream may do that, but a socket in a test
// seldom does. One seed gives one run.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/layer.hh"
#include "heddle/io/stream_source.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::test {

class resplit : public stream_layer {
 public:
  resplit(stream over, std::uint32_t seed) : inner_(std::move(over)), random_(seed) {}

  task<received> pull() override {
    if (arrived_.empty()) arrived_ = co_await inner_.receive();
    co_await dawdle();
    if (arrived_.empty()) co_return received();
    const std::size_t size = some_of(arrived_.size());
    received part = received::copy_of(arrived_.data().first(size));
    if (size == arrived_.size()) {
      arrived_.release();
    } else {
      arrived_.remove_prefix(size);
    }
    co_return part;
  }
  task<> push(chain out) override {
    for (bool all_left = false; !all_left;) all_left = co_await flush();
    while (!out.empty()) {
      co_await dawdle();
      const byte_view first = out.piece_at(0).bytes();
      const std::size_t sent = co_await inner_.write(first.first(some_of(first.size())));
      out.remove_prefix(sent);
    }
  }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    const auto how = random_() % 4;
    if (how < 2) return {};
    const byte_view all = head.empty() ? body.bytes() : head;
    const byte_view first = all.first(random_() % 2 == 0 ? all.size() : some_of(all.size()));
    if (how == 2) return inner_.try_write(first);
    held_ = first.text();
    return {.bytes = first.size(), .flush_due = true};
  }
  task<bool> flush() override {
    co_await dawdle();
    std::size_t sent = 0;
    const byte_view part = byte_view(held_).first(held_.empty() ? 0 : some_of(held_.size()));
    const auto done = co_await as_expected(inner_.write_some(part, sent));
    held_.erase(0, sent);
    if (!done) throw failure(done.error());
    co_return held_.empty() && !inner_.flush_due();
  }
  void end_pushing() noexcept override { end(&end_below); }
  [[nodiscard]] address peer() const noexcept override { return inner_.peer(); }
  void end_with_last_write() noexcept override { inner_.end_with_last_write(); }
  void reset_on_close() noexcept override {
    held_.clear();
    inner_.reset_on_close();
  }
  void close() noexcept override {
    end([](stream& below) noexcept { below.close(); });
  }

 private:
  /// A random number of bytes, few or many, at most `all`.
  [[nodiscard]] std::size_t some_of(std::size_t all) {
    const std::size_t most = random_() % 2 == 0 ? 7 : 20'000;
    return 1 + random_() % std::min(all, most);
  }
  [[nodiscard]] task<> dawdle() {
    const auto how = random_() % 16;
    if (how == 0) {
      co_await sleep_for(std::chrono::microseconds(200));
    } else if (how < 4) {
      co_await yield();
    }
  }

  static void end_below(stream& below) noexcept {
    try {
      below.shutdown_write();
    } catch (const std::system_error&) {
      // The connection is closed; its reader will notice.
    }
  }
  using ending = void (*)(stream& below) noexcept;
  /// Ends the stream below, behind the bytes that are held.
  void end(ending how) noexcept {
    if (held_.empty()) return how(inner_);
    auto later = [](stream below, std::string held, ending then) -> task<> {
      static_cast<void>(co_await as_expected(below.write(std::move(held))));
      then(below);
    };
    runtime::here().spawn(later(inner_, std::exchange(held_, {}), how));
  }

  stream inner_;
  received arrived_;
  std::string held_;  // taken, and not sent
  std::minstd_rand random_;
};

/// Accepts a listener's connections and wraps each in such a layer.
class resplit_source : public stream_source {
 public:
  explicit resplit_source(listener door) : door_(std::move(door)) {}
  task<stream> next() override {
    co_return make_stream(std::make_unique<resplit>(co_await door_.accept(), ++seed_));
  }
  void close() noexcept override { door_.close(); }

 private:
  listener door_;
  std::uint32_t seed_ = 0;
};

}  // namespace heddle::test
