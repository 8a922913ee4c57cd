// SPDX-License-Identifier: MIT
// Chooses a connection for a request. Over TLS the server decides about the version of HTTP when
// the first connection is made, so requests to an origin whose version is not known wait for the
// one that connects.
#include "client/carrier.hh"

#include <algorithm>

#include "client/core.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/layer.hh"

namespace heddle::http::detail {
namespace {

/// A stream that is free at once; an empty carrier if there is none.
carrier free_stream(origin_connections& of) {
  carrier found;
  for (const shared_connection& c : of.shared) {
    if (!c.on->takes_requests()) continue;
    found.stream = c.on->permits.try_acquire();
    if (!found.stream) continue;
    found.link = c.on;
    found.reused = true;
    break;
  }
  return found;
}

/// The connection for which the fewest requests wait, if there are as many as there may be.
std::shared_ptr<http2_link> full_connection(const origin_connections& of, std::uint32_t most) {
  std::uint32_t open = 0;
  std::shared_ptr<http2_link> found;
  for (const shared_connection& c : of.shared) {
    if (!c.on->takes_requests()) continue;
    ++open;
    if (found == nullptr || c.on->permits.waiting() < found->permits.waiting()) found = c.on;
  }
  return open >= std::max<std::uint32_t>(most, 1) ? found : nullptr;
}

bool speaks_http2(const stream& s) noexcept {
  const stream_layer* const layer = layer_of(s);
  return layer != nullptr && layer->application_protocol() == "h2";
}

}  // namespace

void client_core::refuse_request(const outgoing& what, const url& at, std::error_code code,
                                 const std::string& why) {
  if (code == std::errc::operation_canceled) throw failure(code);
  throw failure(code, what.method() + ' ' + at.text() + ": " + why);
}

bool client_core::may_share(const url& at) const noexcept {
  return at.secure ? options->http2.enabled : options->http2.prior_knowledge && !through_proxy(at);
}

/// A connection of its own, or one that turns out to be of HTTP/2.
task<carrier> client_core::connect_carrier(const outgoing& what, const url& at, time_point due,
                                           const origin_hold& of, bool fresh) {
  carrier made;
  lease on = of.lend();
  const auto room = co_await as_expected(on.wait_for_room(due));
  if (!room && room.error() == std::errc::timed_out)
    refuse_request(what, at, room.error(),
                   "all connections to this origin were in use; see "
                   "client_options::per_origin_max");
  if (!room) throw failure(room.error());
  if (!fresh && on.take_idle()) {
    made.alone.emplace(std::move(on));
    made.reused = true;
    co_return made;
  }
  const bool http1_only = !may_share(at) || of->http1_required;
  const time_point until = std::min(due, add_saturated(clock::now(), options->timeouts.connect));
  try {
    on.on = co_await with_deadline(connect(at, http1_only), until);
  } catch (const std::system_error& e) {
    // The end of this request's own time says nothing about the origin: others may wait longer.
    const bool own_end = e.code() == std::errc::timed_out && until == due && clock::now() >= due;
    if (e.code() != std::errc::operation_canceled && !own_end) {
      ++of->failures;
      of->last_failure = {e.code(), e.what()};
    }
    refuse_request(what, at, e.code(), e.what());
  }
  ++counters.connections;
  const bool http2 = at.secure ? speaks_http2(on.on) : !http1_only;
  if (http2 && http1_only)
    refuse_request(
        what, at, std::make_error_code(std::errc::protocol_not_supported),
        "the connection agreed on HTTP/2 by ALPN, which client_options::http2.enabled or "
        "the server forbids; offer http/1.1 alone in client_options::secure");
  of->speaks_http1 = !http2;
  if (!http2) {
    made.alone.emplace(std::move(on));
    co_return made;
  }
  made.link = on.share(options);
  made.stream = made.link->permits.try_acquire();
  co_return made;
}

task<carrier> client_core::find_carrier(const outgoing& what, const url& at, time_point due,
                                        bool fresh) {
  const origin_hold of(pool, at.origin());
  for (;;) {
    const bool shares = may_share(at) && !of->http1_required;
    if (!shares || of->speaks_http1) co_return co_await connect_carrier(what, at, due, of, fresh);
    carrier found = free_stream(*of);
    if (found.link != nullptr) co_return found;
    if (const auto full = full_connection(*of, options->http2.connections_max)) {
      auto permit = co_await as_expected(
          with_deadline(with_cancel(full->gone, full->permits.acquire()), due));
      if (permit && full->takes_requests()) {
        found.link = full;
        found.stream = std::move(*permit);
        found.reused = true;
        co_return found;
      }
      if (!permit && !full->gone.canceled())
        refuse_request(what, at, permit.error(),
                       "all streams to this origin were in use; see "
                       "client_options::http2.connections_max");
      continue;
    }
    const std::uint64_t failures = of->failures;
    auto turn = co_await as_expected(with_deadline(of->connecting.lock(), due));
    if (!turn) refuse_request(what, at, turn.error(), "another request was still connecting");
    if (of->failures != failures)
      refuse_request(what, at, of->last_failure.code, of->last_failure.text);
    const bool decided = of->speaks_http1 || of->http1_required ||
                         full_connection(*of, options->http2.connections_max) != nullptr;
    if (decided) continue;
    co_return co_await connect_carrier(what, at, due, of, fresh);
  }
}

std::unique_ptr<client_exchange> client_core::exchange_on(carrier on, const outgoing& what,
                                                          const url& at, time_point due) const {
  if (on.link == nullptr)
    return std::make_unique<exchange_over_http1>(std::move(*on.alone), options, at, what.method(),
                                                 due);
  return std::make_unique<exchange_over_http2>(std::move(on.link), std::move(on.stream), options,
                                               at, what.method(), due);
}

}  // namespace heddle::http::detail
