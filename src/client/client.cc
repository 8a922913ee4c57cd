// SPDX-License-Identifier: MIT
// A client's request from its text to its answer: heads, retries, redirects, cookies.
#include "heddle/client/client.hh"

#include <algorithm>
#include <exception>
#include <optional>

#include "client/core.hh"
#include "heddle/base/sometimes.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/content_decoding.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sync/detail/wake_once.hh"

namespace heddle::http {
namespace detail {
namespace {

std::int64_t wall_seconds() {
  return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
}

[[noreturn]] void refuse(const outgoing& what, const std::string& why) {
  throw failure(std::make_error_code(std::errc::invalid_argument),
                what.method() + ' ' + what.url() + ": " + why);
}

/// For Accept-Encoding: the codings that this build unpacks.
std::string codings_text() {
  std::string text;
  for (std::size_t i = 0; i < content_coding_count; ++i) {
    const auto coding = static_cast<content_coding>(i);
    if (!codings_read().has(coding)) continue;
    if (!text.empty()) text += ", ";
    text += name_of(coding);
  }
  return text;
}

/// Whether an answer is a redirect that is followed (RFC 9110 section 15.4).
bool redirects(const response_head& head) {
  const int s = head.status();
  return (s == 301 || s == 302 || s == 303 || s == 307 || s == 308) && head.has("location");
}

}  // namespace

void check_request(const outgoing& what) {
  if (!token_valid(what.method())) refuse(what, "the method is not a token");
  if (what.method() == "CONNECT" || what.method() == "TRACE")
    refuse(what, "a client does not send this method");
  for (const outgoing::field& f : what.fields()) {
    if (!token_valid(f.name)) refuse(what, "'" + f.name + "' is not a valid field name");
    if (!value_valid(f.value))
      refuse(what, "the value of " + f.name + " contains a line end or another control character");
    for (const std::string_view own :
         {"Host", "Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive", "TE",
          "Trailer", "Upgrade", "Expect", "Proxy-Connection", "Proxy-Authorization"})
      if (equal_ignoring_case(own, f.name))
        refuse(what, "the client sends " + f.name + " itself; leave it out");
  }
  if (!value_valid(what.type())) refuse(what, "the type of the body contains a control character");
}

client_core::client_core(client_options from)
    : options(std::make_shared<const client_options>(std::move(from))),
      pool(std::make_shared<connection_pool>(options)),
      secure_(options->secure ? options->secure : default_secure_layer(options->http2.enabled)),
      resolver_(options->resolver ? options->resolver : std::make_shared<names::resolver>()),
      secure_http1_(options->secure || !options->http2.enabled ? secure_
                                                               : default_secure_layer(false)) {
  if (!value_valid(options->user_agent) || !value_valid(options->proxy.authorization))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "client_options: user_agent or proxy.authorization contains a control character");
  if (options->proxy.url.empty()) return;
  const auto parsed = url::parse(options->proxy.url);
  if (!parsed || parsed->secure)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "client_options: the proxy's URL has to be http://HOST:PORT");
  proxy_ = *parsed;
}

std::string client_core::head_of(const outgoing& what, const url& at, bool unpack) const {
  std::string head = what.method() + ' ';
  const bool absolute = through_proxy(at) && !at.secure;
  if (absolute) head += at.origin();
  head.append(at.target).append(" HTTP/1.1\r\nHost: ").append(at.authority()).append("\r\n");
  const auto add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (absolute && !options->proxy.authorization.empty())
    add("Proxy-Authorization", options->proxy.authorization);
  if (!options->user_agent.empty() && !what.has("User-Agent"))
    add("User-Agent", options->user_agent);
  if (!what.has("Accept")) add("Accept", "*/*");
  if (unpack) add("Accept-Encoding", codings_text());
  for (const outgoing::field& f : what.fields()) add(f.name, f.value);
  if (!what.has("Cookie")) {
    const std::string cookies = cookies_for(at);
    if (!cookies.empty()) add("Cookie", cookies);
  }
  if (what.has_body()) {
    if (!what.type().empty() && !what.has("Content-Type")) add("Content-Type", what.type());
    if (what.parts() && !what.length())
      add("Transfer-Encoding", "chunked");
    else
      add("Content-Length", std::to_string(what.parts() ? *what.length() : what.bytes().size()));
  } else if (what.method() == "POST" || what.method() == "PUT" || what.method() == "PATCH") {
    add("Content-Length", "0");
  }
  return head += "\r\n";
}

