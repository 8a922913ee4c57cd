// SPDX-License-Identifier: MIT
// Own TLS records with the right keys: records of any type, padding and size, damage, and plain
// bytes, in pieces of any size. A model with the rules of RFC 8446 says which text must be given
// and whether the connection fails; what the server seals meanwhile must open.
//
// The first byte chooses the cipher, the second the size of the pieces. Then come steps of four
// bytes (what, size, padding, detail), each followed by `size` bytes of content.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "tls/record_engine.hh"

namespace {

using namespace heddle;
using namespace heddle::tls::detail;
using step = engine::step;

void demand(bool condition) {
  if (!condition) std::abort();
}

constexpr tls::limits bounds{
    .key_updates_max = 4, .empty_records_max = 3, .records_per_key_max = 5};

std::span<const unsigned char> secret(char c) {
  static const std::string peer(48, 'p');
  static const std::string us(48, 'u');
  const std::string& text = c == 'p' ? peer : us;
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

/// What the rules say about the records so far.
struct model {
  std::string text;
  std::string message;  // the beginning of a handshake message
  unsigned empty = 0;
  unsigned updates = 0;
  bool failed = false;
  bool ended = false;
  bool keys_change = false;  // the record was a whole KeyUpdate

  void note_empty() { failed = ++empty > bounds.empty_records_max; }
  void take(unsigned kind, std::string_view in, std::size_t padding) {
    keys_change = false;
    if (failed || ended) return;
    if (in.size() + padding > content_bytes_max || kind == 0 || (!message.empty() && kind != 22)) {
      failed = true;
    } else if (kind == 23) {
      text += in;
      if (!in.empty()) empty = 0;
      if (in.empty()) note_empty();
    } else if (kind == 21) {
      if (in.size() != 2)
        failed = true;
      else if (in[1] == 0)
        ended = true;
      else if (in[1] == 90)
        note_empty();
      else
        failed = true;
    } else if (kind == 22) {
      take_handshake(in);
    } else {
      failed = true;
    }
  }
  void take_handshake(std::string_view in) {
    constexpr std::string_view head("\x18\x00\x00\x01", 4);
    if (in.empty()) failed = true;
    message += in;
    const std::size_t known = std::min(message.size(), head.size());
    if (!head.starts_with(std::string_view(message).substr(0, known)) || message.size() > 5)
      failed = true;
    if (failed || message.size() < 5) return;
    failed = static_cast<unsigned char>(message[4]) > 1 || ++updates > bounds.key_updates_max;
    keys_change = !failed;
    message.clear();
  }
};

struct world {
  explicit world(suite kind) : of_peer(kind, secret('p')) {
    const auto agreed = std::make_shared<const tls::session>();
    server = std::make_unique<record_engine>(
        record_start{kind, secret('p'), secret('u'), 0, agreed}, bounds);
    client = std::make_unique<record_engine>(
        record_start{kind, secret('u'), secret('p'), 0, agreed}, unbounded);
  }
  std::string sealed(unsigned kind, std::string_view text, std::size_t padding) {
    std::string inner(text);
    if (padding != 0) {
      inner += static_cast<char>(kind);
      inner.append(padding - 1, '\0');
      kind = 0;  // the last byte of the padding
    }
    std::string bytes(inner.size() + record_extra_bytes, '\0');
    const byte_view view = std::string_view(inner);
    text_cursor from(std::span(&view, 1));
    demand(of_peer.seal(reinterpret_cast<std::byte*>(bytes.data()), static_cast<content>(kind),
                        from, inner.size()));
    return bytes;
  }
  /// What the server sealed opens in order, up to its alert.
  void open_sent() {
    const std::string bytes(server->out().bytes().text());
    if (bytes.empty()) return;
    server->out().drop_prefix(bytes.size());
    client->feed(received::copy_of(std::string_view(bytes)));
    received in;
    while (client->open(in) == step::done && !in.empty()) came += in.text();
    demand(client->why().text.find("changed on its way") == std::string::npos);
    demand(client->broken() <= server->broken());
  }

  static constexpr tls::limits unbounded{.key_updates_max = 1'000'000};
  traffic_key of_peer;
  std::unique_ptr<record_engine> server;
  std::unique_ptr<record_engine> client;
  std::string came;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  world w(static_cast<suite>(data[0] % 3));
  const std::size_t piece = data[1] < 128 ? data[1] + 1u : (data[1] - 127u) * 300u;
  std::string_view in(reinterpret_cast<const char*>(data + 2), size - 2);
  model expected;
  std::string bytes;
  std::string went;
  std::string got;
  bool forged = false;
  const auto deliver = [&] {
    received part;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      w.server->feed(received::copy_of(std::string_view(bytes).substr(at, piece)));
      while (w.server->open(part) == step::done && !part.empty()) got += part.text();
    }
    bytes.clear();
  };
  while (in.size() >= 4) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(in[i]); };
    const unsigned what = at(0);
    const unsigned detail = at(3);
    std::size_t padding = at(2) < 200 ? at(2) % 8 : (at(2) - 199u) * 300u;
    const std::size_t length = std::min<std::size_t>(at(1), in.size() - 4);
    std::string text(in.substr(4, length));
    in.remove_prefix(4 + length);
    if (detail >= 250) text.resize(content_bytes_max + 255 - detail, 'l');  // around the limit
    if (what < 16) {  // damage: any bytes, or a record with one bit changed
      if (what < 8 && !text.empty()) {
        std::string r = w.sealed(23, text, padding);
        r[detail % r.size()] = static_cast<char>(r[detail % r.size()] ^ (1 << what));
        text = r;
      }
      forged = forged || !text.empty();
      bytes += text;
    } else if (what < 32) {  // the server writes
      deliver();
      const byte_view texts[] = {std::string_view(text), std::string_view("tail")};
      went += (text + "tail").substr(0, w.server->seal(texts, 40'000));
      w.open_sent();
    } else {
      const unsigned kind = what < 128 ? 23 : what < 160 ? 22 : what < 170 ? 21 : what % 32;
      if (what >= 128 && what < 150) text = std::string("\x18\x00\x00\x01", 4) + char(detail % 2);
      if (text.size() + padding > content_bytes_max + 200) padding = 0;
      bytes += w.sealed(kind, text, padding);
      if (!forged) expected.take(kind, text, padding);
      if (!forged && expected.keys_change) demand(w.of_peer.advance());
    }
  }
  deliver();
  w.open_sent();
  demand(got == expected.text);
  demand(w.came == went);
  if (!forged) demand(w.server->broken() == expected.failed);
  w.server->feed_end();
  received last;
  if (!w.server->broken())
    demand(w.server->open(last) == (expected.ended ? step::done : step::failed));
  return 0;
}
