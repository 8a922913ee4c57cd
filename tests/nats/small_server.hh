// SPDX-License-Identifier: MIT
// Servers of NATS for tests on every driver: one cluster with several doors, in one color. It has
// subjects, groups, requests, and of JetStream streams, ids, durable consumers and
// acknowledgements. A test ends doors, and lets questions and acknowledgements go astray.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/http/detail/json.hh"
#include "heddle/io/tcp.hh"
#include "heddle/nats/message.hh"
#include "heddle/sync/condition.hh"

namespace heddle::test {

using json_value = http::detail::json;

inline bool subject_fits(std::string_view pattern, std::string_view subject) {
  for (;;) {
    const std::string_view want = pattern.substr(0, pattern.find('.'));
    const std::string_view word = subject.substr(0, subject.find('.'));
    if (want == ">") return !subject.empty();
    if (want != "*" && want != word) return false;
    const bool pattern_ends = want.size() == pattern.size();
    const bool subject_ends = word.size() == subject.size();
    if (pattern_ends || subject_ends) return pattern_ends && subject_ends;
    pattern.remove_prefix(want.size() + 1);
    subject.remove_prefix(word.size() + 1);
  }
}

inline std::vector<std::string> words_of(std::string_view text, char between) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == between) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

class small_cluster;

/// One client's connection.
struct nats_client {
  stream on;
  std::string out;
  condition out_changed;
  bool ended = false;
  std::map<std::uint64_t, std::pair<std::string, std::string>> subscribed;  // pattern, group

  void send(std::string_view text) {
    out += text;
    out_changed.notify_all();
  }
  void cut() {
    ended = true;
    out_changed.notify_all();
    on.reset_on_close();
    on.close();
  }
};

/// A message with its fields as they came.
struct nats_text {
  std::string subject, reply, head, body;
  [[nodiscard]] std::string value_of(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == head.npos) return "";
    const std::size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

class small_cluster {
 public:
  std::string info_more = "";         ///< members of INFO, each behind a comma
  std::string refuses_with = "";      ///< an error for each CONNECT
  std::vector<std::string> connects;  ///< the JSON of each CONNECT
  bool answers_pings = true;
  /// Gets each message that a client publishes; false: it goes astray.
  std::function<bool(const nats_text&)> passes = [](const nats_text&) { return true; };
  /// A code and a more exact one with which the next question about streams is refused, each once.
  std::deque<std::pair<int, int>> refusals;
  /// As `passes`, for acknowledgements of stored messages: false: it is stored, and nobody learns.
  std::function<bool(const nats_text&)> confirms = [](const nats_text&) { return true; };
  std::list<std::unique_ptr<nats_client>> clients;
  std::size_t made = 0;  ///< connections in all

  struct stored_text {
    nats_text what;
    std::uint64_t sequence = 0;
  };
  struct consumer {
    std::string filter;
    std::uint64_t next = 0;                       // index into the stream
    std::map<std::uint64_t, unsigned> delivered;  // index, how often; not acknowledged
    nanoseconds ack_wait{};
    std::map<std::uint64_t, time_point> due;
    std::deque<std::pair<std::string, unsigned>> open;  // inbox, messages asked for
  };
  std::string stream_name, stream_subject;
  std::vector<stored_text> kept;
  std::set<std::string> ids;
  std::map<std::string, consumer> consumers;

  /// Serves one door until it is cancelled.
  task<> serve(tcp_listener& door) {
    const auto all = [&](scope& s) -> task<> {
      for (;;) {
        tcp_stream got = co_await door.accept();
        clients.push_back(std::make_unique<nats_client>());
        clients.back()->on = std::move(got);
        ++made;
        s.spawn(client(*clients.back()));
      }
    };
    co_await with_scope(all);
  }
  void cut_all() {
    for (auto& each : clients)
      if (!each->ended) each->cut();
  }
  [[nodiscard]] std::size_t connected() const {
    std::size_t count = 0;
    for (const auto& each : clients) count += each->ended ? 0 : 1;
    return count;
  }

  /// Gives a message to all who have subscribed; returns how many got it.
  std::size_t deliver(const nats_text& m) {
    std::size_t got = 0;
    std::set<std::string> served;
    for (auto& each : clients) {
      if (each->ended) continue;
      for (const auto& [number, what] : each->subscribed) {
        if (!subject_fits(what.first, m.subject)) continue;
        if (!what.second.empty() && !served.insert(what.first + ' ' + what.second).second) continue;
        send_to(*each, number, m);
        ++got;
      }
    }
    return got;
  }