namespace {

std::unique_ptr<client_exchange> exchange_on(const client_core& core,
                                             std::shared_ptr<server_connections> of, place on,
                                             const outgoing& what, const url& at, time_point due) {
  if (on.link == nullptr)
    return std::make_unique<exchange_over_http1>(lease(std::move(of), std::move(on)), core.options,
                                                 at, what.method(), due);
  return std::make_unique<exchange_over_http2>(std::move(on.link), std::move(on.permit),
                                               core.options, at, what.method(), due);
}

}  // namespace

task<std::unique_ptr<client_exchange>> client_core::attempt(const outgoing& what, const url& at,
                                                            time_point due) {
  const bool unpack = options->unpack && !codings_read().empty() && !what.has("Accept-Encoding") &&
                      !what.has("Range");
  const std::string head = head_of(what, at, unpack);
  const std::shared_ptr<server_connections> of = connections_to(at);
  std::uint32_t refusals = 0;
  for (bool again = false;;) {
    place on = co_await find_place(*of, what, at, due, again);
    const bool reused = on.reused;
    if (reused) ++counters.reused;
    ++counters.requests;
    std::unique_ptr<client_exchange> made = exchange_on(*this, of, std::move(on), what, at, due);
    nanoseconds pause{};
    try {
      co_await made->begin(what, head, unpack);
      co_return made;
    } catch (const std::system_error& e) {
      if (of->http1_required() && !made->refused()) of->forget_requirement();
      if (what.parts()) throw;
      if (made->refused()) {
        if (refusals++ == options->http2.refused_retries_max) throw;
        HEDDLE_SOMETIMES("a client sends a refused request again");
        if (made->wants_http1()) of->require_http1();
        pause = pause_after_refusal(refusals);
      } else {
        const bool repeatable = idempotent(method_of(what.method()));
        if (!reused || again || made->answered() || !repeatable || !connection_gone(e.code()))
          throw;
        HEDDLE_SOMETIMES("a client finds its idle connection closed, and uses another one");
        again = true;
      }
    }
    ++counters.retries;
    if (pause != nanoseconds::zero()) co_await with_deadline(sleep_for(pause), due);
  }
}

std::string client_core::cookies_for(const url& at) const {
  return options->cookies == nullptr ? std::string() : options->cookies->field(at, wall_seconds());
}

void client_core::take_cookies(const client_exchange& from) const {
  if (options->cookies == nullptr) return;
  for (std::size_t i = 0; i < from.head().header_count(); ++i) {
    const header h = from.head().header_at(i);
    if (equal_ignoring_case(h.name, "Set-Cookie"))
      static_cast<void>(options->cookies->take(from.from(), h.value, wall_seconds()));
  }
}

task<std::unique_ptr<client_exchange>> client_core::run(outgoing what) {
  const std::shared_ptr<client_core> kept = shared_from_this();
  check_request(what);
  auto at = url::parse(what.url());
  if (!at) refuse(what, std::string(describe(at.error())));
  const time_point due =
      add_saturated(clock::now(), what.timeout().value_or(options->timeouts.whole));
  co_return co_await follow(what, std::move(*at), due);
}

