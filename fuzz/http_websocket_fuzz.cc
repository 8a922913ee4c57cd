// SPDX-License-Identifier: MIT
// WebSocket frames: any bytes end in messages or in one error, the same however they are split;
// messages stay within their limit; and a message that was read is the same when it is written
// again and read. The first byte chooses the role and whether
// messages may be compressed, the second the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heddle/http/detail/websocket_frames.hh"
#include "web/websocket_deflate.hh"

namespace {

using namespace heddle::http;

constexpr std::uint64_t bytes_max = 4096;

void demand(bool condition) {
  if (!condition) std::abort();
}

struct seen {
  std::vector<std::pair<int, std::string>> all;
  bool operator==(const seen&) const = default;
};

seen read_in_pieces(std::string bytes, std::size_t piece, bool from_client, bool deflate) {
  websocket_reader r({bytes_max, 16, from_client, deflate ? &inflate_websocket : nullptr});
  seen out;
  bool ended = false;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::span<char> in(bytes.data() + at, std::min(piece, bytes.size() - at));
    while (!in.empty()) {
      const std::size_t before = in.size();
      const websocket_reader::event e = r.read(in);
      demand(in.size() <= before);
      if (e == websocket_reader::event::more) {
        demand(in.empty());
        break;
      }
      demand(!ended);
      std::string text;
      switch (e) {
        using enum websocket_reader::event;
        case message:
          text = (r.is_text() ? "t" : "b") + r.take_message();
          demand(text.size() <= bytes_max + 1);
          break;
        case close:
          ended = true;
          demand(r.code() == 1005 || websocket_code_valid(r.code()));
          text = std::to_string(r.code()) + std::string(r.control());
          break;
        case failed:
          ended = true;
          demand(!r.why().empty());
          text = std::to_string(r.code());
          break;
        default:
          text = r.control();
          demand(text.size() <= websocket_control_bytes_max);
      }
      out.all.emplace_back(static_cast<int>(e), text);
    }
  }
  return out;
}

void write_and_read(const std::string& data, bool text) {
  for (const bool masked : {false, true}) {
    std::string payload = data;
    if (masked) mask_websocket(payload.data(), payload.size(), 0x9d7c5b3a, 0);
    const websocket_head head =
        make_websocket_head(text ? websocket_opcode::text : websocket_opcode::binary, true, false,
                            data.size(), masked, 0x9d7c5b3a);
    const seen again = read_in_pieces(std::string(head.text()) + payload, 7, masked, false);
    demand(again.all.size() == 1 && again.all[0].second == (text ? "t" : "b") + data);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool from_client = (data[0] & 1) != 0;
  const bool deflate = (data[0] & 2) != 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const seen whole = read_in_pieces(bytes, bytes.size() + 1, from_client, deflate);
  demand(read_in_pieces(bytes, 1 + data[1] % 32, from_client, deflate) == whole);
  for (const auto& [kind, text] : whole.all)
    if (kind == static_cast<int>(websocket_reader::event::message))
      write_and_read(text.substr(1), text[0] == 't');
  return 0;
}
