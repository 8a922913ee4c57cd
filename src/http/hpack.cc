// SPDX-License-Identifier: MIT
// The representations of RFC 7541 section 6, by the leading bits of their first byte.
#include "heddle/http/detail/hpack.hh"

#include "http/hpack_huffman.hh"

namespace heddle::http {
namespace {

constexpr std::size_t kept_text_bytes = 1024;  // memory of a text, between two blocks

void put_text(std::string& out, std::string_view text) {
  const std::size_t coded = huffman_size(text);
  if (coded < text.size()) {
    hpack_put_number(out, 0x80, 7, coded);
    huffman_encode(text, coded, out);
  } else {
    hpack_put_number(out, 0, 7, text.size());
    out.append(text);
  }
}

void put_literal(std::string& out, unsigned first, unsigned prefix_bits, std::string_view name,
                 std::size_t name_index, std::string_view value) {
  hpack_put_number(out, first, prefix_bits, name_index);
  if (name_index == 0) put_text(out, name);
  put_text(out, value);
}

}  // namespace

bool hpack_take_number(std::string_view& block, unsigned prefix_bits, std::uint64_t& out) noexcept {
  if (block.empty()) return false;
  const unsigned most = (1u << prefix_bits) - 1;
  out = static_cast<unsigned char>(block.front()) & most;
  block.remove_prefix(1);
  if (out < most) return true;
  for (unsigned shift = 0; shift <= 28 && !block.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(block.front());
    block.remove_prefix(1);
    out += std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return out <= 0xffffffffu;
  }
  return false;
}

void hpack_put_number(std::string& out, unsigned first, unsigned prefix_bits,
                      std::uint64_t number) {
  const unsigned most = (1u << prefix_bits) - 1;
  if (number < most) {
    out.push_back(static_cast<char>(first | number));
    return;
  }
  out.push_back(static_cast<char>(first | most));
  for (number -= most; number >= 0x80; number >>= 7)
    out.push_back(static_cast<char>(0x80 | (number & 0x7f)));
  out.push_back(static_cast<char>(number));
}

bool hpack_decoder::take_text(std::string_view& block, std::string& into) {
  if (block.empty()) return false;
  const bool coded = (block.front() & 0x80) != 0;
  std::uint64_t size = 0;
  if (!hpack_take_number(block, 7, size) || size > block.size()) return false;
  const std::string_view text = block.substr(0, static_cast<std::size_t>(size));
  block.remove_prefix(text.size());
  into.clear();
  if (coded) return huffman_decode(text, into, text_max_);
  if (text.size() > text_max_) return false;
  into.assign(text);
  return true;
}

bool hpack_decoder::take_literal(std::string_view& block, unsigned prefix_bits, hpack_pair& out) {
  std::uint64_t index = 0;
  if (!hpack_take_number(block, prefix_bits, index)) return false;
  if (index == 0) {
    if (!take_text(block, name_)) return false;
  } else {
    const auto known = table_.at(index);
    if (!known) return false;
    name_.assign(known->name);  // the table may drop it when the new field enters
  }
  if (!take_text(block, value_)) return false;
  out = {name_, value_};
  return true;
}

hpack_state hpack_decoder::next(std::string_view& block, hpack_pair& out) {
  while (!block.empty()) {
    const auto first = static_cast<unsigned char>(block.front());
    if ((first & 0x80) != 0) {  // 6.1: a field of the tables
      std::uint64_t index = 0;
      if (!hpack_take_number(block, 7, index)) return hpack_state::failed;
      const auto known = table_.at(index);
      if (!known) return hpack_state::failed;
      out = *known;
      may_resize_ = false;
      return hpack_state::field;
    }
    if ((first & 0xe0) == 0x20) {  // 6.3: another size of the table
      std::uint64_t size = 0;
      if (!may_resize_ || !hpack_take_number(block, 5, size) || size > table_max_)
        return hpack_state::failed;
      table_.resize(static_cast<std::size_t>(size));
      continue;
    }
    may_resize_ = false;
    const bool kept = (first & 0xc0) == 0x40;  // 6.2.1; otherwise 6.2.2 or 6.2.3
    if (!take_literal(block, kept ? 6 : 4, out)) return hpack_state::failed;
    if (kept) table_.add(name_, value_);
    return hpack_state::field;
  }
  // A connection that waits for its next request keeps no long texts.
  for (std::string* text : {&name_, &value_})
    if (text->capacity() > kept_text_bytes) std::string().swap(*text);
  return hpack_state::end;
}

void hpack_encode(std::string& out, std::string_view name, std::string_view value) {
  const hpack_static_place known = hpack_find_static(name, value);
  if (known.value) {
    hpack_put_number(out, 0x80, 7, known.index);
  } else {
    put_literal(out, 0, 4, name, known.index, value);
  }
}

void hpack_encode_secret(std::string& out, std::string_view name, std::string_view value) {
  put_literal(out, 0x10, 4, name, hpack_find_static(name, {}).index, value);
}

}  // namespace heddle::http
