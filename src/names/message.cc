// SPDX-License-Identifier: MIT
// See message.hh. An answer counts only if its id and its question are those that were sent (RFC
// 5452 section 9.1), and an address only if it belongs to the name or to an alias of it: other
// records of the same message are never used.
#include "names/message.hh"

#include "heddle/names/options.hh"
#include "names/name.hh"

#if HEDDLE_WITH_CARES
#include <ares.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace heddle::names {

bool asks_servers() noexcept { return true; }

namespace detail {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::uint16_t class_internet = 1, type_cname = 5, type_soa = 6;
enum : unsigned {
  rcode_ok = 0,
  rcode_form = 1,
  rcode_server = 2,
  rcode_name = 3,
  rcode_imp = 4,
  rcode_refused = 5
};

const char* rcode_text(unsigned code) noexcept {
  static constexpr const char* texts[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                          "NXDOMAIN", "NOTIMP",  "REFUSED"};
  return code < std::size(texts) ? texts[code] : nullptr;
}

struct resource {
  std::string owner;
  std::uint16_t type = 0, group = 0;
  std::uint32_t ttl = 0;
  std::size_t at = 0, len = 0;  ///< the data's place and length in the message
};

/// Steps through a message. A method that finds the message damaged gives false; all later ones do
/// the same.
class message_reader {
 public:
  explicit message_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] unsigned number(std::size_t at, std::size_t len) const noexcept {
    unsigned value = 0;
    for (std::size_t i = 0; i < len; ++i)
      value = value << 8 | std::to_integer<unsigned>(bytes_[at + i]);
    return value;
  }
  /// Reads the name at a place, in small letters. Gives the bytes that it takes there, 0 if it is
  /// damaged.
  std::size_t name_at(std::size_t at, std::string& out) const {
    if (at >= bytes_.size()) return 0;
    char* text = nullptr;
    long taken = 0;
    const auto* all = reinterpret_cast<const unsigned char*>(bytes_.data());
    const int code =
        ::ares_expand_name(all + at, all, static_cast<int>(bytes_.size()), &text, &taken);
    if (code == ARES_ENOMEM) throw std::bad_alloc();
    if (code != ARES_SUCCESS || taken <= 0) return 0;
    const std::unique_ptr<char, void (*)(char*)> owned(text,
                                                       [](char* t) { ::ares_free_string(t); });
    out = plain_name(text);
    return static_cast<std::size_t>(taken);
  }
  [[nodiscard]] bool take_question(std::string& name, unsigned& type, unsigned& group) {
    const std::size_t taken = name_at(at_, name);
    if (taken == 0 || !has(taken + 4)) return false;
    type = number(at_ + taken, 2);
    group = number(at_ + taken + 2, 2);
    at_ += taken + 4;
    return true;
  }
  [[nodiscard]] bool take_record(resource& r) {
    const std::size_t taken = name_at(at_, r.owner);
    if (taken == 0 || !has(taken + 10)) return false;
    const std::size_t head = at_ + taken;
    r.type = static_cast<std::uint16_t>(number(head, 2));
    r.group = static_cast<std::uint16_t>(number(head + 2, 2));
    r.ttl = number(head + 4, 4);
    if (r.ttl > 0x7fffffff) r.ttl = 0;  // RFC 2181 section 8
    r.at = head + 10;
    r.len = number(head + 8, 2);
    if (!has(taken + 10 + r.len)) return false;
    at_ = r.at + r.len;
    return true;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] bool has(std::size_t count) const noexcept { return bytes_.size() - at_ >= count; }

  std::span<const std::byte> bytes_;
  std::size_t at_ = header_bytes;
};

/// The address in a record; none if the record's length is not that of its type.
address address_in(const message_reader& in, const resource& r) {
  const std::byte* const data = in.bytes().data() + r.at;
  result<address> made = std::unexpected(std::error_code());
  if (r.type == static_cast<unsigned>(record_type::a) && r.len == 4) {
    ::sockaddr_in four{};
    four.sin_family = AF_INET;
    std::memcpy(&four.sin_addr, data, 4);
    made = address::from(reinterpret_cast<const ::sockaddr*>(&four), sizeof four);
  } else if (r.type == static_cast<unsigned>(record_type::aaaa) && r.len == 16) {
    ::sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    std::memcpy(&six.sin6_addr, data, 16);
    made = address::from(reinterpret_cast<const ::sockaddr*>(&six), sizeof six);
  }
  return made ? *made : address();
}

reply damaged(std::string why) {
  reply r;
  r.is = reply::kind::damaged;
  r.why = std::move(why);
  return r;
}

