// SPDX-License-Identifier: MIT
// Splits a path into segments. A path without escapes and dot segments is not copied.
#include "web/route_match.hh"

#include <algorithm>

#include "heddle/base/error.hh"
#include "heddle/http/detail/charset.hh"

namespace heddle::http {
namespace {

constexpr std::string_view too_deep = "the path has more parts than this server takes";

// Decodes one segment and appends it to `out`. Returns the error, or "".
std::string_view decode_segment(std::string_view raw, std::string& out) {
  for (std::size_t at = 0; at < raw.size(); ++at) {
    char c = raw[at];
    if (c == '%') {
      const int high = raw.size() - at > 2 ? detail::hex_value(raw[at + 1]) : -1;
      const int low = raw.size() - at > 2 ? detail::hex_value(raw[at + 2]) : -1;
      if (high < 0 || low < 0) return "a percent sign in the path is not followed by two digits";
      c = static_cast<char>(high * 16 + low);
      at += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return "the path holds a control character";
    out += c;
  }
  return {};
}

}  // namespace

std::string_view route_match::take(std::string_view raw) {
  if (!raw.starts_with('/')) return "the path does not start with a slash";
  const bool plain = raw.find('%') == raw.npos && raw.find("/.") == raw.npos;
  if (!plain) return take_decoded(raw);
  whole_ = raw;
  for (std::size_t at = 1;;) {
    if (count_ == segments_max) {
      cut_ = true;
      segments_[count_ - 1] = tail(count_ - 1);
      return {};
    }
    const std::size_t end = std::min(raw.find('/', at), raw.size());
    segments_[count_++] = raw.substr(at, end - at);
    if (end == raw.size()) return {};
    at = end + 1;
  }
}

std::string_view route_match::take_decoded(std::string_view raw) {
  room_.reserve(raw.size() + 1);  // decoding only shrinks, so views of it stay valid
  for (std::size_t at = 1; at <= raw.size();) {
    const std::size_t end = std::min(raw.find('/', at), raw.size());
    const std::size_t room_at = room_.size();
    room_ += '/';
    const std::string_view wrong = decode_segment(raw.substr(at, end - at), room_);
    if (!wrong.empty()) return wrong;
    at = end + 1;
    const std::string_view segment = std::string_view(room_).substr(room_at + 1);
    const bool up = segment == "..";
    if (up || segment == ".") {
      room_.resize(room_at);
      if (up) {
        if (count_ == 0) return "the path climbs above the root";
        room_.resize(static_cast<std::size_t>(segments_[--count_].data() - room_.data()) - 1);
      }
      if (end != raw.size()) continue;
      room_ += '/';  // a dot segment at the end means a directory
    }
    if (count_ == segments_max) return too_deep;
    segments_[count_++] =
        std::string_view(room_).substr(up || segment == "." ? room_.size() : room_at + 1);
  }
  whole_ = room_;
  return {};
}

std::string_view route_match::tail(std::size_t i) const noexcept {
  return whole_.substr(static_cast<std::size_t>(segments_[i].data() - whole_.data()));
}

bool route_match::beneath(const std::vector<std::string>& prefix) const noexcept {
  std::size_t met = 0;
  for (std::size_t i = 0; i != count_ && met != prefix.size(); ++i) {
    std::string_view rest = segments_[i];
    const bool holds_more = cut_ && i + 1 == count_;
    while (!rest.empty() && met != prefix.size()) {
      const std::size_t end = holds_more ? std::min(rest.find('/'), rest.size()) : rest.size();
      if (end != 0 && rest.substr(0, end) != prefix[met++]) return false;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return met == prefix.size();
}

std::string_view route_match::param(std::string_view name) const {
  const auto at = names_ == nullptr ? std::vector<std::string>::const_iterator{}
                                    : std::ranges::find(*names_, name);
  const bool found = names_ != nullptr && at != names_->end();
  HEDDLE_ASSERT(found, "the route's pattern has no parameter of this name");
  return params_[static_cast<std::size_t>(at - names_->begin())];
}

}  // namespace heddle::http