  void publish(const nats_text& m) {
    if (!passes(m)) return;
    if (m.subject.starts_with("$JS.")) return ask(m);
    const std::size_t got = deliver(m);
    if (!stream_subject.empty() && subject_fits(stream_subject, m.subject)) return keep(m);
    if (got == 0 && !m.reply.empty()) deliver({m.reply, "", "NATS/1.0 503\r\n\r\n", ""});
  }

  /// Delivers what may be delivered again; a test that loses acknowledgements calls it in a loop.
  void look_again() {
    for (auto& [name, each] : consumers) pump(name, each);
  }

 private:
  static void send_to(nats_client& c, std::uint64_t number, const nats_text& m) {
    std::string line = m.head.empty() ? "MSG " : "HMSG ";
    line += m.subject + ' ' + std::to_string(number) + ' ';
    if (!m.reply.empty()) line += m.reply + ' ';
    if (!m.head.empty()) line += std::to_string(m.head.size()) + ' ';
    c.send(line + std::to_string(m.head.size() + m.body.size()) + "\r\n" + m.head + m.body +
           "\r\n");
  }
  void answer(const nats_text& to, const std::string& json) { deliver({to.reply, "", "", json}); }
  static std::string error(int code, const std::string& why, int exact = 0) {
    return R"({"error":{"code":)" + std::to_string(code) + R"(,"err_code":)" +
           std::to_string(exact) + R"(,"description":")" + why + "\"}}";
  }

  void keep(const nats_text& m) {
    const std::string id = m.value_of("Nats-Msg-Id");
    const bool is_new = id.empty() || ids.insert(id).second;
    if (is_new) kept.push_back({m, kept.size() + 1});
    if (confirms(m))
      answer(m, R"({"stream":")" + stream_name + R"(","seq":)" + std::to_string(kept.size()) +
                    (is_new ? "}" : R"(,"duplicate":true})"));
    look_again();
  }

  void ask(const nats_text& m) {
    const json_value body = m.body.starts_with('{') ? json_value::parse(m.body) : json_value();
    const auto is = [&](std::string_view what) {
      return m.subject.starts_with(std::string("$JS.API.").append(what));
    };
    const std::string last = m.subject.substr(m.subject.rfind('.') + 1);
    if (m.subject.starts_with("$JS.ACK.")) return acknowledged(m);
    if (!refusals.empty() && is("STREAM.")) {
      const auto [code, exact] = refusals.front();
      refusals.pop_front();
      return answer(m, error(code, "refused", exact));
    }
    if (is("STREAM.CREATE.")) {
      stream_name = last;
      stream_subject = body["subjects"].items().at(0).text();
      return answer(m, R"({"config":{}})");
    }
    if (stream_name.empty()) return answer(m, error(404, "stream not found"));
    if (is("STREAM.INFO."))
      return answer(m, R"({"state":{"messages":)" + std::to_string(kept.size()) + "}}");
    if (is("CONSUMER.DURABLE.CREATE.")) {
      consumer& c = consumers[last];
      c.ack_wait = nanoseconds(static_cast<std::int64_t>(body["config"]["ack_wait"].number()));
      c.filter = body["config"]["filter_subject"].text();
      return answer(m, R"({"name":"x"})");
    }
    const auto at = consumers.find(last);
    if (is("CONSUMER.MSG.NEXT.")) {
      if (at == consumers.end()) {
        deliver({m.reply, "", "NATS/1.0 503\r\n\r\n", ""});
        return;
      }
      at->second.open.emplace_back(m.reply, static_cast<unsigned>(body["batch"].number()));
      return pump(last, at->second);
    }
    if (at == consumers.end()) return answer(m, error(404, "consumer not found"));
    if (is("CONSUMER.DELETE.")) {
      for (const auto& [inbox, count] : at->second.open)
        deliver({inbox, "", "NATS/1.0 409 Consumer Deleted\r\n\r\n", ""});
      consumers.erase(at);
    }
    answer(m, R"({"success":true})");
  }

  void acknowledged(const nats_text& m) {
    const std::vector<std::string> words = words_of(m.subject, '.');
    const auto at = consumers.find(words.at(3));
    if (at == consumers.end()) return;
    const std::uint64_t index = std::stoull(words.at(5)) - 1;
    if (m.body == "+ACK" || m.body == "+TERM") {
      at->second.delivered.erase(index);
      at->second.due.erase(index);
    } else if (m.body.starts_with("-NAK")) {
      at->second.due[index] = {};
      pump(words[3], at->second);
    }
  }

