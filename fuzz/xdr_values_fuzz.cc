// SPDX-License-Identifier: MIT
// Values of many types from any bytes: a value that is read is written to the same bytes again, and
// any other input gives an error with text. The first byte chooses the size of the pieces in which
// the rest arrives; generated values come back the same.
#include <cstdint>
#include <cstdlib>

#include "heddle/xdr/generator.hh"
#include "heddle/xdr/printer.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"
#include "tests/xdr/types.hh"

namespace {

using namespace heddle;
using test::node;

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece_bytes = 1 + data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  chain in;
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    in.append(piece::copy_of(byte_view(text.substr(at, piece_bytes))));
  const auto read = xdr::decode<node>(in, {.memory_bytes_max = 100'000});
  if (read) {
    demand(xdr::encode(*read).to_string() == text);
    demand(!xdr::to_text(*read).empty());
  } else {
    demand(!read.error().empty());
  }
  const auto made = xdr::generate<node>(std::hash<std::string_view>()(text));
  const chain bytes = xdr::encode(made);
  const auto again = xdr::decode<node>(bytes);
  demand(again && xdr::encode(*again).to_string() == bytes.to_string());
  return 0;
}