/// Follows the name through its aliases to the addresses. False if the aliases make no chain.
bool follow(const message_reader& in, const std::vector<resource>& records, const question& q,
            const reply_limits& limits, reply& out) {
  out.name = q.name;
  out.ttl = 0x7fffffff;
  for (std::uint32_t aliases = 0;; ++aliases) {
    const resource* alias = nullptr;
    for (const resource& r : records) {
      if (r.group != class_internet || r.owner != out.name) continue;
      if (r.type == static_cast<std::uint16_t>(q.type)) {
        const address a = address_in(in, r);
        if (!a) return false;
        out.ttl = std::min(out.ttl, r.ttl);
        if (out.addresses.size() < limits.addresses_max &&
            std::ranges::find(out.addresses, a) == out.addresses.end())
          out.addresses.push_back(a);
      } else if (r.type == type_cname && alias == nullptr) {
        alias = &r;
      }
    }
    if (!out.addresses.empty() || alias == nullptr) return true;
    if (aliases == limits.aliases_max) return false;
    out.ttl = std::min(out.ttl, alias->ttl);
    std::string target;
    if (in.name_at(alias->at, target) != alias->len || target.empty()) return false;
    out.name = std::move(target);
  }
}

}  // namespace

std::vector<std::byte> write_question(const question& q, std::uint32_t udp_bytes) {
  unsigned char* bytes = nullptr;
  int len = 0;
  const int code = ::ares_create_query(q.name.c_str(), class_internet, static_cast<int>(q.type),
                                       q.id, 1, &bytes, &len, static_cast<int>(udp_bytes));
  // The name was checked before, so the only failure left is a lack of memory.
  if (code != ARES_SUCCESS) throw std::bad_alloc();
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(
      bytes, [](unsigned char* b) { ::ares_free_string(b); });
  const auto* from = reinterpret_cast<const std::byte*>(bytes);
  return {from, from + len};
}

reply read_reply(std::span<const std::byte> message, const question& q,
                 const reply_limits& limits) {
  reply out;
  if (message.size() < header_bytes || message.size() > 65535) return out;
  message_reader in(message);
  const unsigned flags = in.number(2, 2);
  const unsigned rcode = flags & 0xf;
  const bool is_answer = (flags & 0x8000) != 0, plain_query = (flags & 0x7800) == 0;
  if (in.number(0, 2) != q.id || !is_answer || !plain_query) return out;
  const unsigned questions = in.number(4, 2);
  const bool refusal = rcode != rcode_ok && rcode != rcode_name;
  if (questions != 0 || !refusal) {  // some servers refuse without the question
    std::string name;
    unsigned type = 0, group = 0;
    if (questions != 1 || !in.take_question(name, type, group) || name != q.name ||
        type != static_cast<unsigned>(q.type) || group != class_internet)
      return out;
  }
  if (refusal) {
    const bool edns = limits.edns_sent && (rcode == rcode_form || rcode == rcode_imp);
    out.is = edns ? reply::kind::no_edns : reply::kind::failed;
    const char* text = rcode_text(rcode);
    out.why = text != nullptr ? text : "error code " + std::to_string(rcode);
    return out;
  }
  if ((flags & 0x0200) != 0) {
    out.is = reply::kind::truncated;
    return out;
  }
  std::vector<resource> records;
  for (unsigned left = in.number(6, 2); left > 0; --left)
    if (!in.take_record(records.emplace_back())) return damaged("a record of it is cut off");
  if (!follow(in, records, q, limits, out))
    return damaged("its aliases form no chain, or an address has the wrong length");
  if (!out.addresses.empty()) {
    out.is = reply::kind::addresses;
    return out;
  }
  bool referral = rcode == rcode_ok && (flags & 0x0480) == 0 && in.number(8, 2) > 0;  // AA, RA
  for (unsigned left = in.number(8, 2); left > 0; --left) {
    resource r;
    if (!in.take_record(r)) return damaged("a record of it is cut off");
    if (r.type != type_soa || r.group != class_internet) continue;
    if (r.len < 22) return damaged("its SOA record is too short");  // two names, five numbers
    out.negative_ttl = std::min(r.ttl, in.number(r.at + r.len - 4, 4));
    referral = false;
  }
  if (referral) {
    out.is = reply::kind::failed;
    out.why = "it answers only for its own domains (it is not recursive)";
    return out;
  }
  out.is = rcode == rcode_name ? reply::kind::no_such_name : reply::kind::no_address;
  return out;
}

}  // namespace detail
}  // namespace heddle::names

#else

namespace heddle::names {

bool asks_servers() noexcept { return false; }

namespace detail {

std::vector<std::byte> write_question(const question&, std::uint32_t) { return {}; }
reply read_reply(std::span<const std::byte>, const question&, const reply_limits&) { return {}; }

}  // namespace detail
}  // namespace heddle::names

#endif