  void pump(const std::string& name, consumer& c) {
    const time_point now = runtime::here().read_clock();
    // A question of a client that has gone gets nothing.
    while (!c.open.empty() && !listens(c.open.front().first)) c.open.pop_front();
    const auto give = [&](std::uint64_t index) {
      auto& [inbox, count] = c.open.front();
      const unsigned times = ++c.delivered[index];
      c.due[index] = now + c.ack_wait;
      nats_text m = kept[index].what;
      m.reply = "$JS.ACK." + stream_name + '.' + name + '.' + std::to_string(times) + '.' +
                std::to_string(index + 1) + ".1.1.0";
      give_to(inbox, m);
      if (--count == 0) c.open.pop_front();
    };
    for (auto& [index, due] : std::map(c.due))
      if (!c.open.empty() && now >= due) give(index);
    for (; !c.open.empty() && c.next < kept.size(); ++c.next)
      if (c.filter.empty() || subject_fits(c.filter, kept[c.next].what.subject)) give(c.next);
  }

  [[nodiscard]] bool listens(const std::string& inbox) const {
    for (const auto& each : clients)
      if (!each->ended)
        for (const auto& [number, what] : each->subscribed)
          if (subject_fits(what.first, inbox)) return true;
    return false;
  }
  /// Sends to the subscription of this inbox, under the message's own subject.
  void give_to(const std::string& inbox, const nats_text& m) {
    for (auto& each : clients)
      if (!each->ended)
        for (const auto& [number, what] : each->subscribed)
          if (subject_fits(what.first, inbox)) return send_to(*each, number, m);
  }

  task<> client(nats_client& c) {
    c.send(R"(INFO {"server_id":"x","headers":true,"max_payload":1048576)" + info_more + "}\r\n");
    const auto both = [&](scope& s) -> task<> {
      s.spawn(writes(c));
      try {
        co_await reads(c);
      } catch (const std::system_error& e) {
        if (e.code() == std::errc::operation_canceled && !c.ended) throw;
      }
      if (!c.ended) c.cut();
    };
    co_await with_scope(both);
  }

  task<> writes(nats_client& c) {
    for (;;) {
      while (c.out.empty() && !c.ended) co_await c.out_changed.wait();
      if (c.ended) co_return;
      std::string batch = std::exchange(c.out, std::string());
      const auto sent = co_await as_expected(c.on.write(std::move(batch)));
      if (!sent) co_return;
    }
  }

  task<> reads(nats_client& c) {
    std::string in;
    for (;;) {
      const std::size_t end = in.find("\r\n");
      if (end == in.npos) {
        received got = co_await c.on.receive();
        if (!got) co_return;
        in += got.text();
        continue;
      }
      std::string line = in.substr(0, end);
      const std::vector<std::string> words = words_of(line, ' ');
      const bool publishes = words[0] == "PUB" || words[0] == "HPUB";
      if (!publishes) in.erase(0, end + 2);
      if (words[0] == "CONNECT") {
        connects.push_back(line.substr(8));
        if (!refuses_with.empty()) {
          co_await c.on.write("-ERR '" + refuses_with + "'\r\n");
          co_return;
        }
      } else if (words[0] == "PING") {
        if (answers_pings || c.subscribed.empty()) c.send("PONG\r\n");
      } else if (words[0] == "SUB") {
        const std::uint64_t number = std::stoull(words.back());
        c.subscribed[number] = {words.at(1), words.size() == 4 ? words[2] : ""};
      } else if (words[0] == "UNSUB") {
        c.subscribed.erase(std::stoull(words.at(1)));
      } else if (publishes) {
        const std::size_t total = std::stoull(words.back());
        while (in.size() < end + 2 + total + 2) {
          received got = co_await c.on.receive();
          if (!got) co_return;
          in += got.text();
        }
        const bool headed = words[0] == "HPUB";
        const std::size_t head = headed ? std::stoull(words.at(words.size() - 2)) : 0;
        nats_text m{words.at(1), words.size() == (headed ? 5u : 4u) ? words[2] : "",
                    in.substr(end + 2, head), in.substr(end + 2 + head, total - head)};
        in.erase(0, end + 2 + total + 2);
        publish(m);
      }
    }
  }
};

/// A cluster of `count` doors on this machine, beside a body of a test.
template <class Body>
task<> with_cluster(std::size_t count, Body body) {
  small_cluster cluster;
  std::vector<tcp_listener> doors;
  for (std::size_t i = 0; i != count; ++i)
    doors.push_back(tcp_listener::listen(address::loopback(0)));
  const auto all = [&](scope& s) -> task<> {
    for (tcp_listener& door : doors) s.spawn(cluster.serve(door));
    std::vector<std::string> places;
    for (const tcp_listener& door : doors) places.push_back(door.local().to_string());
    co_await body(cluster, places);
    s.cancel();
    cluster.cut_all();
  };
  co_await with_scope(all);
}

}  // namespace heddle::test
