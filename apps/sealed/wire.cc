// SPDX-License-Identifier: MIT
// Reading records and greetings.
#include "wire.hh"

namespace sealed {

heddle::task<bool> read_record(const heddle::tcp_stream& conn, std::size_t content_max,
                               sealed_record& into) {
  const std::size_t head = co_await conn.read(into.head);
  if (head == 0) co_return false;
  if (head < header_bytes) throw trouble("the stream ends within a record");
  const std::optional<record_header> header = parse_header(into.head);
  if (!header) throw trouble("a record has a type that is not known");
  if (header->size > content_max)
    throw trouble("a record of " + std::to_string(header->size) + " bytes where at most " +
                  std::to_string(content_max) + " are allowed");
  into.header = *header;
  into.body.resize(header->size + tag_bytes);
  const std::size_t body = co_await conn.read(std::span(into.body));
  if (body < into.body.size()) throw trouble("the stream ends within a record");
  co_return true;
}

heddle::task<bool> read_greeting(const heddle::tcp_stream& conn, std::span<char> into) {
  const std::size_t got = co_await conn.read(into);
  co_return got == into.size();
}

std::string size_text(std::uint64_t size) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  return out;
}

std::optional<std::uint64_t> size_of_text(std::string_view text) noexcept {
  if (text.size() != 8) return {};
  std::uint64_t size = 0;
  for (const char c : text) size = size << 8 | static_cast<unsigned char>(c);
  return size;
}

}  // namespace sealed
