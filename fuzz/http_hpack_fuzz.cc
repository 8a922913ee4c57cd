// SPDX-License-Identifier: MIT
// Header blocks of HTTP/2 and their Huffman code: any bytes end in fields or in an error, tables
// stay within their size, and what a block gave is the same when it is written again and read.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/http/detail/hpack.hh"
#include "http/hpack_huffman.hh"
#include "web/http2_head.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

using fields = std::vector<std::pair<std::string, std::string>>;

bool decode(hpack_decoder& decoder, std::string_view block, fields& out) {
  decoder.begin();
  for (hpack_pair f;;) {
    const hpack_state state = decoder.next(block, f);
    demand(decoder.table().bytes() <= decoder.table().bytes_max());
    if (state == hpack_state::failed) return false;
    if (state == hpack_state::end) return true;
    out.emplace_back(f.name, f.value);
    if (out.size() > 4096) return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  // Two blocks of one connection.
  const std::size_t half = size == 0 ? 0 : data[0] % size;
  hpack_decoder decoder(256, 512);
  for (const std::string_view block : {all.substr(0, half), all.substr(half)}) {
    fields once, again;
    if (!decode(decoder, block, once)) break;
    std::string written;
    for (const auto& [name, value] : once) hpack_encode(written, name, value);
    hpack_decoder other;
    demand(decode(other, written, again));
    demand(once == again);
  }

  std::string text, code, back;
  if (huffman_decode(all, text, 4096)) {
    huffman_encode(text, code);
    demand(code.size() == huffman_size(text));
    demand(huffman_decode(code, back, 4096) && back == text);
  }

  hpack_decoder third;
  std::string head, protocol;
  const http2_block what = read_http2_request(third, all, limits(), head, protocol);
  if (what == http2_block::good) {
    demand(head.ends_with("\r\n\r\n"));
    demand(head.find('\0') == head.npos);
    demand(head.find("\r\n\r\n") == head.size() - 4);  // one head, whatever the fields were
  }
  return 0;
}
