// SPDX-License-Identifier: MIT
// Unpacks any bytes as gzip, br and zstd: whole against the same bytes in pieces. The first byte
// chooses the coding and the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/error.hh"
#include "heddle/http/content_decoding.hh"

namespace {

using namespace heddle::http;

constexpr std::size_t plain_bytes_max = 1 << 20;  // a small input may unpack to gigabytes

struct result {
  std::string plain;
  bool valid = false;
  bool cut = false;  // more than plain_bytes_max
};

result unpack(content_coding coding, std::string_view packed, std::size_t step, std::size_t room) {
  result out;
  try {
    content_reader reader(coding);
    std::string part(room, '\0');
    std::string_view rest;
    for (;;) {
      if (const std::size_t n = reader.read(rest, part)) {
        if (n > room) std::abort();
        out.plain.append(part, 0, n);
        if (out.plain.size() > plain_bytes_max) {
          out.cut = true;
          return out;
        }
        continue;
      }
      if (!rest.empty()) std::abort();
      if (packed.empty()) break;
      rest = packed.substr(0, step);
      packed.remove_prefix(rest.size());
    }
    reader.finish();
    out.valid = true;
  } catch (const heddle::failure&) {
    // It is refused; the program goes on.
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto coding = static_cast<content_coding>(data[0] % content_coding_count);
  if (!codings_read().has(coding)) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const result whole = unpack(coding, bytes, size, 16'384);
  const result pieces = unpack(coding, bytes, 1 + data[0] / content_coding_count % 16, 777);
  if (whole.cut || pieces.cut) return 0;
  if (whole.valid != pieces.valid) std::abort();
  if (whole.valid && whole.plain != pieces.plain) std::abort();
  return 0;
}
