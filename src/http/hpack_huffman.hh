// SPDX-License-Identifier: MIT
// The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B). The code is canonical, so the
// length of each symbol's code is all that has to be known; the rest is computed by the compiler.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::http {

/// Bytes that `text` takes when it is encoded.
[[nodiscard]] std::size_t huffman_size(std::string_view text) noexcept;
/// Appends the code of `text`, which has `size` bytes by huffman_size().
void huffman_encode(std::string_view text, std::size_t size, std::string& out);
inline void huffman_encode(std::string_view text, std::string& out) {
  huffman_encode(text, huffman_size(text), out);
}
/// Appends the text that `code` encodes. False: the code is not valid, its padding is longer than
/// seven bits or is not the beginning of EOS, or the text would be longer than `bytes_max`.
[[nodiscard]] bool huffman_decode(std::string_view code, std::string& out, std::size_t bytes_max);

}  // namespace heddle::http
