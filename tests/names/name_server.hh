// SPDX-License-Identifier: MIT
// A name server of the test's own, over UDP and TCP on one port, and messages made by hand. The
// test gives a function from a question to what is sent back, and when.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"
#include "heddle/names/resolver.hh"
#include "support/drivers.hh"

namespace heddle::test {

inline constexpr unsigned type_a = 1, type_cname = 5, type_soa = 6, type_aaaa = 28;

/// A question as the server got it.
struct asked_name {
  std::string name;
  unsigned type = 0;
  std::string bytes;  // the whole message
  bool tcp = false;
  bool edns = false;
  std::size_t number = 0;  // of all questions, from 0
};

inline std::string number_bytes(std::uint64_t value, int len) {
  std::string out;
  for (int i = len - 1; i >= 0; --i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  return out;
}

inline std::string name_bytes(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    out += static_cast<char>(end);
    out += name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return out + '\0';
}

/// An answer under construction.
class made_answer {
 public:
  explicit made_answer(const asked_name& to)
      : id(to.bytes.substr(0, 2)), name_(to.name), type_(to.type) {}

  made_answer& a(const std::string& owner, std::uint32_t ttl, const char* text) {
    std::string data(4, '\0');
    ::inet_pton(AF_INET, text, data.data());
    return record(owner, type_a, ttl, data);
  }
  made_answer& aaaa(const std::string& owner, std::uint32_t ttl, const char* text) {
    std::string data(16, '\0');
    ::inet_pton(AF_INET6, text, data.data());
    return record(owner, type_aaaa, ttl, data);
  }
  made_answer& cname(const std::string& owner, std::uint32_t ttl, const std::string& target) {
    return record(owner, type_cname, ttl, name_bytes(target));
  }
  made_answer& record(const std::string& owner, unsigned type, std::uint32_t ttl,
                      const std::string& data) {
    ++answers_;
    answer_part_ += record_bytes(owner, type, ttl, data);
    return *this;
  }
  /// The zone's record behind a denial.
  made_answer& soa(std::uint32_t ttl, std::uint32_t minimum) {
    ++authorities_;
    authority_part_ += record_bytes("test", type_soa, ttl,
                                    name_bytes("ns.test") + name_bytes("root.test") +
                                        number_bytes(1, 16) + number_bytes(minimum, 4));
    return *this;
  }
  made_answer& code(unsigned rcode) {
    rcode_ = rcode;
    return *this;
  }
  made_answer& truncated() {
    flags_ |= 0x0200;
    return *this;
  }
  made_answer& flags(unsigned set) {
    flags_ = set;
    return *this;
  }
  made_answer& question(const std::string& name, unsigned type) {
    name_ = name;
    type_ = type;
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    return id + number_bytes(flags_ | rcode_, 2) + number_bytes(1, 2) + number_bytes(answers_, 2) +
           number_bytes(authorities_, 2) + number_bytes(0, 2) + name_bytes(name_) +
           number_bytes(type_, 2) + number_bytes(1, 2) + answer_part_ + authority_part_;
  }

  std::string id;

 private:
  /// The owner that was asked for is written as a pointer, as servers do.
  [[nodiscard]] std::string record_bytes(const std::string& owner, unsigned type, std::uint32_t ttl,
                                         const std::string& data) const {
    return (owner == name_ ? number_bytes(0xc00c, 2) : name_bytes(owner)) + number_bytes(type, 2) +
           number_bytes(1, 2) + number_bytes(ttl, 4) + number_bytes(data.size(), 2) + data;
  }

  std::string name_, answer_part_, authority_part_;
  unsigned type_, answers_ = 0, authorities_ = 0, rcode_ = 0;
  unsigned flags_ = 0x8180;  // an answer, recursion asked for and available
};

/// A message to send, some time after the question came.
struct sent_back {
  std::string bytes;
  nanoseconds after{0};
};
using sent_list = std::vector<sent_back>;
using name_handler = std::function<sent_list(const asked_name&)>;

inline sent_list now(const made_answer& a) { return {{a.bytes()}}; }
inline sent_list later(const made_answer& a, nanoseconds after) { return {{a.bytes(), after}}; }

/// Two addresses of each version for a name that every server has.
inline sent_list usual(const asked_name& q) {
  made_answer a(q);
  if (q.type == type_a) return now(a.a(q.name, 60, "192.0.2.9").a(q.name, 60, "192.0.2.3"));
  return now(a.aaaa(q.name, 60, "2001:db8::9").aaaa(q.name, 60, "2001:db8::3"));
}

class name_server {
 public:
  explicit name_server(name_handler handle) : handle_(std::move(handle)) {
    for (int i = 0;; ++i) {
      try {
        udp_ = udp_socket::bind(address::loopback(0));
        tcp_ = tcp_listener::listen(udp_.local());
        return;
      } catch (const std::system_error&) {
        if (i == 20) throw;  // another program has the TCP port each time
      }
    }
  }

  [[nodiscard]] address at() const { return udp_.local(); }
  [[nodiscard]] std::size_t count(const std::string& name = "") const {
    std::size_t n = 0;
    for (const asked_name& q : questions) n += name.empty() || q.name == name ? 1 : 0;
    return n;
  }

  task<> serve() {
    scope s;
    s.spawn(serve_tcp(s));
    std::string room(2048, '\0');
    for (;;) {
      const auto got = co_await as_expected(udp_.receive_from(room));
      if (!got && got.error() == std::errc::operation_canceled) break;
      if (!got) continue;  // a client that has gone
      for (sent_back& each : note(room.substr(0, got->size), false))
        s.spawn(send(got->from, std::move(each)));
    }
    s.cancel();
    co_await s.settled();
  }

  std::vector<asked_name> questions;

 private:
  sent_list note(const std::string& bytes, bool tcp) {
    asked_name q;
    q.bytes = bytes;
    q.tcp = tcp;
    q.number = questions.size();
    std::size_t at = 12;
    while (at < bytes.size() && bytes[at] != 0) {
      const auto len = static_cast<std::size_t>(bytes[at]);
      if (!q.name.empty()) q.name += '.';
      q.name += bytes.substr(at + 1, len);
      at += 1 + len;
    }
    q.type = static_cast<unsigned char>(bytes.at(at + 2));
    q.edns = bytes.at(11) == 1;  // one additional record
    questions.push_back(q);
    return handle_(q);
  }
  task<> send(address to, sent_back what) {
    if (what.after > nanoseconds::zero()) co_await sleep_for(what.after);
    const auto sent = co_await as_expected(udp_.send_to(to, std::string_view(what.bytes)));
    static_cast<void>(sent);
  }
  task<> serve_tcp(scope& s) {
    for (;;) {
      auto on = co_await as_expected(tcp_.accept());
      if (!on) co_return;
      s.spawn(connection(std::move(*on)));
    }
  }
  task<> connection(tcp_stream on) {
    std::string head(2, '\0');
    auto got = co_await as_expected(on.read(head));
    if (!got || *got != 2) co_return;
    std::string body(
        static_cast<unsigned char>(head[0]) * 256u + static_cast<unsigned char>(head[1]), '\0');
    got = co_await as_expected(on.read(body));
    if (!got || *got != body.size()) co_return;
    for (const sent_back& each : note(body, true)) {
      if (each.after > nanoseconds::zero()) co_await sleep_for(each.after);
      const std::string bytes = number_bytes(each.bytes.size(), 2) + each.bytes;
      const auto sent = co_await as_expected(on.write(std::string_view(bytes)));
      static_cast<void>(sent);
    }
  }

  name_handler handle_;
  udp_socket udp_;
  tcp_listener tcp_;
};

/// Options that ask these servers and read no file of the machine.
inline names::resolver_options asking(std::vector<address> servers) {
  names::resolver_options o;
  o.servers = std::move(servers);
  o.files.hosts = "";
  return o;
}

/// Runs body(server) beside a server, which is then cancelled.
template <class Body>
task<> with_name_server(name_handler handle, Body body) {
  name_server server(std::move(handle));
  scope s;
  s.spawn(server.serve());
  try {
    co_await body(server);
  } catch (...) {
    s.fail(std::current_exception());
  }
  s.cancel();
  co_await s.join();
}

/// The addresses as text, with their ports; or the problem's text.
inline std::string text_of(const names::outcome& got) {
  if (!got) return got.error().text;
  std::string text;
  for (const address& a : got->addresses) text += (text.empty() ? "" : " ") + a.to_string();
  return text;
}

}  // namespace heddle::test

/// A test that asks name servers, on every driver.
#define NAMES_TEST(sentence) DRIVER_TEST(names, sentence)
