// SPDX-License-Identifier: MIT
// Decodes paths. One pass decodes escapes before it inspects segments, so "%2e%2e" is ".." and
// "%252e" is a name that contains a percent sign.
#include "heddle/http/uri.hh"

#include <algorithm>

#include "heddle/http/detail/charset.hh"

namespace heddle::http {
namespace {

// The byte that an escape encodes; -1 if '%' is not followed by two hexadecimal digits.
int escaped_byte(std::string_view raw, std::size_t percent) {
  if (raw.size() - percent < 3) return -1;
  int high = detail::hex_value(raw[percent + 1]);
  int low = detail::hex_value(raw[percent + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// True if decoding would change nothing, which is the usual case.
bool plain(std::string_view raw, bool merge) {
  char before = 0;
  for (char c : raw) {
    if (!detail::is(c, detail::plain_byte)) {
      if (c != '.' && c != '/') return false;
      if (before == '/' && (c == '.' || merge)) return false;
    }
    before = c;
  }
  return true;
}

bool control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

// Writes a path segment by segment, and removes one for each "..".
class path_writer {
 public:
  path_writer(std::span<char> room, bool merge) : room_(room), merge_(merge) {}

  bool put(char c) {
    if (length_ == room_.size()) return false;
    room_[length_++] = c;
    return true;
  }

  // Ends a segment at a separator or at the end of the path. False if ".." left the root.
  bool end_segment(bool last) {
    std::string_view segment{room_.data() + segment_at_, length_ - segment_at_};
    if (segment == "." || (segment.empty() && merge_ && !last && segment_at_ > 0)) {
      length_ = segment_at_;
    } else if (segment == "..") {
      if (segment_at_ <= 1) return false;
      std::string_view before{room_.data(), segment_at_ - 1};
      length_ = before.rfind('/') + 1;
    } else if (!last) {
      room_[length_++] = '/';
    }
    segment_at_ = length_;
    return true;
  }

  // A '/' needs room too; end_segment relies on it.
  bool full() const { return length_ == room_.size(); }
  std::string_view text() const { return {room_.data(), length_}; }

 private:
  std::span<char> room_;
  std::size_t length_ = 0;
  std::size_t segment_at_ = 0;
  bool merge_;
};

}  // namespace

std::string_view describe(path_problem what) {
  switch (what) {
    case path_problem::not_absolute:
      return "the path does not start with a slash";
    case path_problem::escape_broken:
      return "a percent sign is not followed by two digits";
    case path_problem::control_byte:
      return "the path holds a control character";
    case path_problem::slash_encoded:
      return "the path holds an encoded slash";
    case path_problem::backslash:
      return "the path holds a backslash";
    case path_problem::above_root:
      return "the path climbs above the root";
    case path_problem::too_long:
      return "the path is longer than the limit";
  }
  return "";
}

std::expected<std::string_view, path_problem> decode_path(std::string_view raw,
                                                          std::span<char> room, path_rules rules) {
  if (!raw.starts_with('/')) return std::unexpected(path_problem::not_absolute);
  if (plain(raw, rules.merge_slashes)) return raw;
  path_writer out(room, rules.merge_slashes);
  if (!out.put('/')) return std::unexpected(path_problem::too_long);
  out.end_segment(true);
  for (std::size_t at = 1; at < raw.size(); ++at) {
    char c = raw[at];
    if (c == '/') {
      if (out.full()) return std::unexpected(path_problem::too_long);
      if (!out.end_segment(false)) return std::unexpected(path_problem::above_root);
      continue;
    }
    bool keep = false;
    if (c == '\\') return std::unexpected(path_problem::backslash);
    if (c == '%') {
      int byte = escaped_byte(raw, at);
      if (byte < 0) return std::unexpected(path_problem::escape_broken);
      if (byte == '/' && rules.slashes == encoded_slash::refuse) {
        return std::unexpected(path_problem::slash_encoded);
      }
      keep = byte == '/';
      if (!keep) {
        c = static_cast<char>(byte);
        at += 2;
      }
    }
    if (c == '\\' && !rules.encoded_backslash) return std::unexpected(path_problem::backslash);
    if (control(static_cast<unsigned char>(c))) {
      return std::unexpected(path_problem::control_byte);
    }
    bool fits = out.put(c);
    if (keep) {
      fits = fits && out.put('2') && out.put('F');
      at += 2;
    }
    if (!fits) return std::unexpected(path_problem::too_long);
  }
  if (!out.end_segment(true)) return std::unexpected(path_problem::above_root);
  return out.text();
}

target_parts split_target(std::string_view target) {
  std::size_t mark = target.find('?');
  if (mark == target.npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

bool take_query_pair(std::string_view& rest, query_pair& pair) {
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find('&'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == rest.size() ? end : end + 1);
    if (text.empty()) continue;
    std::size_t equals = text.find('=');
    pair.has_value = equals != text.npos;
    pair.name = text.substr(0, equals);
    pair.value = pair.has_value ? text.substr(equals + 1) : std::string_view{};
    return true;
  }
  return false;
}

std::expected<std::string_view, path_problem> decode_form(std::string_view raw,
                                                          std::span<char> room) {
  if (raw.find_first_of("%+") == raw.npos) return raw;
  std::size_t length = 0;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    char c = raw[at] == '+' ? ' ' : raw[at];
    if (c == '%') {
      int byte = escaped_byte(raw, at);
      if (byte < 0) return std::unexpected(path_problem::escape_broken);
      c = static_cast<char>(byte);
      at += 2;
    }
    if (length == room.size()) return std::unexpected(path_problem::too_long);
    room[length++] = c;
  }
  return std::string_view{room.data(), length};
}

}  // namespace heddle::http
