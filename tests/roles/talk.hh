// SPDX-License-Identifier: MIT
// A talk over WebSocket: several tasks of both ends send at once, one receives, either end closes.
// The messages of each sender must arrive whole, in order and without a gap; behind an orderly
// close nothing that was sent before it may be missing.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/client/client.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/sync/latch.hh"
#include "heddle/web/websocket.hh"
#include "roles/our_server.hh"

namespace heddle::test::roles {

struct message_plan {
  std::size_t size = 0;
  bool text = false;
  nanoseconds pause{};
  nanoseconds limit{};  // of the sender's patience; 0: long
};

/// One end of a talk.
struct side_plan {
  std::vector<std::vector<message_plan>> senders;
  bool closes = false;  // when its senders have ended, or before
  nanoseconds close_after = std::chrono::hours(1);
  std::uint16_t code = 1000;
  nanoseconds reads_slowly{};
  http::websocket_options options;
};

struct talk_plan {
  std::uint64_t id = 0;
  side_plan sides[2];    // the client's, the server's
  bool by_hand = false;  // a client that writes frames itself: fragments, with pings in between
  bool handed = false;   // by hand_to_websocket()
  /// Whether a plan of this talk may end it by force: a limit, or a send that is given up.
  bool harmed = false;
  std::size_t fragment = 1;
};

/// The kinds of step of a talk.
struct talk_kinds {
  explicit talk_kinds(draws& d)
      : deflates(d.one_of(2)),
        early_closes(d.one_of(2)),
        both_close(d.one_of(2)),
        given_up(d.one_of(2)),
        limits(d.one_of(2)),
        pings(d.one_of(2)),
        slow(d.one_of(2)),
        by_hand(d.one_of(2)) {}
  bool deflates, early_closes, both_close, given_up, limits, pings, slow, by_hand;
};

inline side_plan draw_side(draws& d, const talk_kinds& on, bool brief, nanoseconds pause_max) {
  side_plan s;
  s.senders.resize(d.below(4));
  for (auto& messages : s.senders) {
    messages.resize(1 + d.below(6));
    for (message_plan& m : messages) {
      m.size = d.size(60'000);
      m.text = d.one_of(3);
      if (d.one_of(3)) m.pause = d.pause(pause_max);
      if (on.given_up && d.one_of(8)) m.limit = d.pause(pause_max) + nanoseconds(1);
    }
  }
  s.code = static_cast<std::uint16_t>(d.one_of(2) ? 1000 : 3000 + d.below(2000));
  if (on.early_closes && d.one_of(2)) s.close_after = d.pause(pause_max);
  if (on.slow && d.one_of(2)) s.reads_slowly = d.pause(pause_max) / 8;
  http::websocket_options& o = s.options;
  o.deflate = on.deflates && !d.one_of(4);
  o.deflate_from = static_cast<std::uint32_t>(d.below(1000));
  const auto limit = [&] {
    return brief ? std::chrono::milliseconds(100) + d.pause(pause_max)
                 : nanoseconds(std::chrono::minutes(20));
  };
  o.write_timeout = limit();
  o.close_timeout = limit();
  o.pong_timeout = limit();
  o.ping_after = on.pings ? std::chrono::milliseconds(50) + d.pause(pause_max)
                          : nanoseconds(std::chrono::minutes(20));
  if (on.limits && d.one_of(3)) o.message_bytes_max = 1 + d.below(70'000);
  return s;
}

inline talk_plan draw_talk(draws& d, const talk_kinds& on, std::uint64_t id, bool brief,
                           nanoseconds pause_max) {
  talk_plan t;
  t.id = id;
  for (side_plan& s : t.sides) s = draw_side(d, on, brief, pause_max);
  t.sides[d.below(2)].closes = true;
  if (on.both_close && d.one_of(2)) t.sides[0].closes = t.sides[1].closes = true;
  t.by_hand = on.by_hand && d.one_of(2);
  t.handed = d.one_of(2);
  t.fragment = 1 + d.size(5'000);
  for (const side_plan& s : t.sides) {
    if (s.options.message_bytes_max < 70'000) t.harmed = true;
    for (const auto& messages : s.senders)
      for (const message_plan& m : messages) {
        if (m.limit != nanoseconds::zero()) t.harmed = true;
        // More fragments than an end takes, which is another test's matter.
        if (t.by_hand && m.size / t.fragment > 500) t.fragment = 1 + m.size / 500;
      }
  }
  return t;
}

/// A talk in some lines, for the report of a failure.
inline std::string text_of(const talk_plan& p) {
  std::string all = std::string(p.by_hand ? "by hand" : "ours") +
                    (p.handed ? ", handed over" : "") + (p.harmed ? ", harmed" : "") +
                    ", fragments of " + std::to_string(p.fragment);
  for (const side_plan& s : p.sides) {
    const http::websocket_options& o = s.options;
    all += std::string("\n      ") + (s.closes ? "closes " : "stays ") + std::to_string(s.code) +
           " after " + std::to_string(s.close_after.count() / 1'000'000) + "ms, reads each " +
           std::to_string(s.reads_slowly.count() / 1'000'000) + "ms, most " +
           std::to_string(o.message_bytes_max) + ", pings after " +
           std::to_string(o.ping_after.count() / 1'000'000) + "ms" +
           (o.deflate ? ", deflates from " + std::to_string(o.deflate_from) : "") + "; messages:";
    for (const auto& messages : s.senders) {
      all += " [";
      for (const message_plan& m : messages)
        all += " " + std::to_string(m.size) + (m.text ? "t" : "") +
               (m.limit != nanoseconds::zero()
                    ? "<" + std::to_string(m.limit.count() / 1'000'000) + "ms"
                    : "");
      all += " ]";
    }
  }
  return all;
}

/// What an end of a talk has seen.
struct side_seen {
  std::vector<int> sent;           // messages of each sender that were sent
  std::vector<int> sent_at_close;  // when this end asked to close
  std::vector<int> got;            // messages of each of the other end's senders
  http::websocket_end end;
  bool begun = false;
  bool closing = false;
  bool ended = false;
  std::string why = {};  // the error of a receive()
};

/// A talk with what was seen of it. Each end is of one color.
class talk {
 public:
  explicit talk(const talk_plan& of) : p(of) {
    for (int i = 0; i < 2; ++i) {
      seen[i].sent.resize(p.sides[i].senders.size());
      seen[i].got.resize(p.sides[1 - i].senders.size());
    }
  }

  /// The bytes of a message: letters where it is text.
  [[nodiscard]] std::string message(int side, std::size_t sender, std::size_t number) const {
    const message_plan& m = p.sides[side].senders[sender][number];
    std::string text = std::to_string(p.id) + " " + std::to_string(side) + " " +
                       std::to_string(sender) + " " + std::to_string(number) + " " +
                       std::to_string(m.size) + "\n";
    std::string body = bytes_of(((p.id * 2 + side) * 8 + sender) * 16 + number, 0, m.size);
    if (m.text)
      for (char& c : body) c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
    return text + body;
  }

  /// Checks a message that came to this side.
  void check(int side, std::string_view data, bool text) {
    const std::string head(data.substr(0, data.find('\n')));
    std::size_t id = 0, from = 0, sender = 0, number = 0, size = 0;
    if (std::sscanf(head.substr(0, 99).c_str(), "%zu %zu %zu %zu %zu", &id, &from, &sender, &number,
                    &size) != 5 ||
        id != p.id || from != static_cast<std::size_t>(1 - side) ||
        sender >= seen[side].got.size() || number >= p.sides[from].senders[sender].size()) {
      ADD_FAILURE() << "talk " << p.id << ": a message begins wrongly: " << head.substr(0, 99);
      return;
    }
    // An end that closes drops messages that come while no task is in receive().
    const bool drops = seen[side].closing;
    const auto expected = static_cast<std::size_t>(seen[side].got[sender]);
    EXPECT_TRUE(drops ? number >= expected : number == expected)
        << "talk " << p.id << ": a message of sender " << sender << " is missing or doubled: got "
        << number << " instead of " << expected;
    EXPECT_EQ(text, p.sides[from].senders[sender][number].text) << "talk " << p.id;
    EXPECT_TRUE(data == message(static_cast<int>(from), sender, number))
        << "talk " << p.id << ": message " << number << " of sender " << sender << " is wrong, "
        << data.size() << " bytes";
    seen[side].got[sender] = static_cast<int>(number) + 1;
  }

  void judge(bool calm) const {
    for (int i = 0; i < 2; ++i) {
      const side_seen& here = seen[i];
      const side_seen& there = seen[1 - i];
      for (std::size_t s = 0; s < here.got.size(); ++s) {
        // The last one may have been sent although its sender was told of an error.
        EXPECT_LE(here.got[s], there.sent[s] + 1) << "talk " << p.id;
        // Whoever closes and is not in receive() drops what still comes.
        const bool drops = here.closing && p.sides[i].reads_slowly != nanoseconds::zero();
        const bool orderly =
            here.end.by_peer && here.end.code == p.sides[1 - i].code && there.closing && !drops;
        if (orderly) {
          EXPECT_GE(here.got[s], there.sent_at_close[s])
              << "talk " << p.id << ": messages of sender " << s << " were lost before the close";
        }
      }
      if (!calm || p.harmed) continue;
      EXPECT_TRUE(here.begun && here.ended) << "talk " << p.id << ", side " << i;
      // An end whose close has reached the other one may miss the answer: that one is gone then.
      const bool reached = here.closing && there.end.by_peer && there.end.code == p.sides[i].code;
      EXPECT_TRUE(reached || here.end.code == p.sides[0].code || here.end.code == p.sides[1].code)
          << "talk " << p.id << ", side " << i << " ended with " << here.end.code << " "
          << here.end.reason << here.why;
    }
  }

  [[nodiscard]] std::string text() const {
    std::string all = "talk " + std::to_string(p.id) + " " + text_of(p);
    for (const side_seen& s : seen) {
      all += std::string("\n      ") + (s.begun ? "begun" : "not begun") +
             (s.ended ? ", ended " : ", not ended ") + std::to_string(s.end.code) +
             (s.end.by_peer ? " by the peer" : "") + ", sent";
      for (const int n : s.sent) all += " " + std::to_string(n);
      all += "; at close";
      for (const int n : s.sent_at_close) all += " " + std::to_string(n);
      all += "; got";
      for (const int n : s.got) all += " " + std::to_string(n);
      all += " " + s.why;
    }
    return all;
  }

  const talk_plan& p;
  side_seen seen[2];
  bool asked = false;  // its request has reached a handler
};

struct talk_side {
  talk_side(talk& of, int number, http::websocket socket)
      : t(of), side(number), ws(std::move(socket)), senders_left(plan().senders.size()) {}
  [[nodiscard]] const side_plan& plan() const { return t.p.sides[side]; }

  static task<> send_all(talk_side& self, std::size_t sender) {
    const auto& messages = self.plan().senders[sender];
    try {
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const message_plan& m = messages[i];
        if (m.pause != nanoseconds::zero()) co_await sleep_for(m.pause);
        const std::string data = self.t.message(self.side, sender, i);
        const nanoseconds limit =
            m.limit == nanoseconds::zero() ? nanoseconds(std::chrono::hours(2)) : m.limit;
        if (m.text) {
          co_await with_timeout(self.ws.send(data), limit);
        } else {
          co_await with_timeout(self.ws.send_binary(data), limit);
        }
        ++self.t.seen[self.side].sent[sender];
      }
    } catch (const std::system_error&) {
      // The talk has ended, or the message was given up: its sender is told.
    }
    self.senders_left.count_down();
  }
  static task<> receive_all(talk_side& self) {
    try {
      while (auto m = co_await self.ws.receive()) {
        self.t.check(self.side, m->data, m->text);
        if (self.plan().reads_slowly != nanoseconds::zero())
          co_await sleep_for(self.plan().reads_slowly);
      }
    } catch (const std::system_error& e) {
      self.t.seen[self.side].why = e.what();
    }
    self.t.seen[self.side].end = self.ws.ended();
    self.received.count_down();
  }
  static task<> run(scope& tasks, talk_side& self) {
    side_seen& seen = self.t.seen[self.side];
    seen.begun = true;
    scope receiver;
    receiver.spawn(receive_all(self));
    for (std::size_t i = 0; i < self.plan().senders.size(); ++i) tasks.spawn(send_all(self, i));
    try {
      if (self.plan().closes) {
        static_cast<void>(
            co_await as_expected(with_timeout(self.senders_left.wait(), self.plan().close_after)));
        seen.sent_at_close = seen.sent;
        seen.closing = true;
        co_await self.ws.close(self.plan().code, "planned");
      }
    } catch (const std::system_error&) {
    }
    co_await receiver.settled();
    tasks.cancel();
    seen.end = self.ws.ended();
    seen.ended = true;
  }

  talk& t;
  int side;
  http::websocket ws;
  latch senders_left;
  latch received{1};
};

inline task<> run_side(talk& t, int side, http::websocket ws) {
  talk_side self(t, side, std::move(ws));
  co_await with_scope(&talk_side::run, std::ref(self));
}

/// hand_to_websocket() keeps it.
struct handed_talk {
  explicit handed_talk(talk* with) : t(with) {}
  task<> operator()(http::websocket ws) { return run_side(*t, 1, std::move(ws)); }
  talk* t;
};

inline task<http::response> answer_talk(talk& t, http::request& r) {
  const http::websocket_options options = t.p.sides[1].options;
  // A proxy may have repeated the request after a break: a talk takes place once.
  if (std::exchange(t.asked, true)) co_return http::response(503);
  if (t.p.handed) co_return co_await http::hand_to_websocket(r, handed_talk(&t), options);
  http::websocket ws = co_await http::accept_websocket(r, options);
  co_await run_side(t, 1, std::move(ws));
  co_return http::websocket::done();
}

}  // namespace heddle::test::roles
