// SPDX-License-Identifier: MIT
// From one connection to the next: greeting, reading, writing, asking whether the server is alive.
#include <algorithm>

#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "heddle/probe/json.hh"
#include "heddle/sched/runtime.hh"
#include "nats/core.hh"

namespace heddle::nats::detail {
namespace {

constexpr unsigned silent_max = 2;  // answers that a server may owe

[[noreturn]] void end_by(std::errc code, const std::string& why) {
  throw failure(std::make_error_code(code), why);
}

task<wire_item> next_item(const stream& from, wire_reader& in) {
  for (;;) {
    if (auto item = in.next()) co_return std::move(*item);
    received got = co_await from.receive();
    if (!got) end_by(std::errc::connection_reset, "the server closed the connection");
    in.feed(got.text());
  }
}

/// A span between half and all of this one, so that many clients do not come at one moment.
nanoseconds spread(nanoseconds span) {
  const std::int64_t half = span.count() / 2;
  const std::uint64_t drawn = runtime::here().io().random();
  return nanoseconds(half +
                     static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(half) + 1)));
}

}  // namespace

void connection_core::tell(const std::string& text) const {
  if (options.log) options.log("nats: " + text);
}

task<> connection_core::run() {
  HEDDLE_ASSERT(phase_ == phase::idle,
                "run() of a connection to NATS was called twice, or after its end: spawn it once");
  const auto self = shared_from_this();
  struct run_mark {
    phase& now;
    ~run_mark() {
      if (now != phase::closed) now = phase::idle;
    }
  } mark{phase_};

  nanoseconds pause = options.retry;
  for (;;) {
    phase_ = phase::connecting;
    const server_place at = servers_.next();
    wire_reader in({options.control_line_max, options.info_max, options.payload_max});
    time_point began = {};
    std::error_code why;
    std::string text;
    try {
      stream s = co_await with_timeout(open(at, in), options.connect_timeout);
      server = at.text();
      began = runtime::here().read_clock();
      begin_session();
      tell("connected to " + server);
      co_await session(std::move(s), in);
    } catch (const std::system_error& e) {
      why = e.code();
      text = e.what();
    }
    const bool had_session = connected();
    end_session();
    if (why == std::errc::operation_canceled) throw failure(why);
    if (why == std::errc::permission_denied) throw failure(why, text);
    tell((had_session ? "lost the connection to " : "cannot connect to ") + at.text() + ": " +
         text);
    const bool lasted = had_session && runtime::here().read_clock() - began >= options.retry_max;
    if (lasted) pause = options.retry;
    if (lasted || (!had_session && !servers_.begins_round())) continue;
    co_await sleep_for(spread(pause));
    pause = std::min(2 * pause, options.retry_max);
  }
}

task<stream> connection_core::open(server_place at, wire_reader& in) {
  stream s;
  if (options.dial) {
    s = co_await options.dial(at.host, at.port);
  } else {
    s = co_await tcp_connect(at.host, at.port);
  }
  const wire_item greeting = co_await next_item(s, in);
  if (greeting.what != wire_item::kind::info)
    end_by(std::errc::bad_message, "the server does not greet as NATS does");
  take_info(greeting.text);
  const json_value info = json_value::parse(greeting.text);
  if (options.secure) {
    if (!in.empty()) end_by(std::errc::bad_message, "the server sent something before TLS");
    s = co_await options.secure(std::move(s), at.host);
  } else if (info["tls_required"].truth()) {
    end_by(std::errc::protocol_error,
           "the server demands TLS: set connection_options::secure (see options.hh)");
  }
  const std::string line = connect_line();
  co_await s.write(line);
  for (;;) {
    wire_item item = co_await next_item(s, in);
    if (item.what == wire_item::kind::pong) break;
    if (item.what == wire_item::kind::error) {
      const bool refused =
          item.text.find("uthori") != item.text.npos || item.text.find("uthenti") != item.text.npos;
      end_by(refused ? std::errc::permission_denied : std::errc::connection_refused,
             at.text() + " answers " + item.text +
                 (refused ? ": check user, password and token of the options" : ""));
    }
    take(std::move(item));
  }
  co_return s;
}

