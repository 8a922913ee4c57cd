// SPDX-License-Identifier: MIT
// The multipart decoder whole against the same bytes in pieces: the same parts, the same data and
// the same problem. The first byte seeds the cuts, the second one chooses the limits.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/http/multipart.hh"

namespace {

using namespace heddle::http;
using kind = multipart_piece::kind;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Feeds one piece of input and writes down what comes of it. False at the end of the form.
bool feed(multipart_decoder& decoder, std::string_view bytes, std::string& said) {
  // A copy of exact size shows any read past its end.
  const auto copy = std::make_unique<char[]>(bytes.size() + 1);
  bytes.copy(copy.get(), bytes.size());
  std::string_view input(copy.get(), bytes.size());
  for (;;) {
    const multipart_piece piece = decoder.feed(input);
    demand(piece.consumed <= input.size());
    input.remove_prefix(piece.consumed);
    switch (piece.what) {
      case kind::part:
        said += "\n<" + decoder.part().name + "|" + decoder.part().filename.value_or("-") + "|" +
                decoder.part().type + ">";
        break;
      case kind::data:
        demand(!piece.bytes.empty());
        said += piece.bytes;
        break;
      case kind::part_end:
        said += "</>";
        break;
      case kind::need_more:
        demand(input.empty());
        return true;
      case kind::done:
      case kind::failed:
        return false;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::uint32_t random = data[0] + 1;
  form_limits bounds;
  if ((data[1] & 1) != 0) {
    bounds.fields_max = 2;
    bounds.part_header_bytes_max = 60;
    bounds.preamble_bytes_max = 5;
  }
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  multipart_decoder whole("b", bounds);
  std::string expected;
  feed(whole, bytes, expected);
  whole.finish();

  multipart_decoder pieces("b", bounds);
  std::string said;
  bool more = true;
  while (more && !bytes.empty()) {
    random = random * 1664525 + 1013904223;
    const std::size_t step = data[0] == 0 ? 1 : 1 + (random >> 16) % 20;
    more = feed(pieces, bytes.substr(0, step), said);
    bytes.remove_prefix(bytes.size() < step ? bytes.size() : step);
  }
  pieces.finish();
  demand(said == expected && whole.error() == pieces.error());
  return 0;
}
