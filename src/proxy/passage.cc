// SPDX-License-Identifier: MIT
// Chooses upstreams for a request until one answers.
#include "proxy/passage.hh"

#include "heddle/base/sometimes.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/web/detail/websocket_client.hh"
#include "heddle/web/problem_details.hh"
#include "proxy/fields.hh"

namespace heddle::http {
namespace detail {
namespace {

constexpr std::size_t target_shown_max = 200;  // bytes of a target in a line of the log
constexpr int client_closed = 499;             // the client has gone; only logs show it

std::string_view text_for_client(const upstream_failure& why) noexcept {
  const int status = why.status;
  return why.body        ? "the server behind this one did not take the request's body in time"
         : status == 504 ? "the server behind this one did not answer in time"
         : status == 503 ? "no server behind this one is available; try again soon"
                         : "the server behind this one failed";
}

/// RFC 9110 section 15.5.6: an answer 405 lists the methods.
response not_passed(const request& r) {
  response no = r.error(405, "this method does not pass through the proxy");
  no.header("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  return no;
}

/// The reason in an error of connecting, for the log, whose line names the upstream already.
std::string reason_of(const std::system_error& e) {
  const std::string_view text = e.what();
  return std::string(text.starts_with("cannot connect to ") ? e.code().message() : text);
}

}  // namespace

task<response> passage::run(std::shared_ptr<proxy_core> core, request& r) {
  core->start();
  passage p(*core, r);
  co_return co_await p.pass();
}

task<> passage::read_first_part() {
  if (!has_body()) co_return;
  waits_ = head_.expects_continue();
  // A client that sends no length may wait for the answer's head before it sends a part.
  if (!waits_ && head_.body() == framing::length) {
    first_parts_ = co_await r_.read();
    if (first_parts_.size() == head_.content_length()) co_return;
  }
  move_to(upload_state::waiting);
}

void passage::write_head() {
  out_.clear();
  put_request_head(out_,
                   {.head = head_,
                    .peer = r_.connection_peer(),
                    .authority = use_.of().authority,
                    .expect = waits_ && !upload_begun(),
                    .extended_protocol = extended_,
                    .websocket_key = key_},
                   core_.options);
  head_bytes_ = out_.size();
  if (!streams()) out_ += first_parts_;
}

/// A permit for one connection; false if none was free in time.
task<bool> passage::reserve(upstream& at) {
  gate::hold permit = at.room.try_acquire();
  if (!permit) {
    auto got = co_await as_expected(with_timeout(at.room.acquire(), core_.options.timeouts.queue));
    if (!got && got.error() == std::errc::operation_canceled) throw failure(got.error());
    if (!got) co_return false;
    permit = std::move(*got);
  }
  use_ = upstream_use(at, std::move(permit));
  co_return true;
}

/// An upgrade takes its connection for itself.
bool passage::needs_http1() const {
  return !extended_.empty() || (core_.options.upgrades && !passed_upgrade(head_).empty());
}

void passage::use(place&& on) {
  upstream& at = use_.of();
  use_.reused = on.reused;
  ++(on.reused ? at.counters.reused : at.counters.connections);
  if (on.link != nullptr) {
    by_http2_.emplace(std::move(on.link), std::move(on.permit), at.secure());
    exchange_ = &*by_http2_;
  } else {
    use_.on = std::move(on.alone);
    by_http1_.emplace(use_.on, core_.options.bounds, core_.options.timeouts.transfer);
    exchange_ = &*by_http1_;
  }
}

task<> passage::find_connection(bool fresh) {
  upstream& at = use_.of();
  server_connections::wanted by{.due = time_point::max()};
  by.fresh = fresh || core_.options.proxy_protocol != 0;
  by.http1_only = needs_http1();
  by.unrepeatable = !idempotent(head_.verb()) || streams();
  place found = at.connections.find_now(by);
  if (!found) {
    by.due = add_saturated(clock::now(), core_.options.timeouts.queue);
    found = co_await at.find_place(r_.peer(), by);
  }
  use(std::move(found));
}

task<std::optional<upstream_failure>> passage::connect(bool fresh) {
  std::string why;
  try {
    co_await find_connection(fresh);
    co_return std::nullopt;
  } catch (const no_place& e) {
    if (e.what_missing == lacking::http1)
      co_return upstream_failure{502, "it speaks HTTP/2, and this request needs HTTP/1.1"};
    co_return upstream_failure{
        .status = 503,
        .why = e.what_missing == lacking::stream
                   ? "all streams of " + std::to_string(core_.options.http2.connections_max) +
                         " connections to it were in use (http2.connections_max, and "
                         "http2.streams_max or the upstream's own limit)"
                   : "no connection to it was free in time",
        .blames = false};
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    if (e.code() != std::errc::timed_out) why = reason_of(e);
  }
  if (why.empty()) co_return upstream_failure{504, "it did not accept a connection in time"};
  co_return upstream_failure{502, "cannot connect: " + why};
}

task<passage::attempt> passage::try_once(bool fresh) {
  attempt a;
  a.failed = co_await connect(fresh);
  if (a.failed) co_return a;
  a.connected = true;
  ++use_.of().counters.requests;
  write_head();
  try {
    auto exchanged = streams() ? exchange_beside_upload() : exchange_alone();
    a.answer.emplace(co_await std::move(exchanged));
  } catch (upstream_failure& e) {
    a.failed = std::move(e);
  }
  co_return a;
}

/// Whether the request may be sent again after a failure.
bool passage::may_repeat(const attempt& a) const noexcept {
  if (started_ || client_left_) return false;
  if (exchange_ != nullptr && exchange_->refused()) return parts_kept_;
  if (exchange_ != nullptr && exchange_->answered()) return false;
  if (!a.connected) return true;
  if (!idempotent(head_.verb())) return false;
  return !upload_begun() || (parts_kept_ && a.failed->gone);
}

std::string passage::line_about(const upstream_failure& why) const {
  std::string line = std::to_string(why.status) + ' ';
  line += head_.method_text();
  line.append(" ").append(head_.target().substr(0, target_shown_max));
  if (!tried_.empty()) line.append(": ").append(tried_.back()->name);
  return line.append(": ").append(why.why);
}

response passage::fail(const upstream_failure& why) {
  core_.tell(line_about(why));
  if (started_)  // the client must not take its answer for complete
    throw failure(std::make_error_code(std::errc::connection_reset), line_about(why));
  response r = r_.error(why.status, text_for_client(why));
  if (why.status == 503) r.header("Retry-After", "1");
  return r;
}

task<response> passage::pass() {
  if (head_.verb() == method::connect || head_.verb() == method::trace) co_return not_passed(r_);
  if (!extended_.empty()) {
    if (!core_.options.upgrades)
      throw status_error(501, "this proxy passes no other protocols through");
    if (equal_ignoring_case(extended_, "websocket")) key_ = new_websocket_key();
  }
  // RFC 9110 section 7.6.2: the last one that may get it answers.
  if (head_.verb() == method::options && forwards_left(head_) == 0)
    co_return response(200).header("Allow", "OPTIONS").text("");
  co_await read_first_part();
  upstream* at = core_.choose(r_.peer(), tried_);
  if (at == nullptr) co_return fail({503, "no upstream is up"});
  bool fresh = false;
  const std::uint32_t refusals_max = core_.options.http2.refused_retries_max;
  for (std::uint32_t refusals = 0;;) {
    if (tried_.empty() || tried_.back() != at) tried_.push_back(at);
    const bool room = co_await reserve(*at);
    if (!room)
      co_return fail({503, "all " + std::to_string(core_.options.connections_max) +
                               " connections to it were in use (connections_max)"});
    attempt a = co_await try_once(fresh);
    if (a.answer) co_return std::move(*a.answer);
    const bool again = may_repeat(a);
    const bool refused = exchange_ != nullptr && exchange_->refused();
    if (refused && exchange_->wants_http1()) at->connections.require_http1();
    const bool by_requirement =
        !refused && !client_left_ && !needs_http1() && at->connections.http1_required();
    if (by_requirement && a.failed->blames && answer_.status() == 0) {
      at->connections.forget_requirement();
      a.failed->why +=
          "; the request went over HTTP/1.1, because the upstream had answered another one with "
          "HTTP_1_1_REQUIRED; further ones go over HTTP/2 again";
    }
    const bool reused = use_.reused;
    if (refused && again && refusals++ < refusals_max)
      co_await sleep_for(pause_after_refusal(refusals));
    exchange_ = nullptr;
    by_http1_.reset();
    by_http2_.reset();
    use_ = upstream_use();
    if (client_left_) {
      HEDDLE_SOMETIMES("the client of a proxy leaves before the answer");
      co_return response(client_closed).close();
    }
    if (upload_failed_ && !started_) std::rethrow_exception(upload_failed_);
    // An idle connection that the upstream has closed is no failure of the upstream.
    const bool here_again = refused ? refusals <= refusals_max : reused && a.failed->gone && !fresh;
    if (here_again && again) {
      HEDDLE_SOMETIMES("the proxy sends a request again to the same upstream");
      fresh = true;
      ++at->counters.retries;
      continue;
    }
    if (refused && !parts_kept_)
      a.failed->why += ", and its body is too long to be sent again (repeat_bytes_max)";
    // An upgrade may say that an h2c upstream has no HTTP/1.1, which is no failure.
    const bool own_fault = a.connected && needs_http1() && at->may_lack_http1();
    if (own_fault) a.failed->why += "; an upgrade needs HTTP/1.1 behind h2c://, too";
    const bool was_unused = reused && a.failed->gone && !refused;
    if (a.failed->blames && !own_fault && !was_unused) at->note_failure(a.failed->why);
    upstream* next = nullptr;
    if (again && tried_.size() < core_.options.tries_max) next = core_.choose(r_.peer(), tried_);
    if (next == nullptr) co_return fail(*a.failed);
    HEDDLE_SOMETIMES("the proxy goes on to another upstream");
    ++at->counters.retries;
    at = next;
    fresh = false;
  }
}

}  // namespace detail

reverse_proxy::reverse_proxy(proxy_options options)
    : core_(std::make_shared<detail::proxy_core>(std::move(options))) {}

task<response> reverse_proxy::operator()(request& r) const {
  return detail::passage::run(core_, r);
}
void reverse_proxy::start() const { core_->start(); }
std::size_t reverse_proxy::upstreams() const noexcept { return core_->upstreams.size(); }
const std::string& reverse_proxy::name(std::size_t i) const noexcept {
  return core_->upstreams[i]->name;
}
upstream_counters reverse_proxy::counters(std::size_t i) const noexcept {
  const detail::upstream& u = *core_->upstreams[i];
  upstream_counters c = u.counters;
  c.idle = static_cast<std::uint32_t>(u.connections.unused());
  c.up = u.up(worker::running().now);
  return c;
}

}  // namespace heddle::http
