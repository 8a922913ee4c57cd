// SPDX-License-Identifier: MIT
// Reading and writing DNS messages; see dns_message.hh.
#include "fakes/dns_message.hh"

#include <algorithm>

#include "fakes/small_letters.hh"

namespace heddle::fakes::detail {
namespace {

constexpr std::uint16_t flag_answer = 0x8000, flag_truncated = 0x0200;
constexpr std::uint16_t flag_authoritative = 0x0400, flag_recursion_available = 0x0080;
constexpr std::uint16_t flag_recursion_desired = 0x0100, operation_bits = 0x7800;
constexpr unsigned pointers_max = 128;  // more than any name needs: a loop of pointers ends here

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void put_dns_number(std::string& out, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

void put_label_text(std::string& out, std::string_view label) {
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte > 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += '\\';
      out += static_cast<char>('0' + byte / 100);
      out += static_cast<char>('0' + byte / 10 % 10);
      out += static_cast<char>('0' + byte % 10);
    }
  }
}

/// Reads a message from its front on. Once it has found damage, it gives zeros and reads no more.
class dns_reader {
 public:
  explicit dns_reader(std::string_view message) : message_(message) {}

  std::uint32_t number(std::size_t bytes) {
    if (failed_ || message_.size() - at_ < bytes) {
      failed_ = true;
      return 0;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i != bytes; ++i)
      value = value << 8 | static_cast<unsigned char>(message_[at_ + i]);
    at_ += bytes;
    return value;
  }
  void skip(std::size_t bytes) {
    if (failed_ || message_.size() - at_ < bytes) {
      failed_ = true;
    } else {
      at_ += bytes;
    }
  }
  /// Reads a name; its text goes to `out`, "." for the root.
  void name(std::string& out) {
    out.clear();
    std::size_t at = at_, total = 1;
    bool jumped = false;
    for (unsigned pointers = 0; !failed_;) {
      if (at >= message_.size()) return fail();
      const auto length = static_cast<unsigned char>(message_[at]);
      if (length >= 0xc0) {  // a pointer (RFC 1035 section 4.1.4)
        if (at + 1 >= message_.size() || ++pointers > pointers_max) return fail();
        const std::size_t target =
            (length & 0x3fu) << 8 | static_cast<unsigned char>(message_[at + 1]);
        if (!jumped) at_ = at + 2;
        jumped = true;
        if (target >= at) return fail();
        at = target;
        continue;
      }
      total += length + 1u;
      if (length > 63 || total > dns_name_bytes_max + 1 || message_.size() - at - 1 < length)
        return fail();
      if (length == 0) {
        if (!jumped) at_ = at + 1;
        if (out.empty()) out = ".";
        return;
      }
      if (!out.empty()) out += '.';
      put_label_text(out, message_.substr(at + 1, length));
      at += length + 1u;
    }
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  void fail() { failed_ = true; }

  std::string_view message_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

void put_record(std::string& out, const dns_record& r) {
  out += r.owner;
  put_dns_number(out, r.type, 2);
  put_dns_number(out, dns_class_internet, 2);
  put_dns_number(out, r.ttl_s, 4);
  put_dns_number(out, static_cast<std::uint32_t>(r.data.size()), 2);
  out += r.data;
}

}  // namespace

std::string dns_wire_name(std::string_view text) {
  std::string out, label;
  if (text == ".") return std::string(1, '\0');
  const auto end_label = [&] {
    if (label.empty() || label.size() > 63) return false;
    out += static_cast<char>(label.size());
    out += label;
    label.clear();
    return true;
  };
  for (std::size_t i = 0; i != text.size(); ++i) {
    const char c = text[i];
    if (c == '.') {
      if (!end_label()) return {};
      if (i + 1 == text.size()) break;  // the dot at the end
    } else if (c != '\\') {
      label += c;
    } else if (i + 3 < text.size() && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
               is_digit(text[i + 3])) {
      const int byte = (text[i + 1] - '0') * 100 + (text[i + 2] - '0') * 10 + (text[i + 3] - '0');
      if (byte > 255) return {};
      label += static_cast<char>(byte);
      i += 3;
    } else if (i + 1 < text.size() && !is_digit(text[i + 1])) {
      label += text[++i];
    } else {
      return {};
    }
  }
  if (!label.empty() && !end_label()) return {};
  if (out.empty()) return {};
  out += '\0';
  return out.size() <= dns_name_bytes_max ? out : std::string();
}

std::string dns_name_key(std::string_view text) {
  return small_letters(dns_wire_name(text));  // a length is no letter: it is at most 63
}

dns_asked read_dns_question(std::string_view message) {
  dns_asked asked;
  if (message.size() < dns_head_bytes) return asked;
  dns_reader in(message);
  asked.id = static_cast<std::uint16_t>(in.number(2));
  asked.flags = static_cast<std::uint16_t>(in.number(2));
  if ((asked.flags & flag_answer) != 0) return asked;
  const std::uint32_t questions = in.number(2), answers = in.number(2);
  const std::uint32_t authorities = in.number(2), additional = in.number(2);
  if ((asked.flags & operation_bits) != 0) {
    asked.is = dns_asked::kind::not_implemented;
    return asked;
  }
  asked.is = dns_asked::kind::malformed;
  if (questions != 1 || answers != 0 || authorities != 0) return asked;
  std::string name, owner;
  in.name(name);
  const auto type = static_cast<std::uint16_t>(in.number(2));
  const auto group = static_cast<std::uint16_t>(in.number(2));
  if (in.failed()) return asked;
  const std::size_t end = in.at();
  std::uint16_t edns_bytes = 0;
  for (std::uint32_t i = 0; i != additional && !in.failed(); ++i) {
    in.name(owner);
    const std::uint32_t record = in.number(2), bytes = in.number(2);
    in.skip(4);
    in.skip(in.number(2));
    if (record != dns_type_opt || in.failed()) continue;
    if (owner != "." || edns_bytes != 0) return asked;  // RFC 6891 section 6.1.1
    edns_bytes = static_cast<std::uint16_t>(std::max<std::uint32_t>(bytes, dns_plain_udp_bytes));
  }
  if (in.failed() || in.at() != message.size()) return asked;
  asked.is = dns_asked::kind::question;
  asked.question_bytes = message.substr(dns_head_bytes, end - dns_head_bytes);
  asked.name = std::move(name);
  asked.type = type;
  asked.group = group;
  asked.edns_bytes = edns_bytes;
  return asked;
}

std::string write_dns_answer(const dns_asked& to, const dns_answer& answer, std::size_t bytes_max,
                             std::uint16_t edns_bytes) {
  const bool edns = to.edns_bytes != 0;
  std::string sections = to.question_bytes;
  for (const dns_record& r : answer.answers) put_record(sections, r);
  for (const dns_record& r : answer.authorities) put_record(sections, r);
  constexpr std::size_t opt_bytes = 11;
  const bool too_long = dns_head_bytes + sections.size() + (edns ? opt_bytes : 0) > bytes_max;
  const bool truncated = answer.truncated || too_long;
  if (truncated) sections = to.question_bytes;
  std::string out;
  put_dns_number(out, to.id, 2);
  put_dns_number(out,
                 flag_answer | (to.flags & (operation_bits | flag_recursion_desired)) |
                     flag_authoritative | flag_recursion_available |
                     (truncated ? flag_truncated : 0u) | static_cast<unsigned>(answer.code),
                 2);
  put_dns_number(out, to.question_bytes.empty() ? 0 : 1, 2);
  const auto count = [&](const std::vector<dns_record>& records) {
    put_dns_number(out, truncated ? 0 : static_cast<std::uint32_t>(records.size()), 2);
  };
  count(answer.answers);
  count(answer.authorities);
  put_dns_number(out, edns ? 1 : 0, 2);
  out += sections;
  if (edns) {
    out += '\0';
    put_dns_number(out, dns_type_opt, 2);
    put_dns_number(out, edns_bytes, 2);
    put_dns_number(out, 0, 4);
    put_dns_number(out, 0, 2);
  }
  return out;
}

}  // namespace heddle::fakes::detail
