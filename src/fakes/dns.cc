// SPDX-License-Identifier: MIT
// The name server: its table, its faults, and the tasks that answer over UDP and TCP.
#include "heddle/fakes/dns.hh"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fakes/accepting.hh"
#include "fakes/dns_message.hh"
#include "fakes/small_letters.hh"
#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"

namespace heddle::fakes {

using namespace detail;

namespace {

constexpr unsigned aliases_max = 16;  // in one answer
constexpr std::size_t tcp_bytes_max = 65535;

/// The bytes of an address as a record holds them: 4 or 16.
std::string address_bytes(const address& a) {
  // The system's forms: sockaddr_in has the address at 4, sockaddr_in6 at 8 (RFC 3493).
  const auto* const bytes = reinterpret_cast<const char*>(a.native());
  return a.is_v4() ? std::string(bytes + 4, 4) : std::string(bytes + 8, 16);
}

std::string checked_name(std::string_view text) {
  std::string wire = dns_wire_name(text);
  if (wire.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  '"' + std::string(text) +
                      "\" is no name: labels have 1 to 63 bytes, and a name at most 255");
  return wire;
}

std::uint32_t seconds_of(std::chrono::seconds ttl) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ttl.count(), 0, 0x7fffffff));
}

/// An answer on its way: the bytes, and the moment to send them.
struct prepared {
  std::vector<std::string> messages;
  nanoseconds delay{0};
};

}  // namespace

struct dns_server::core {
  explicit core(dns_options with) : options(with) {}

  void add(std::string_view name, std::uint16_t type, std::string data, std::chrono::seconds ttl) {
    std::string owner = checked_name(name);
    const std::string key = small_letters(owner);
    std::vector<dns_record>& of_name = table[key];
    if (type == dns_type_cname)
      records -=
          std::erase_if(of_name, [](const dns_record& r) { return r.type == dns_type_cname; });
    if (records >= options.records_max) {
      if (of_name.empty()) table.erase(key);
      throw failure(std::make_error_code(std::errc::no_buffer_space),
                    "the table of names is full: dns_options::records_max allows " +
                        std::to_string(options.records_max));
    }
    of_name.push_back({std::move(owner), type, seconds_of(ttl), std::move(data)});
    ++records;
  }

  /// The faults for this question; counts it.
  dns_faults take_faults(std::string_view name) {
    auto at = faults.find(dns_name_key(name));
    if (at == faults.end()) at = faults.find("");
    if (at == faults.end()) return {};
    const dns_faults now = at->second;
    if (now.times != 0 && --at->second.times == 0) faults.erase(at);
    return now;
  }

  dns_record zone() const {
    const std::string root(1, '\0');
    std::string data = root + root;
    const std::uint32_t ttl = seconds_of(options.ttl);
    for (const std::uint32_t number : {1u, 3600u, 600u, 86400u, ttl})
      for (int shift = 24; shift >= 0; shift -= 8)
        data += static_cast<char>(number >> shift & 0xff);
    return {root, dns_type_soa, ttl, data};
  }

  dns_answer look_up(const dns_asked& q) const {
    dns_answer answer;
    if (q.group != dns_class_internet) {
      answer.code = dns_code::refused;
      return answer;
    }
    std::string name = dns_name_key(q.name);
    for (unsigned aliases = 0;; ++aliases) {
      const auto at = table.find(name);
      if (at == table.end()) {
        answer.code = dns_code::no_such_name;  // also behind aliases (RFC 6604)
        break;
      }
      const dns_record* alias = nullptr;
      bool found = false;
      for (const dns_record& r : at->second) {
        if (r.type == dns_type_cname) alias = &r;
        if (r.type != q.type) continue;
        answer.answers.push_back(r);
        found = true;
      }
      if (found) return answer;
      if (alias == nullptr) break;
      if (aliases == aliases_max) return answer;
      answer.answers.push_back(*alias);
      name = small_letters(alias->data);
    }
    answer.authorities.push_back(zone());
    return answer;
  }

  /// Notes a message and makes its answer; no messages if it gets none.
  prepared take(std::string_view message, const address& from, bool over_tcp) {
    dns_asked q = read_dns_question(message);
    prepared out;
    if (q.is == dns_asked::kind::ignored) {
      ++dropped;
      return out;
    }
    const std::size_t udp_max =
        q.edns_bytes == 0
            ? dns_plain_udp_bytes
            : std::min<std::size_t>(
                  q.edns_bytes, std::max<std::size_t>(dns_plain_udp_bytes, options.udp_bytes_max));
    const std::size_t bytes_max = over_tcp ? tcp_bytes_max : udp_max;
    if (q.is != dns_asked::kind::question) {
      ++dropped;
      dns_answer refusal;
      refusal.code =
          q.is == dns_asked::kind::malformed ? dns_code::format_error : dns_code::not_implemented;
      out.messages.push_back(write_dns_answer(q, refusal, bytes_max, options.udp_bytes_max));
      return out;
    }
    ++asked;
    questions.push_back({q.name, q.type, q.group, over_tcp, q.edns_bytes, from, clock::now()});
    if (questions.size() > options.questions_kept_max) questions.pop_front();
    const dns_faults f = take_faults(q.name);
    if (f.silent) return out;
    out.delay = f.delay;
    dns_answer answer;
    answer.code = f.code;
    if (f.code == dns_code::no_error) answer = look_up(q);
    answer.truncated = f.truncated && !over_tcp;
    std::string right = write_dns_answer(q, answer, bytes_max, options.udp_bytes_max);
    for (unsigned i = 1; i <= f.wrong_ids; ++i) {
      dns_asked other = q;
      other.id = static_cast<std::uint16_t>(q.id + i);
      if (other.id == q.id) break;  // all 65,535 others were sent
      out.messages.push_back(write_dns_answer(other, answer, bytes_max, options.udp_bytes_max));
    }
    out.messages.push_back(std::move(right));
    return out;
  }

