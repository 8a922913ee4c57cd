// SPDX-License-Identifier: MIT
// Key files and random bytes.
#include "secret.hh"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "heddle/io/file.hh"
#include "heddle/sched/runtime.hh"

namespace sealed {
namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t key_file_bytes_max = 4096;  // a larger file is another file by mistake

int value_of(char c) noexcept {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t at = digits.find(c);
  return at == digits.npos ? -1 : static_cast<int>(at);
}

}  // namespace

void wipe(void* at, std::size_t count) noexcept { OPENSSL_cleanse(at, count); }

shared_key parse_key(std::string_view text, const std::string& place) {
  while (!text.empty() && std::string_view(" \t\r\n").contains(text.back())) text.remove_suffix(1);
  shared_key key;
  bool good = text.size() == 2 * key.size();
  for (std::size_t i = 0; good && i < key.size(); ++i) {
    const int high = value_of(text[2 * i]);
    const int low = value_of(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key[i] = static_cast<unsigned char>(high << 4 | low);
  }
  if (!good)
    throw trouble(place + ": a key is 64 hexadecimal digits; `sealed key FILE` makes a fresh one");
  return key;
}

heddle::task<shared_key> load_key(std::string path) {
  std::string text = co_await heddle::read_file(path, key_file_bytes_max);
  const shared_key key = parse_key(text, path);
  wipe(text.data(), text.size());
  co_return key;
}

std::string make_key_text() {
  shared_key key;
  fill_random(key.data(), key.size());
  std::string text;
  for (const unsigned char byte : key) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text += '\n';
}

void fill_random(void* at, std::size_t count) {
  heddle::driver& io = heddle::runtime::here().io();
  auto* out = static_cast<unsigned char*>(at);
  while (count > 0) {
    std::uint64_t word = io.random();
    const std::size_t part = std::min(count, sizeof word);
    std::memcpy(out, &word, part);
    wipe(&word, sizeof word);
    out += part;
    count -= part;
  }
}

}  // namespace sealed
