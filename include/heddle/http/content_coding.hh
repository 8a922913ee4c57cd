// SPDX-License-Identifier: MIT
// Content codings (RFC 9110 section 8.4.1) and the choice among them by Accept-Encoding. Coded
// files lie beside a file as FILE.zst, FILE.br and FILE.gz; each is also made on the fly if its
// library is there (libbrotlienc, libzstd, zlib).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

/// The codings, in the server's order of preference if a client weighs several equally: the densest
/// first.
enum class content_coding : std::uint8_t { brotli, zstd, gzip, identity };

inline constexpr std::size_t content_coding_count = 3;  // without identity

/// The token of Content-Encoding: "br", "zstd", "gzip"; "" for identity.
[[nodiscard]] std::string_view name_of(content_coding coding);
/// The coding of a token of Content-Encoding, in any case of letters; "x-gzip" is gzip.
[[nodiscard]] std::optional<content_coding> coding_named(std::string_view token);
/// The suffix of a coded file's name: ".br", ".zst", ".gz"; "" for identity.
[[nodiscard]] std::string_view suffix_of(content_coding coding);

/// A set of codings.
///
///   coding_set have = coding_set().with(content_coding::gzip);
class coding_set {
 public:
  constexpr coding_set() noexcept = default;
  [[nodiscard]] constexpr coding_set with(content_coding c) const noexcept {
    coding_set wider = *this;
    wider.bits_ = static_cast<std::uint8_t>(bits_ | 1u << static_cast<unsigned>(c));
    return wider;
  }
  [[nodiscard]] constexpr bool has(content_coding c) const noexcept {
    return (bits_ >> static_cast<unsigned>(c) & 1) != 0;
  }
  [[nodiscard]] constexpr coding_set without(coding_set others) const noexcept {
    coding_set narrower = *this;
    narrower.bits_ = static_cast<std::uint8_t>(bits_ & ~others.bits_);
    return narrower;
  }
  [[nodiscard]] constexpr coding_set with(coding_set others) const noexcept {
    coding_set wider = *this;
    wider.bits_ = static_cast<std::uint8_t>(bits_ | others.bits_);
    return wider;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  std::uint8_t bits_ = 0;
};

/// Chooses a coding for an Accept-Encoding field among those in `have`: the one with the highest
/// weight; among equals, the server's preference. The choice is identity if the field is empty,
/// names no coding in `have`, or refuses those it names. It is also identity if the field refuses
/// identity, because a readable answer helps more than a 406 (RFC 9110 section 12.5.3 allows both).
[[nodiscard]] content_coding choose_coding(std::string_view accept_encoding, coding_set have);

/// Whether this library was built with zlib.
[[nodiscard]] bool can_compress() noexcept;

/// The codings that compress() can make in this build.
[[nodiscard]] coding_set codings_made() noexcept;

/// Compresses `plain`, so that equal text gives equal bytes (gzip with an empty name and a fixed
/// date). Gives nothing if the result would not be smaller, for identity, or without the library.
/// Thread: any; about a millisecond for 30 kB. Throws std::bad_alloc.
[[nodiscard]] std::optional<std::string> compress(content_coding as, std::string_view plain);
/// Packs a text with coding gzip.
[[nodiscard]] inline std::optional<std::string> gzip(std::string_view plain) {
  return compress(content_coding::gzip, plain);
}

}  // namespace heddle::http