task<std::unique_ptr<client_exchange>> client_core::follow(outgoing& what, url at, time_point due) {
  for (std::uint32_t followed = 0;; ++followed) {
    std::unique_ptr<client_exchange> on = co_await attempt(what, at, due);
    take_cookies(*on);
    const response_head& head = on->head();
    if (options->redirects_max == 0 || !redirects(head)) co_return on;
    const bool to_get = head.status() == 303 ? what.method() != "GET" && what.method() != "HEAD"
                                             : head.status() < 303 && what.method() == "POST";
    if (!to_get && what.parts()) co_return on;  // the body cannot be sent again
    if (followed == options->redirects_max)
      on->fail(std::make_error_code(std::errc::too_many_symbolic_link_levels),
               "the server redirected more than " + std::to_string(options->redirects_max) +
                   " times (client_options::redirects_max)");
    const auto next = at.resolve(head.value("location"));
    if (!next)
      on->fail(std::make_error_code(std::errc::bad_message),
               "the Location of a redirect is not valid: " + std::string(describe(next.error())));
    if (at.secure && !next->secure && !options->redirect_to_plain)
      on->fail(std::make_error_code(std::errc::permission_denied),
               "the server redirects from https to " + next->text() +
                   "; set client_options::redirect_to_plain to follow");
    if (to_get) what.become_get();
    if (next->origin() != at.origin()) what.drop_secrets();
    const auto drained = co_await as_expected(on->drain());
    if (!drained && drained.error() == std::errc::operation_canceled)
      throw failure(drained.error());
    at = *next;
    ++counters.redirects;
  }
}

}  // namespace detail

client::client(client_options options)
    : core_(std::make_shared<detail::client_core>(std::move(options))) {}
client::~client() { core_->pool->shut(); }

const client_options& client::options() const noexcept { return *core_->options; }
const client_counters& client::counters() const noexcept { return core_->counters; }
std::size_t client::idle() const noexcept { return core_->pool->idle(); }

namespace {

task<answer> open_one(std::shared_ptr<detail::client_core> core, outgoing what) {
  co_return answer(co_await core->run(std::move(what)));
}

/// A request's body_source, which must not run when send() has ended: it may use variables of the
/// function that waits there.
struct bounded_source {
  explicit bounded_source(body_source of) : inner(std::move(of)) {}
  static task<std::string> part(std::shared_ptr<bounded_source> self) {
    if (self->over) throw failure(std::make_error_code(std::errc::operation_canceled));
    struct mark {
      bounded_source& of;
      explicit mark(bounded_source& s) : of(s) { of.runs = true; }
      mark(const mark&) = delete;
      ~mark() {
        of.runs = false;
        of.ended.wake();
      }
    } const running(*self);
    co_return co_await self->inner();
  }
  task<> end() {
    over = true;
    while (runs) co_await shield(ended.wait(), nanoseconds::max());
  }

  body_source inner;
  wake_once ended;
  bool runs = false;
  bool over = false;
};

task<fetched> fetch(detail::client_core& core, outgoing what) {
  answer from(co_await core.run(std::move(what)));
  std::string body = co_await from.text(core.options->body_bytes_max);
  co_return fetched{from.head(), std::move(body), from.from().text()};
}

task<fetched> fetch_whole(std::shared_ptr<detail::client_core> core, outgoing what) {
  if (!what.parts()) co_return co_await fetch(*core, std::move(what));
  const auto source = std::make_shared<bounded_source>(what.parts());
  const std::string type = what.type();
  what.body(type, [source] { return bounded_source::part(source); }, what.length());
  std::optional<fetched> got;
  std::exception_ptr failed;
  try {
    got = co_await fetch(*core, std::move(what));
  } catch (...) {
    failed = std::current_exception();
  }
  co_await source->end();
  if (failed) std::rethrow_exception(failed);
  co_return std::move(*got);
}

}  // namespace

task<websocket> client::open_websocket_with(std::string url, websocket_options options) {
  return core_->open_websocket(std::move(url), std::move(options));
}
task<answer> client::open(outgoing what) { return open_one(core_, std::move(what)); }
task<fetched> client::send(outgoing what) { return fetch_whole(core_, std::move(what)); }
task<fetched> client::get(std::string url) { return send(outgoing("GET", std::move(url))); }
task<fetched> client::head(std::string url) { return send(outgoing("HEAD", std::move(url))); }
task<fetched> client::post(std::string url, std::string type, std::string body) {
  return send(outgoing("POST", std::move(url)).body(type, std::move(body)));
}
task<fetched> client::query(std::string url, std::string type, std::string body) {
  return send(outgoing("QUERY", std::move(url)).body(type, std::move(body)));
}

}  // namespace heddle::http
