// SPDX-License-Identifier: MIT
// A visitor that uses our client: it plays its exchanges one after the other and compares each
// answer with the script.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "heddle/client/client.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "roles/our_server.hh"

namespace heddle::test::roles {

/// A request's body that a function makes: parts, pauses, perhaps an exception.
struct made_upload {
  explicit made_upload(const exchange_plan& of) : p(of) {}
  static task<std::string> next(std::shared_ptr<made_upload> self) {
    const exchange_plan& p = self->p;
    if (p.client_pause != nanoseconds::zero()) co_await sleep_for(p.client_pause / 32);
    if (self->at >= p.fails_after) throw planned_failure();
    const std::size_t end = p.upload_fails() ? p.fails_after : p.up;
    std::string part = bytes_of(request_body(p), self->at, std::min(p.part, end - self->at));
    self->at += part.size();
    if (part.empty() && p.upload_fails()) throw planned_failure();
    co_return part;
  }
  const exchange_plan& p;
  std::size_t at = 0;
};

inline http::outgoing request_of(const exchange_plan& p, const std::string& site) {
  http::outgoing what(p.method, site + p.path());
  what.header("X-Asked", std::to_string(p.id));
  const std::string type = "application/octet-stream";
  if (p.sends == sending::whole) what.body(type, bytes_of(request_body(p), 0, p.up));
  if (p.sends != sending::sized_parts && p.sends != sending::parts) return what;
  const auto parts = std::make_shared<made_upload>(p);
  std::optional<std::uint64_t> length;
  if (p.sends == sending::sized_parts) length = p.up;
  what.body(type, [parts] { return made_upload::next(parts); }, length);
  return what;
}

/// Whether a body with this head is the one of the plan.
inline bool planned_body(const exchange_plan& p, int status, std::string_view id) {
  return !id.empty() && status == p.status && p.answers != answering::throws &&
         p.answers != answering::refuses;
}

inline task<> read_answer(http::client& web, const exchange_plan& p, seen& s, http::outgoing what) {
  http::answer a = co_await web.open(std::move(what));
  s.status = a.status();
  const bool planned = planned_body(p, a.status(), a.header("x-id"));
  std::size_t at = 0;
  for (;;) {
    if (p.takes == taking::dropped && at >= p.dropped_after) {
      s.how = ending::chosen;
      co_return;
    }
    const std::string_view part = co_await a.read();
    if (part.empty()) break;
    if (planned) right_bytes("the answer", answer_body(p), at, part);
    at += part.size();
    if (p.client_pause != nanoseconds::zero()) co_await sleep_for(p.client_pause / 32);
  }
  judge_answer(p, s, a.status(), a.header("x-id"), at, a.trailer("x-sum"));
}

inline task<> ask(http::client& web, const exchange_plan& p, seen& s, http::outgoing what) {
  if (p.takes != taking::whole || p.down_trailer) {
    co_await read_answer(web, p, s, std::move(what));
    co_return;
  }
  const http::fetched got = co_await web.send(std::move(what));
  if (planned_body(p, got.status(), got.header("x-id")))
    right_bytes("the answer", answer_body(p), 0, got.body);
  const std::size_t size = got.body.size();
  judge_answer(p, s, got.status(), got.header("x-id"), size, {});
}

inline task<> play_exchange(http::client& web, const exchange_plan& p, seen& s,
                            const std::string& site) {
  if (p.client_pause != nanoseconds::zero()) co_await sleep_for(p.client_pause);
  http::outgoing what = request_of(p, site);
  note("client asks", p);
  try {
    if (p.limit == nanoseconds::zero()) {
      co_await ask(web, p, s, std::move(what));
    } else {
      co_await with_timeout(ask(web, p, s, std::move(what)), p.limit);
    }
  } catch (const std::system_error& e) {
    s.how = p.ended_by_client() ? ending::chosen : ending::told;
    s.error = e.code();
    s.why = e.what();
    note("client is told of", p);
  } catch (const planned_failure&) {
    EXPECT_TRUE(p.upload_fails()) << p.id << " got an exception of another request's body";
    s.how = ending::chosen;
  }
}

}  // namespace heddle::test::roles
