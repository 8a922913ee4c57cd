// SPDX-License-Identifier: MIT
// A visitor that writes HTTP/1.1 itself, for what our client never sends: several requests at once,
// Expect: 100-continue, trailers, HTTP/1.0, Connection: close, upgrades.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "roles/our_client.hh"
#include "roles/wire.hh"

namespace heddle::test::roles {

/// Makes a connection to the site.
using connector = std::function<task<stream>()>;

inline std::string wire_request(const exchange_plan& p) {
  std::string head = p.method + " " + p.path() + (p.old_version ? " HTTP/1.0" : " HTTP/1.1") +
                     "\r\nHost: site\r\nX-Asked: " + std::to_string(p.id) + "\r\n";
  if (p.answers == answering::upgrade) return head + "Connection: upgrade\r\nUpgrade: echo\r\n\r\n";
  if (p.last) head += "Connection: close\r\n";
  if (p.expects) head += "Expect: 100-continue\r\n";
  if (p.up_trailer) head += "Trailer: X-Sum\r\n";
  if (p.sends == sending::parts) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (p.sends != sending::none || p.method == "POST") {
    head += "Content-Length: " + std::to_string(p.sends == sending::none ? 0 : p.up) + "\r\n";
  }
  return head + "\r\n";
}

inline task<> send_wire_body(const stream& to, const exchange_plan& p) {
  if (p.sends == sending::none && p.answers != answering::upgrade) co_return;
  const bool chunked = p.sends == sending::parts;
  for (std::size_t at = 0; at < p.up;) {
    std::string part = bytes_of(request_body(p), at, std::min(p.part, p.up - at));
    at += part.size();
    if (chunked) {
      char size[32];
      std::snprintf(size, sizeof size, p.id % 2 == 0 ? "%zx\r\n" : "%zX;x=y\r\n", part.size());
      part = size + part + "\r\n";
    }
    co_await to.write(std::string_view(part));
    if (p.client_pause != nanoseconds::zero()) co_await sleep_for(p.client_pause / 32);
  }
  if (!chunked) co_return;
  std::string end = "0\r\n";
  if (p.up_trailer) end += "X-Sum: " + trailer_of(request_body(p)) + "\r\n";
  end += "\r\n";
  co_await to.write(std::string_view(end));
}

/// Sends requests with their bodies, without a look at the answers.
inline task<> send_requests(stream to, std::span<const exchange_plan> all, bool heads) {
  try {
    for (const exchange_plan& p : all) {
      note("client by hand asks", p);
      if (heads) {
        const std::string head = wire_request(p);
        co_await to.write(std::string_view(head));
      }
      co_await send_wire_body(to, p);
    }
    if (all.back().answers == answering::upgrade) to.shutdown_write();
  } catch (const std::system_error&) {
    // The reader learns it, too.
  }
}

/// Reads heads until one that is no interim answer; nothing if the connection ends.
inline task<std::optional<wire_head>> final_head(wire_reader& in, const exchange_plan& p) {
  for (;;) {
    std::optional<wire_head> head = co_await in.head();
    if (!head || head->status() >= 200 || head->status() == 101) co_return head;
    EXPECT_FALSE(p.old_version) << "an interim answer to HTTP/1.0";
    if (head->status() == 100) {
      EXPECT_TRUE(p.expects) << "nobody has asked to continue " << p.id;
    }
    if (head->status() == 103) {
      EXPECT_TRUE(p.interim) << p.id;
    }
  }
}

/// Reads an answer whose head has come. Whether the connection can be used on.
inline task<bool> take_wire_answer(wire_reader& in, const exchange_plan& p, seen& s,
                                   const wire_head& head) {
  const int status = head.status();
  const std::string_view id = head.field("x-id");
  const bool planned = planned_body(p, status, id);
  if (status == 101) {
    EXPECT_EQ(p.answers, answering::upgrade) << p.id;
    in.begin_body(wire_framing::until_end, 0);
  } else {
    const bool without = p.method == "HEAD" || status == 204 || status == 304;
    const wire_framing how = framing_of(head, without, true);
    if (p.old_version) {
      EXPECT_NE(how, wire_framing::chunked) << "chunks for HTTP/1.0: " << p.id;
    }
    in.begin_body(how, static_cast<std::size_t>(std::strtoull(
                           std::string(head.field("content-length")).c_str(), nullptr, 10)));
  }
  const bool until_end = status == 101 || (head.field("transfer-encoding").empty() &&
                                           head.field("content-length").empty());
  const std::uint64_t body = status == 101 ? request_body(p) : answer_body(p);
  std::size_t at = 0;
  for (;;) {
    const std::string part = co_await in.part();
    if (part.empty()) break;
    if (planned) right_bytes("the answer on the wire", body, at, part);
    at += part.size();
  }
  if (in.cut()) {
    s.how = ending::told;
    s.error = std::make_error_code(std::errc::connection_reset);
    co_return false;
  }
  if (status == 101) {
    s.status = status;
    s.bytes = at;
    s.how = at == p.up ? ending::right : ending::told;
    co_return false;
  }
  std::string trailer;
  if (in.trailer().starts_with("X-Sum: ") || in.trailer().starts_with("x-sum: ") ||
      in.trailer().starts_with("x-sum:"))
    trailer = in.trailer().substr(in.trailer().find("sum-"),
                                  in.trailer().find('\n') - in.trailer().find("sum-"));
  if (p.old_version) trailer = trailer_of(answer_body(p));  // HTTP/1.0 has none
  judge_answer(p, s, status, id, at, trailer);
  co_return !until_end && head.field("connection") != "close" && !p.old_version && !p.last;
}

/// Plays these exchanges on one connection, all sent at once. Whether it can be used on.
inline task<bool> play_batch(stream conn, wire_reader& in, const ledger& all,
                             std::span<const exchange_plan> batch) {
  scope sender;
  bool goes_on = true;
  const exchange_plan& first = batch.front();
  try {
    if (first.expects) {
      const std::string head = wire_request(first);
      note("client by hand expects", first);
      co_await conn.write(std::string_view(head));
      std::optional<wire_head> answer;
      const nanoseconds patience = std::chrono::milliseconds(700);
      for (bool waits = true; waits;) {
        auto came = co_await as_expected(with_timeout(in.head(), patience));
        if (!came && came.error() != std::errc::timed_out) throw failure(came.error());
        if (came && !*came) throw failure(std::make_error_code(std::errc::connection_reset));
        if (came) answer = std::move(*came);
        waits = came && answer->status() == 103;
        if (waits) {
          EXPECT_TRUE(first.interim) << first.id;
        }
      }
      if (answer && answer->status() >= 200) {
        // Refused: the body is not sent, so the connection cannot be used on.
        co_await take_wire_answer(in, first, all.of(first), *answer);
        co_return false;
      }
    }
    sender.spawn(send_requests(conn, batch, !first.expects));
    for (const exchange_plan& p : batch) {
      seen& s = all.of(p);
      if (!goes_on) {  // an answer before has said that the connection ends
        s.how = ending::chosen;
        continue;
      }
      s.how = ending::told;  // until its answer is there
      const std::optional<wire_head> head = co_await final_head(in, p);
      if (head) goes_on = co_await take_wire_answer(in, p, s, *head);
      if (!head || s.how == ending::told) {
        s.how = ending::told;
        goes_on = false;
      }
    }
  } catch (const std::system_error& e) {
    note("client by hand is told of", batch.front());
    bool over = false;
    for (const exchange_plan& p : batch) {
      seen& s = all.of(p);
      if (s.how == ending::not_begun || s.how == ending::told) {
        s.how = over ? ending::chosen : ending::told;
        s.error = e.code();
      }
      over = over || p.ends_connection();
    }
    goes_on = false;
  }
  if (!goes_on) sender.cancel();
  co_await sender.settled();
  co_return goes_on;
}

/// Whether a request can be sent behind this one, before its answer.
inline bool may_follow(const exchange_plan& before, const exchange_plan& next) {
  return !before.expects && !next.expects && next.answers != answering::upgrade;
}
/// Whether the answer to the first one comes whole then: its client has not asked to end the
/// connection, and neither of the two answers is cut or ends HTTP. If the server ends the
/// connection by its own choice, the second one is dropped.
inline bool keeps_answers(const exchange_plan& before, const exchange_plan& next) {
  return !before.last && !before.old_version && before.answers != answering::cuts &&
         before.answers != answering::upgrade && next.answers != answering::cuts;
}

/// How a client by hand sends requests before the answers of those before. One that is reckless
/// does so although it has asked to end the connection: the answer to that one may then be lost in
/// a reset (RFC 9112 section 9.6), of which the client is told.
enum class pipelining : std::uint8_t { none, careful, reckless };

inline task<> play_by_hand(const ledger& all, const visit_plan& v, connector connect,
                           pipelining how) {
  std::span<const exchange_plan> rest(v.exchanges);
  while (!rest.empty()) {
    auto made = co_await as_expected(connect());
    if (!made) {
      seen& s = all.of(rest.front());
      s.how = ending::told;
      s.error = made.error();
      rest = rest.subspan(1);
      continue;
    }
    const stream conn = std::move(*made);
    wire_reader in(conn);
    for (bool goes_on = true; goes_on && !rest.empty();) {
      std::size_t size = 1;
      while (how != pipelining::none && size < rest.size() &&
             may_follow(rest[size - 1], rest[size]) &&
             (how == pipelining::reckless || keeps_answers(rest[size - 1], rest[size])))
        ++size;
      if (rest.front().client_pause != nanoseconds::zero())
        co_await sleep_for(rest.front().client_pause);
      goes_on = co_await play_batch(conn, in, all, rest.first(size));
      rest = rest.subspan(size);
    }
  }
}

}  // namespace heddle::test::roles
