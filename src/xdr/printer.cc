// SPDX-License-Identifier: MIT
// Texts of numbers, strings and opaque data.
#include "heddle/xdr/printer.hh"

#include <algorithm>
#include <cstdio>

namespace heddle::xdr {

std::string printer::take() {
  if (out_.size() > limits_.text_bytes_max) {
    out_.resize(limits_.text_bytes_max);
    out_ += "...";
  }
  first_ = true;
  return std::exchange(out_, {});
}

bool printer::characters(const std::string& value, std::uint32_t) {
  static constexpr char digits[] = "0123456789abcdef";
  add("\"");
  const std::size_t shown = std::min(value.size(), limits_.run_bytes_max);
  for (std::size_t i = 0; i != shown; ++i) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (c == '"' || c == '\\') out_ += '\\';
    if (c >= 0x20 && c < 0x7f)
      out_ += static_cast<char>(c);
    else
      (out_ += "\\x") += {digits[c / 16], digits[c % 16]};
  }
  return add(shown < value.size() ? "\"..." : "\"");
}

bool printer::counted_bytes(const std::string& value, std::uint32_t) {
  return add_hex(value, value.size());
}

bool printer::pieces(const chain& value, std::uint32_t) {
  std::string shown;
  for (std::size_t i = 0; i != value.piece_count() && shown.size() < limits_.run_bytes_max; ++i)
    shown += value.piece_at(i).bytes().text().substr(0, limits_.run_bytes_max - shown.size());
  return add_hex(shown, value.size());
}

bool printer::fixed_bytes(const std::byte* from, std::size_t size) {
  return add_hex({from, size}, size);
}

bool printer::add_hex(byte_view shown, std::size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  add("0x");
  const std::size_t count = std::min(shown.size(), limits_.run_bytes_max);
  for (std::size_t i = 0; i != count; ++i) {
    const auto c = static_cast<unsigned char>(shown[i]);
    out_ += digits[c / 16];
    out_ += digits[c % 16];
  }
  return count == size || add("... (" + std::to_string(size) + " bytes)");
}

bool printer::add(std::string_view text) {
  out_ += text;
  return true;
}

bool printer::add_real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return add(text);
}

void printer::open(char bracket) {
  out_ += bracket;
  first_ = true;
}

bool printer::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return true;
}

void printer::separate() {
  if (!std::exchange(first_, false)) out_ += ", ";
}

}  // namespace heddle::xdr
