// SPDX-License-Identifier: MIT
// Fields of a head are text of fixed length; numbers are octal.
#include "serve/tar_format.hh"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace heddle::serve {
namespace {

constexpr std::size_t tar_block = 512;
constexpr std::size_t name_bytes = 100;
constexpr std::uint64_t octal_size_max = 077777777777;  // 11 digits: 8 GiB - 1

void set(std::string& head, std::size_t at, std::size_t room, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), room), head.data() + at);
}

void set_octal(std::string& head, std::size_t at, int digits, std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
  set(head, at, static_cast<std::size_t>(digits), text);
}

/// One head; longer values are cut off, and an extended head before it has the whole.
std::string plain_head(std::string_view name, char type, std::uint64_t size, unsigned mode,
                       std::int64_t modified_s) {
  std::string head(tar_block, '\0');
  set(head, 0, name_bytes, name);
  set_octal(head, 100, 7, mode);
  set_octal(head, 108, 7, 0);  // owner and group: those of the unpacking user
  set_octal(head, 116, 7, 0);
  set_octal(head, 124, 11, std::min(size, octal_size_max));
  set_octal(head, 136, 11,
            static_cast<std::uint64_t>(std::clamp<std::int64_t>(
                modified_s, 0, static_cast<std::int64_t>(octal_size_max))));
  head[156] = type;
  set(head, 257, 8, std::string_view("ustar\00000", 8));
  set(head, 148, 8, "        ");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  set_octal(head, 148, 6, sum);
  head[154] = '\0';
  return head;
}

/// A record of an extended head: its own length, a name and a value.
std::string record(std::string_view name, std::string_view value) {
  const std::size_t rest = name.size() + value.size() + 3;  // space, equals sign, end of line
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length)
    length = std::to_string(length).size() + rest;
  std::string text = std::to_string(length);
  ((((text += ' ') += name) += '=') += value) += '\n';
  return text;
}

}  // namespace

std::string tar_head(const archived_file& f) {
  std::string bytes, more;
  if (f.path.size() > name_bytes) more += record("path", f.path);
  if (f.size > octal_size_max) more += record("size", std::to_string(f.size));
  if (!more.empty()) {
    bytes = plain_head("pax", 'x', more.size(), 0644, f.modified_s);
    bytes += more + tar_padding(more.size());
  }
  const bool folder = f.path.ends_with('/');
  bytes += plain_head(f.path, folder ? '5' : '0', f.size, folder || f.executable ? 0755 : 0644,
                      f.modified_s);
  return bytes;
}

std::string tar_padding(std::uint64_t size) {
  return std::string((tar_block - size % tar_block) % tar_block, '\0');
}

std::string tar_end() { return std::string(2 * tar_block, '\0'); }

}  // namespace heddle::serve
