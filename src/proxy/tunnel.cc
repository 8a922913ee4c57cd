// SPDX-License-Identifier: MIT
// Upgraded connections: bytes in both directions. The end of one direction is passed on, and the
// other goes on until it ends as well.
#include <algorithm>
#include <memory>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/http/detail/websocket_accept.hh"
#include "heddle/io/chain.hh"
#include "proxy/fields.hh"
#include "proxy/passage.hh"

namespace heddle::http::detail {
namespace {

struct tunnel_state {
  nanoseconds patience;
  time_point moved;  // when bytes last passed in either direction
};

/// Sends these bytes. A block is copied only if the receiver is slower than the sender.
task<> pass_on(stream to, received in, nanoseconds patience) {
  const std::string_view bytes = in.text();
  const sent_now sent = to.try_write(byte_view(bytes));
  if (sent.complete(bytes.size())) co_return;
  std::string rest(bytes.substr(sent.bytes));
  in.release();
  co_await with_timeout(to.write(std::move(rest)), patience);
}

task<> pump(stream from, stream to, tunnel_state& shared) {
  for (;;) {
    const nanoseconds left =
        span_between(clock::now(), add_saturated(shared.moved, shared.patience));
    auto in = co_await as_expected(with_timeout(from.receive(), std::max(left, nanoseconds(1))));
    if (!in && in.error() == std::errc::timed_out && clock::now() - shared.moved < shared.patience)
      continue;  // the other direction has moved
    if (!in) throw failure(in.error());
    shared.moved = clock::now();
    if (in->empty()) break;
    co_await pass_on(to, std::move(*in), shared.patience);
    shared.moved = clock::now();
  }
  to.shutdown_write();
}

}  // namespace

task<> tunnel::operator()(upgraded client) {
  tunnel_state shared{patience, clock::now()};
  // Named, because GCC 12 destroys temporaries of an awaited call twice.
  std::string from_client = std::exchange(client.early, std::string());
  std::string from_upstream = std::exchange(early, std::string());
  if (!from_client.empty()) co_await upstream_side.write(std::move(from_client));
  if (!from_upstream.empty()) co_await client.connection.write(std::move(from_upstream));
  scope both;
  both.spawn(pump(client.connection, upstream_side, shared));
  both.spawn(pump(upstream_side, client.connection, shared));
  co_await both.settled();
  use.end();
}

bool passage::may_switch_to(std::string_view protocol) const {
  if (protocol.empty()) return false;
  if (extended_.empty()) return list_has_token(passed_upgrade(head_), protocol);
  return equal_ignoring_case(protocol, extended_);
}

task<response> passage::relay_upgrade() {
  std::string protocol(offered_upgrade(answer_));  // checked by read_final_head()
  if (!key_.empty() && answer_.value("sec-websocket-accept") != websocket_accept_of(key_))
    throw upstream_failure{502, "its Sec-WebSocket-Accept does not belong to the key"};
  if (upload_failed_) std::rethrow_exception(upload_failed_);
  if (!sent_whole())
    throw upstream_failure{502, "it switched to another protocol inside the request's body"};
  if (has_body()) {
    const std::string_view more = co_await r_.read();  // the server learns that the body has ended
    HEDDLE_ASSERT(more.empty(), "the whole body was sent before");
  }
  std::string lines;
  const bool dated = put_answer_fields(lines, answer_, !key_.empty());
  response switched(101);
  switched.from_elsewhere(dated).shared_lines(piece(std::move(lines)));
  use_.of().note_success();
  stream on = use_.on;
  std::string early(by_http1_->rest());
  by_http1_->end();
  started_ = true;
  tunnel through{std::move(on), std::move(early), core_.options.timeouts.tunnel, std::move(use_)};
  use_ = upstream_use();
  take_over then(std::move(through));
  co_return co_await r_.hand_over(protocol, std::move(switched), std::move(then));
}

}  // namespace heddle::http::detail
