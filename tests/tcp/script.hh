// SPDX-License-Identifier: MIT
// Plays a script of segments, calls and results against one stack in virtual time. The format is
// in docs/reference/tcp.md. Numbers of sequence are counted from each side's first.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/tcp/stack.hh"

namespace heddle::tcp::test {

class script_player final : public network, public user, public piece_home {
 public:
  /// Plays all of it; the answer is empty, or says what was wrong in which line.
  std::string play(std::string_view text);

 private:
  struct sent_segment {
    instant at = 0;
    segment s;
    std::size_t length = 0;
  };
  struct words {
    std::vector<std::string> all;
    std::size_t at = 0;
    [[nodiscard]] bool more() const { return at < all.size(); }
    std::string next() {
      if (!more()) throw std::string("the line ends too early");
      return all[at++];
    }
    long long number() {
      const std::string w = next();
      std::size_t end = 0;
      long long n = 0;
      try {
        n = std::stoll(w, &end);
      } catch (const std::exception&) {
        end = 0;
      }
      if (end != w.size()) throw "no number: " + w;
      return n;
    }
  };

  void line(const std::string& text);
  void set(words& w);
  void start();
  void go_to(instant then);
  void run_to(instant then);
  void inject(words& w);
  void inject_segment(const segment& s, std::size_t length, bool bad_sum);
  void inject_icmp(words& w);
  void expect(words& w);
  void expect_nothing() const;
  void expect_event(words& w);
  void handshake(words& w, bool passive);
  void check(words& w);
  void call(const std::string& what, words& w);
  static std::uint8_t flags_of(const std::string& text);
  static std::string show(const sent_segment& s, sequence ours, sequence theirs);
  [[nodiscard]] std::uint32_t peer_clock() const;

  // network, user, piece_home
  void transmit(const outgoing& p) noexcept override;
  void accepted(connection c, std::uint16_t) noexcept override {
    current_ = c;
    events_.push_back("accepted");
  }
  void connected(connection) noexcept override { events_.push_back("connected"); }
  void received(connection, std::span<const std::byte> bytes, packet& from) noexcept override;
  void acknowledged(connection, std::uint32_t n) noexcept override {
    events_.push_back("acked " + std::to_string(n));
  }
  void finished(connection) noexcept override { events_.push_back("finished"); }
  void ended(connection, std::uint64_t, ending how) noexcept override {
    events_.push_back("ended " + std::string(name_of(how)));
  }
  void released(std::uint64_t) noexcept override { ++released_; }

  stack_options options_;
  bool v6_ = false;
  std::unique_ptr<stack> stack_;
  endpoint own_, peer_;
  connection current_;
  instant time_ = 10'000'000;  // the script's
  instant now_ = 10'000'000;   // the stack's: the script's, or a little later
  std::deque<sent_segment> out_;
  std::deque<std::string> events_;
  std::vector<std::vector<std::byte>> written_;
  std::uint64_t written_bytes_ = 0, received_bytes_ = 0, released_ = 0;
  bool wrong_byte_ = false;
  bool auto_consume_ = true;

  std::optional<sequence> ours_;         // our first sequence number
  std::optional<sequence> ours_before_;  // that of the connection before it
  sequence theirs_ = 4'294'967'000;      // the peer's, so that its numbers wrap
  std::optional<std::uint32_t> clock_;   // our first timestamp
  std::uint32_t last_ts_ = 0;            // our latest
  bool timestamps_ = false;              // the peer adds them by itself
  std::uint8_t scale_ = 0;               // the peer's window scale
  std::uint32_t peer_window_ = 65535;
};

}  // namespace heddle::tcp::test
