// SPDX-License-Identifier: MIT
// The rules of RFC 9112 sections 3.2 (targets, Host), 6 (framing) and 9 (connections). If the RFC
// lets a server repair or refuse a request, this one refuses it, because text that two parsers may
// read differently allows request smuggling.
#include "http/meaning.hh"

#include <algorithm>
#include <initializer_list>

#include "heddle/http/detail/charset.hh"
#include "http/decimal.hh"

namespace heddle::http {
namespace {

bool port_valid(std::string_view port) {
  unsigned number = 0;
  if (port.size() > 5) return false;
  for (char c : port) {
    if (!detail::is_digit(c)) return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number <= 65535;
}

bool escapes_valid(std::string_view text) {
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    if (text.size() - at < 3) return false;
    if (detail::hex_value(text[at + 1]) < 0 || detail::hex_value(text[at + 2]) < 0) return false;
  }
  return true;
}

// Inside the brackets: checks only the characters of an IPv6 address. A server only compares the
// address, so it leaves full validation to resolvers.
bool literal_valid(std::string_view text) {
  std::size_t colons = 0;
  for (char c : text) {
    colons += c == ':';
    if (detail::hex_value(c) < 0 && c != ':' && c != '.') return false;
  }
  return colons >= 2;
}

constexpr std::uint64_t bits(std::initializer_list<header_id> ids) {
  std::uint64_t set = 0;
  for (header_id id : ids) set |= std::uint64_t{1} << static_cast<unsigned>(id);
  return set;
}

constexpr std::uint64_t meaningful = bits({header_id::connection, header_id::content_length,
                                           header_id::transfer_encoding, header_id::expect});

}  // namespace

bool authority_valid(std::string_view text, bool host_needed, bool port_needed) {
  std::string_view host;
  std::size_t port_at;
  if (!text.empty() && text.front() == '[') {
    std::size_t close = text.find(']');
    if (close == text.npos || !literal_valid(text.substr(1, close - 1))) return false;
    host = text.substr(0, close + 1);
    port_at = close + 1;
    if (port_at < text.size() && text[port_at] != ':') return false;
  } else {
    // One pass, because hosts are short and search calls cost more than a look at each byte.
    port_at = 0;
    while (port_at < text.size() && detail::is(text[port_at], detail::plain_host_byte)) ++port_at;
    if (port_at < text.size() && text[port_at] != ':') {
      port_at = std::min(text.find(':'), text.size());
      host = text.substr(0, port_at);
      if (!detail::all(host, detail::host_byte) || !escapes_valid(host)) return false;
    }
    host = text.substr(0, port_at);
  }
  if (host.empty() && (host_needed || !text.empty())) return false;
  if (port_at == text.size()) return !port_needed;
  std::string_view port = text.substr(port_at + 1);
  return port_valid(port) && !(port_needed && port.empty());
}

problem request_meaning::take_target(request_head& head) {
  std::string_view target = head.target();
  if (target.front() == '/' && head.verb_ != method::connect) {
    head.form_ = target_form::origin;
    head.path_at_ = head.target_at_;
    return problem::none;
  }
  if (head.verb_ == method::connect) {
    head.form_ = target_form::authority;
    head.query_at_ = 0;
    head.authority_at_ = head.target_at_;
    head.authority_length_ = head.target_length_;
    if (target.front() == '/' || target.find("://") != target.npos) {
      return problem::target_form_bad;
    }
    return authority_valid(target, true, true) ? problem::none : problem::authority_bad;
  }
  if (target == "*") {
    head.form_ = target_form::asterisk;
    head.path_at_ = head.target_at_;
    return head.verb_ == method::options ? problem::none : problem::target_form_bad;
  }
  return absolute_target(head);
}

problem request_meaning::absolute_target(request_head& head) {
  std::string_view target = head.target();
  std::size_t scheme = target.find(':');
  bool ours = scheme != target.npos && (equal_ignoring_case(target.substr(0, scheme), "http") ||
                                        equal_ignoring_case(target.substr(0, scheme), "https"));
  if (!ours || target.substr(scheme, 3) != "://") return problem::target_form_bad;
  head.form_ = target_form::absolute;
  std::size_t from = scheme + 3;
  std::size_t end = std::min(target.find_first_of("/?", from), target.size());
  head.authority_at_ = head.target_at_ + static_cast<std::uint32_t>(from);
  head.authority_length_ = static_cast<std::uint32_t>(end - from);
  if (end < target.size() && target[end] == '/') {
    head.path_at_ = head.target_at_ + static_cast<std::uint32_t>(end);
  }
  std::string_view authority = target.substr(from, end - from);
  return authority_valid(authority, true, false) ? problem::none : problem::authority_bad;
}

problem request_meaning::take_fields(request_head& head, const limits& bounds,
                                     known_authority* known, std::uint32_t& where) {
  auto at = [&](header_id id) {
    if (head.has(id)) where = head.fields_[head.first_[request_head::bit(id)]].value_at;
  };
  head.keep_alive_ = head.minor_version_ == 1;
  if ((head.seen_ & meaningful) != 0) {
    connection(head);
    header_id culprit = header_id::transfer_encoding;
    const problem what = framing_of(head, bounds, culprit);
    if (what != problem::none) {
      at(culprit);
      return what;
    }
    // RFC 9110 section 10.1.1: ignore it from an HTTP/1.0 client; without a body there is nothing
    // to wait for.
    head.expects_continue_ = head.minor_version_ == 1 && head.body_ != framing::none &&
                             equal_ignoring_case(head.value(header_id::expect), "100-continue");
  }
  // The last check: a caller that lets clients leave out Host then knows the rest of the meaning.
  at(header_id::host);
  if (head.repeated(header_id::host)) return problem::host_repeated;
  if (!head.has(header_id::host))
    return head.minor_version_ == 1 ? problem::host_missing : problem::none;
  const std::string_view host = head.value(header_id::host);
  if (known != nullptr && known->is(host)) return problem::none;
  if (!authority_valid(host, false, false)) return problem::host_bad;
  if (known != nullptr) known->note(host);
  return problem::none;
}

problem request_meaning::framing_of(request_head& head, const limits& bounds, header_id& culprit) {
  if (head.has(header_id::transfer_encoding)) {
    if (head.has(header_id::content_length)) return problem::length_and_encoding;
    if (head.minor_version_ == 0) return problem::encoding_in_http10;
    head.body_ = framing::chunked;
    return codings(head);
  }
  culprit = header_id::content_length;
  if (!head.has(culprit)) return problem::none;
  if (head.repeated(culprit)) return problem::length_repeated;
  std::string_view text = head.value(culprit);
  bool overflow;
  if (!detail::read_decimal(text, head.content_length_, overflow)) {
    bool listed = text.find(',') != text.npos;
    return listed ? problem::length_repeated : problem::length_malformed;
  }
  if (overflow) {
    head.content_length_ = 0;
    return problem::length_overflow;
  }
  head.body_ = framing::length;
  return head.content_length_ > bounds.body_bytes_max ? problem::body_too_large : problem::none;
}

// All Transfer-Encoding lines form one list; only a lone "chunked" is supported.
problem request_meaning::codings(const request_head& head) {
  constexpr auto id = header_id::transfer_encoding;
  std::size_t count = 0;
  std::size_t chunked = 0;
  bool last_is_chunked = false;
  for (std::size_t i = head.next(id, 0); i < head.header_count(); i = head.next(id, i + 1)) {
    std::string_view list = head.header_at(i).value;
    std::string_view element;
    const std::size_t before = count;
    while (take_list_element(list, element)) {
      ++count;
      last_is_chunked = equal_ignoring_case(element, "chunked");
      chunked += last_is_chunked;
    }
    // Refuse an empty line, because a program that reads only that line would see no coding.
    if (count == before) return problem::encoding_not_chunked;
  }
  if (!last_is_chunked) return problem::encoding_not_chunked;
  if (chunked > 1) return problem::encoding_chunked_twice;
  return count == 1 ? problem::none : problem::encoding_unknown;
}

void request_meaning::connection(request_head& head) {
  constexpr auto id = header_id::connection;
  bool close = false;
  bool stay = head.keep_alive_;
  bool upgrade = false;
  for (std::size_t i = head.next(id, 0); i < head.header_count(); i = head.next(id, i + 1)) {
    std::string_view list = head.header_at(i).value;
    std::string_view element;
    while (take_list_element(list, element)) {
      close |= equal_ignoring_case(element, "close");
      stay |= equal_ignoring_case(element, "keep-alive");
      upgrade |= equal_ignoring_case(element, "upgrade");
    }
  }
  head.keep_alive_ = stay && !close;
  head.upgrade_ = upgrade && head.has(header_id::upgrade) && head.minor_version_ == 1;
}

}  // namespace heddle::http
