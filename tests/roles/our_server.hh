// SPDX-License-Identifier: MIT
// The handler of every server of a run: it looks its exchange up by the request's path, checks the
// request's bytes, and answers as the script says.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "heddle/core/sleep.hh"
#include "heddle/http/field_list.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "heddle/web/body_writer.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/server.hh"
#include "heddle/web/upgraded.hh"
#include "roles/ledger.hh"

namespace heddle::test::roles {

/// An exception of a handler that the script wants.
struct planned_failure : std::runtime_error {
  planned_failure() : std::runtime_error("planned") {}
};

/// A line in the trace of a simulated run: what happens to this exchange now.
inline void note(const char* what, const exchange_plan& p) {
  if (auto* const world = dynamic_cast<sim_driver*>(&runtime::here().io()))
    world->note(std::string(what) + " " + std::to_string(p.id));
}

/// Reads the request's body from its place on, until `most` bytes have come or it has ended. A body
/// that ends is whole, with its trailer.
struct body_reader {
  body_reader(http::request& from, const exchange_plan& of) : r(from), p(of) {}

  task<std::string_view> part() {
    const std::string_view got = co_await r.read();
    if (got.empty()) {
      EXPECT_EQ(at, p.up) << "the body of request " << p.id << " is short, and nobody says so";
      EXPECT_FALSE(p.upload_fails()) << "a client gave up, and its request " << p.id << " is whole";
      if (p.up_trailer) {
        EXPECT_EQ(r.trailer("x-sum"), trailer_of(request_body(p))) << "request " << p.id;
      }
    } else {
      right_bytes("the request", request_body(p), at, got);
      at += got.size();
    }
    co_return got;
  }
  task<> take(std::size_t most) {
    while (at < most) {
      const std::string_view got = co_await part();
      if (got.empty()) break;
    }
  }

  http::request& r;
  const exchange_plan& p;
  std::size_t at = 0;
};

/// The answer of an upgraded connection: every part comes back.
inline task<> return_bytes(http::upgraded to, const exchange_plan& p) {
  std::size_t at = 0;
  right_bytes("the early bytes", request_body(p), 0, to.early);
  at = to.early.size();
  if (!to.early.empty()) co_await to.connection.write(std::string_view(to.early));
  while (received in = co_await to.connection.receive()) {
    right_bytes("the upgraded connection", request_body(p), at, in.text());
    at += in.text().size();
    co_await to.connection.write(in.text());
  }
}

/// A body in parts, up to `most` bytes.
inline task<> write_parts(http::body_writer& out, const exchange_plan& p, std::size_t most) {
  for (std::size_t at = 0; at < most;) {
    const std::string part = bytes_of(answer_body(p), at, std::min(p.down_part, most - at));
    co_await out.write(part);
    at += part.size();
    if (p.handler_pause != nanoseconds::zero() && at < most)
      co_await sleep_for(p.handler_pause / 32);
  }
}

inline task<http::response> answer_exchange(const ledger& all, http::request& r) {
  const exchange_plan* const found = all.plan_of(r.path());
  if (found == nullptr) {
    ADD_FAILURE() << "a request for " << r.path() << ", which nobody sent";
    co_return http::response(404);
  }
  const exchange_plan& p = *found;
  seen& s = all.of(p);
  ++s.handled;
  note("handler of", p);
  r.add_header("X-Id", std::to_string(p.id));
  EXPECT_EQ(r.head().method_text(), p.method) << p.id;
  EXPECT_EQ(r.header("x-asked"), std::to_string(p.id)) << "the fields of another request";
  if (p.handler_pause != nanoseconds::zero()) co_await sleep_for(p.handler_pause);
  if (p.answers == answering::upgrade) {
    http::upgraded to = co_await r.upgrade("echo");
    http::response done = to.done();
    co_await return_bytes(std::move(to), p);
    ++s.completed;
    co_return done;
  }
  if (p.interim) {
    http::response hint(103);
    hint.header("Link", "</style>");
    co_await r.inform(std::move(hint));
  }
  body_reader body(r, p);
  if (p.answers != answering::echo) {
    // Past the last byte, so that the end is seen.
    co_await body.take(p.reads_all() ? p.up + 1 : p.read_first);
  }
  if (p.answers == answering::throws) throw planned_failure();
  if (p.answers == answering::refuses) throw http::status_error(409, "planned");
  http::response head(p.status);
  if (p.closes) head.close();
  if (p.answers == answering::whole) {
    head.body("application/octet-stream", bytes_of(answer_body(p), 0, p.bodyless() ? 0 : p.down));
    ++s.completed;
    co_return head;
  }
  if (p.down_length && !p.bodyless()) head.length(p.down);
  if (p.answers == answering::echo) {
    http::body_writer out = co_await r.start(std::move(head));
    for (;;) {
      const std::string_view part = co_await body.part();
      if (part.empty()) break;
      co_await out.write(part);
    }
    ++s.completed;
    co_return out.done();
  }
  http::body_writer out = co_await r.start(std::move(head));
  co_await write_parts(out, p, p.answers == answering::cuts ? p.cut_after : p.down);
  if (p.answers == answering::cuts) throw planned_failure();
  if (p.down_trailer) out.trailer("X-Sum", trailer_of(answer_body(p)));
  ++s.completed;
  co_return out.done();
}

}  // namespace heddle::test::roles