  task<> send(const udp_socket& udp, address to, prepared what) {
    if (what.delay > nanoseconds::zero()) co_await sleep_for(what.delay);
    for (const std::string& each : what.messages) {
      const auto sent = co_await as_expected(udp.send_to(to, std::string_view(each)));
      if (!sent) co_return;  // a client that has gone
    }
  }

  task<> over_udp(scope& s, const udp_socket& udp) {
    std::string room(tcp_bytes_max, '\0');
    for (;;) {
      const auto got = co_await as_expected(udp.receive_from(room));
      if (!got && ends_serving(got.error())) co_return;
      if (!got) {  // a client that has gone: the system tells it here
        co_await sleep_for(error_pause);
        continue;
      }
      prepared out = take(std::string_view(room).substr(0, got->size), got->from, false);
      if (out.messages.empty()) continue;
      if (s.live() >= options.waiting_max) {
        ++dropped;
        continue;
      }
      s.spawn(send(udp, got->from, std::move(out)));
    }
  }

  task<> connection(tcp_stream on) {
    const address from = on.peer();
    std::string message;
    for (;;) {
      char head[2];
      const auto begun = co_await as_expected(with_timeout(on.read(head), options.idle));
      if (!begun || *begun != sizeof head) co_return;
      message.resize(std::size_t{static_cast<unsigned char>(head[0])} << 8 |
                     static_cast<unsigned char>(head[1]));
      const auto rest = co_await as_expected(with_timeout(on.read(message), options.idle));
      if (!rest || *rest != message.size()) co_return;
      prepared out = take(message, from, true);
      if (out.delay > nanoseconds::zero()) co_await sleep_for(out.delay);
      for (const std::string& each : out.messages) {
        std::string bytes;
        bytes += static_cast<char>(each.size() >> 8);
        bytes += static_cast<char>(each.size() & 0xff);
        bytes += each;
        const auto sent =
            co_await as_expected(with_timeout(on.write(std::string_view(bytes)), options.idle));
        if (!sent) co_return;
      }
    }
  }

  task<> over_tcp(scope& s, const tcp_listener& tcp) {
    return accept_each(tcp, [this, &s](tcp_stream on) {
      if (s.live() >= options.connections_max) {
        ++dropped;
        on.reset_on_close();
      } else {
        s.spawn(connection(std::move(on)));
      }
    });
  }

  dns_options options;
  std::map<std::string, std::vector<dns_record>> table;  // by dns_name_key()
  std::map<std::string, dns_faults> faults;              // by dns_name_key(), "" for others
  std::size_t records = 0;
  std::deque<dns_question> questions;
  std::uint64_t asked = 0, dropped = 0;
};

dns_server::dns_server(dns_options options) : core_(std::make_unique<core>(options)) {}
dns_server::~dns_server() = default;

void dns_server::add_address(std::string_view name, const address& a) {
  add_address(name, a, core_->options.ttl);
}

void dns_server::add_address(std::string_view name, const address& a, std::chrono::seconds ttl) {
  if (!a)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the address of " + std::string(name) + " is empty");
  const address plain = a.unmapped();
  core_->add(name, plain.is_v4() ? dns_type_a : dns_type_aaaa, address_bytes(plain), ttl);
}

void dns_server::add_alias(std::string_view name, std::string_view target) {
  add_alias(name, target, core_->options.ttl);
}

void dns_server::add_alias(std::string_view name, std::string_view target,
                           std::chrono::seconds ttl) {
  core_->add(name, dns_type_cname, checked_name(target), ttl);
}

void dns_server::remove(std::string_view name) {
  const auto at = core_->table.find(dns_name_key(name));
  if (at == core_->table.end()) return;
  core_->records -= at->second.size();
  core_->table.erase(at);
}

void dns_server::set_faults(std::string_view name, dns_faults faults) {
  if (!name.empty()) static_cast<void>(checked_name(name));
  if (faults.code > dns_code(15))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "dns_faults::code has four bits, and cannot be " +
                      std::to_string(static_cast<unsigned>(faults.code)));
  if (faults.delay < nanoseconds::zero())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "dns_faults::delay is negative");
  core_->faults[dns_name_key(name)] = faults;
}

void dns_server::clear_faults() noexcept { core_->faults.clear(); }

task<> dns_server::serve_udp(const udp_socket& udp) {
  const auto all = [this, &udp](scope& s) { return core_->over_udp(s, udp); };
  co_await with_scope(all);
}

task<> dns_server::serve_tcp(const tcp_listener& tcp) {
  const auto all = [this, &tcp](scope& s) { return core_->over_tcp(s, tcp); };
  co_await with_scope(all);
}

task<> dns_server::serve(const udp_socket& udp, const tcp_listener& tcp) {
  const auto all = [this, &udp, &tcp](scope& s) -> task<> {
    s.spawn(serve_tcp(tcp));
    return serve_udp(udp);
  };
  co_await with_scope(all);
}

const std::deque<dns_question>& dns_server::questions() const noexcept { return core_->questions; }
std::uint64_t dns_server::asked() const noexcept { return core_->asked; }
std::uint64_t dns_server::dropped() const noexcept { return core_->dropped; }

std::size_t dns_server::asked(std::string_view name) const {
  const std::string key = dns_name_key(name);
  std::size_t count = 0;
  for (const dns_question& q : core_->questions) count += dns_name_key(q.name) == key ? 1 : 0;
  return count;
}

}  // namespace heddle::fakes