std::string connection_core::connect_line() const {
  std::string made = R"(CONNECT {"verbose":false,"pedantic":false,"lang":"c++","version":"1",)"
                     R"("protocol":1,"echo":true,"headers":true,"no_responders":true)";
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) made.append(",\"").append(name).append("\":").append(json_quoted(value));
  };
  made.append(R"(,"tls_required":)").append(options.secure ? "true" : "false");
  add("name", options.name);
  add("user", options.who.user);
  add("pass", options.who.password);
  add("auth_token", options.who.token);
  return made + "}\r\nPING\r\n";
}

task<> connection_core::session(stream s, wire_reader& in) {
  const auto work = [&](scope& both) -> task<> {
    both.spawn(write(s));
    both.spawn(watch());
    co_await read(s, in);
  };
  co_await with_scope(work);
}

task<> connection_core::read(stream s, wire_reader& in) {
  for (;;) {
    wire_item item = co_await next_item(s, in);
    silent_ = 0;
    take(std::move(item));
  }
}

task<> connection_core::write(stream s) {
  for (;;) {
    while (unsent_.empty() && control_.empty()) {
      if (phase_ == phase::leaving) end_by(std::errc::connection_reset, "the server will end soon");
      co_await unsent_changed_.wait();
    }
    in_doubt_ = true;
    std::string batch = std::exchange(control_, std::string());
    if (batch.empty()) {
      batch = std::exchange(unsent_, std::string());
    } else {
      batch += std::exchange(unsent_, std::string());
    }
    unsent_pings_ = 0;
    room_.notify_all();
    co_await s.write(std::move(batch));
  }
}

task<> connection_core::watch() {
  for (;;) {
    co_await sleep_for(options.ping_every);
    if (silent_ == silent_max) end_by(std::errc::timed_out, "the server does not answer");
    ++silent_;
    send_ping(event<bool>());
  }
}

void connection_core::take(wire_item&& item) {
  switch (item.what) {
    case wire_item::kind::message:
      deliver(std::move(item));
      break;
    case wire_item::kind::ping:
      control_ += "PONG\r\n";
      unsent_changed_.notify_one();
      break;
    case wire_item::kind::pong:
      if (pings_.empty()) break;
      {
        const event<bool> asked = std::move(pings_.front());
        pings_.pop_front();
        if (pings_.size() == unsent_pings_ && unsent_.empty()) in_doubt_ = false;
        asked.trigger(true);
      }
      break;
    case wire_item::kind::info:
      take_info(item.text);
      break;
    case wire_item::kind::error:
      take_error(item.text);
      break;
    case wire_item::kind::ok:
      break;
  }
}

void connection_core::take_info(std::string_view text) {
  const json_value info = json_value::parse(text);
  const double most = info["max_payload"].number();
  payload_max_ = options.payload_max;
  if (most >= 1 && most < static_cast<double>(payload_max_))
    payload_max_ = static_cast<std::size_t>(most);
  if (options.learn_servers)
    for (const json_value& each : info["connect_urls"].items()) servers_.learn(each.text());
  if (info["ldm"].truth() && servers_.size() > 1 && phase_ == phase::connected) {
    phase_ = phase::leaving;
    unsent_changed_.notify_all();
  }
}

void connection_core::take_error(const std::string& text) const {
  // The server goes on after this one, and ends the connection after all others.
  if (text.find("ermissions") == text.npos)
    end_by(std::errc::connection_reset, "the server says " + text);
  tell("the server says " + text);
}

void connection_core::begin_session() {
  phase_ = phase::connected;
  ++counters.connects;
  silent_ = 0;
  for (const auto& [number, each] : subscriptions_)
    append_subscribe(control_, each->pattern, each->options.group, number);
  wake_all();
}

void connection_core::end_session() noexcept {
  control_.clear();
  if (!connected()) return;
  phase_ = phase::connecting;
  server.clear();
  if (std::exchange(in_doubt_, false)) ++losses_;
  while (pings_.size() > unsent_pings_) {
    const event<bool> asked = std::move(pings_.front());
    pings_.pop_front();
    asked.trigger(false);
  }
  for (auto& [key, answer] : requests_) answer.unblock();
  wake_all();
}

}  // namespace heddle::nats::detail
