// SPDX-License-Identifier: MIT
// Entity tags. A tag may contain a comma, so lists are parsed tag by tag.
#include "heddle/http/etag.hh"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/detail/identity_of.hh"

namespace heddle::http {
namespace {

std::size_t write_hex(char* out, std::uint64_t number) {
  int digits = number == 0 ? 1 : (67 - __builtin_clzll(number)) / 4;
  for (int at = digits; at-- > 0; number >>= 4) out[at] = "0123456789abcdef"[number & 15];
  return static_cast<std::size_t>(digits);
}

bool etag_byte(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
}

entity_tag split(std::string_view tag) {
  bool weak = tag.starts_with("W/");
  return {weak ? tag.substr(2) : tag, weak};
}

}  // namespace

file_identity identity_of(const struct ::statx& state) noexcept {
  const auto ns = [](const statx_timestamp& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  };
  return {::makedev(state.stx_dev_major, state.stx_dev_minor), state.stx_ino, state.stx_size,
          ns(state.stx_mtime), ns(state.stx_ctime)};
}

file_etag::file_etag(const file_identity& of) {
  std::size_t at = 0;
  for (const std::uint64_t part : {of.device, of.inode, of.size, of.modified_ns, of.status_ns}) {
    text_[at] = at == 0 ? '"' : '-';
    ++at;
    at += write_hex(text_.data() + at, part);
  }
  text_[at++] = '"';
  length_ = static_cast<std::uint8_t>(at);
}

bool take_entity_tag(std::string_view& rest, entity_tag& tag) {
  while (!rest.empty() && (detail::is_ows(rest.front()) || rest.front() == ',')) {
    rest.remove_prefix(1);
  }
  if (rest.empty()) return false;
  std::string_view text = rest;
  tag.weak = text.starts_with("W/");
  if (tag.weak) text.remove_prefix(2);
  if (text.empty() || text.front() != '"') return false;
  std::size_t end = 1;
  while (end < text.size() && etag_byte(text[end])) ++end;
  if (end == text.size() || text[end] != '"') return false;
  tag.opaque = text.substr(0, end + 1);
  text.remove_prefix(end + 1);
  std::string_view after = text;
  while (!after.empty() && detail::is_ows(after.front())) after.remove_prefix(1);
  if (!after.empty() && after.front() != ',') return false;
  rest = after;
  return true;
}

bool etag_listed(std::string_view list, std::string_view current, etag_comparison how) {
  if (detail::trim_ows(list) == "*") return true;
  entity_tag ours = split(current);
  if (how == etag_comparison::strong && ours.weak) return false;
  entity_tag theirs;
  while (take_entity_tag(list, theirs)) {
    bool comparable = how == etag_comparison::weak || !theirs.weak;
    if (comparable && theirs.opaque == ours.opaque) return true;
  }
  return false;
}

}  // namespace heddle::http
