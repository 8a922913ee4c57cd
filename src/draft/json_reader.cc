// SPDX-License-Identifier: MIT
// A reader of JSON by descent, with a bound on the depth.
#include "draft/json_reader.hh"

#include <charconv>
#include <cstdint>

namespace heddle::draft {
namespace {

constexpr int json_depth_max = 64;

class json_input {
 public:
  explicit json_input(std::string_view text) : text_(text) {}

  std::optional<json> all() {
    json v;
    if (!value(v, 0)) return std::nullopt;
    skip_spaces();
    if (at_ != text_.size()) return std::nullopt;
    return v;
  }

 private:
  void skip_spaces() {
    while (at_ != text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }

  bool value(json& out, int depth) {
    if (depth > json_depth_max) return false;
    skip_spaces();
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.kind = json::form::text;
        return string(out.text);
      case 't':
        out.kind = json::form::boolean;
        out.yes = true;
        return word("true");
      case 'f':
        out.kind = json::form::boolean;
        return word("false");
      case 'n':
        return word("null");
      default:
        return number(out);
    }
  }

  bool object(json& out, int depth) {
    out.kind = json::form::object;
    ++at_;
    if (take('}')) return true;
    do {
      skip_spaces();
      if (at_ == text_.size() || text_[at_] != '"' || !string(out.names.emplace_back()) ||
          !take(':') || !value(out.list.emplace_back(), depth + 1))
        return false;
    } while (take(','));
    return take('}');
  }

  bool array(json& out, int depth) {
    out.kind = json::form::list;
    ++at_;
    if (take(']')) return true;
    do {
      if (!value(out.list.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool number(json& out) {
    out.kind = json::form::number;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out.number);
    if (error != std::errc()) return false;
    out.text.assign(begin, end);
    at_ += out.text.size();
    return true;
  }

  bool hex(std::uint32_t& out) {
    if (text_.size() - at_ < 4) return false;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, begin + 4, out, 16);
    at_ += 4;
    return error == std::errc() && end == begin + 4;
  }

  static void add_utf8(std::string& out, std::uint32_t c) {
    const auto tail = [&](unsigned shift) {
      out += static_cast<char>(0x80 | ((c >> shift) & 0x3f));
    };
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | (c >> 6));
      tail(0);
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | (c >> 12));
      tail(6);
      tail(0);
    } else {
      out += static_cast<char>(0xf0 | (c >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  bool escape(std::string& out) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    if (const std::size_t n = from.find(c); n != std::string_view::npos) {
      out += to[n];
      return true;
    }
    std::uint32_t code = 0;
    if (c != 'u' || !hex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
      std::uint32_t low = 0;
      if (!word("\\u") || !hex(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(out, code);
    return true;
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ != text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const json& json::operator[](std::string_view name) const noexcept {
  static const json none;
  for (std::size_t i = 0; i != names.size(); ++i)
    if (names[i] == name) return list[i];
  return none;
}

std::optional<json> read_json(std::string_view text) { return json_input(text).all(); }

std::string json_text(std::string_view s) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20) {
      out += {'\\', 'u', '0', '0', digits[u >> 4], digits[u & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace heddle::draft
