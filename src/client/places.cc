// SPDX-License-Identifier: MIT
// The place of a request at its server, and the errors of a request that gets none.
#include <algorithm>

#include "client/core.hh"
#include "heddle/core/deadline.hh"

namespace heddle::http::detail {
namespace {

const char* text_of(lacking what) noexcept {
  switch (what) {
    case lacking::connection:
      return "all connections to this origin were in use; see client_options::per_origin_max";
    case lacking::stream:
      return "all streams to this origin were in use; see client_options::http2.connections_max";
    case lacking::version:
      return "another request was still connecting";
    case lacking::http1:
      break;
  }
  return "the connection agreed on HTTP/2 by ALPN, which client_options::http2.enabled or the "
         "server forbids; offer http/1.1 alone in client_options::secure";
}

}  // namespace

void client_core::refuse_request(const outgoing& what, const url& at, std::error_code code,
                                 const std::string& why) {
  if (code == std::errc::operation_canceled) throw failure(code);
  throw failure(code, what.method() + ' ' + at.text() + ": " + why);
}

std::shared_ptr<server_connections> client_core::connections_to(const url& at) const {
  const bool by_knowledge = options->http2.prior_knowledge && !through_proxy(at);
  const offered plain = by_knowledge ? offered::http2 : offered::http1;
  const offered secure = options->http2.enabled ? offered::alpn : offered::http1;
  return pool->of(at.origin(), at.secure ? secure : plain);
}

/// Connects for one request, no longer than it waits.
struct client_core::dial_for final : dialer {
  dial_for(const client_core& by, const url& at, time_point until) : core(by), to(at), due(until) {}
  task<stream> dial(bool http1_only) override {
    const time_point until =
        std::min(due, add_saturated(clock::now(), core.options->timeouts.connect));
    co_return co_await with_deadline(core.connect(to, http1_only), until);
  }

  const client_core& core;
  const url& to;
  const time_point due;
};

task<place> client_core::find_place(server_connections& of, const outgoing& what, const url& at,
                                    time_point due, bool fresh) {
  server_connections::wanted by{.due = due, .fresh = fresh};
  by.unrepeatable = what.parts() || !idempotent(method_of(what.method()));
  place found = of.find_now(by);
  if (found) co_return found;
  try {
    dial_for connects(*this, at, due);
    found = co_await of.find(by, connects);
  } catch (const no_place& e) {
    refuse_request(what, at, e.code(), text_of(e.what_missing));
  } catch (const std::system_error& e) {
    refuse_request(what, at, e.code(), e.what());
  }
  if (!found.reused) ++counters.connections;
  co_return found;
}

}  // namespace heddle::http::detail
