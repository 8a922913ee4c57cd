// SPDX-License-Identifier: MIT
// Dates: any text that is read is written in the preferred form and read back as the same second;
// any second that is written can be read.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "heddle/http/date.hh"

using namespace heddle::http;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int64_t number = 0;
  if (size >= sizeof number) std::memcpy(&number, data, sizeof number);
  constexpr std::int64_t now = 1735689600;
  char text[date_bytes];
  std::string_view view{text, date_bytes};
  auto read = parse_date({reinterpret_cast<const char*>(data), size}, now);
  if (read) {
    write_date(*read, text);
    if (parse_date(view, now) != read) std::abort();
  }
  write_date(number, text);
  auto back = parse_date(view, number);
  if (!back) std::abort();
  bool inside = number >= -62167219200 && number <= 253402300799;
  if (inside && *back != number) std::abort();
  return 0;
}
