// SPDX-License-Identifier: MIT
// Content codings (RFC 9110 section 8.4.1) and which of them a client would take: the codings that
// lie beside a file as FILE.zst, FILE.br and FILE.gz, and gzip made on the fly where zlib is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

/// In the order of our preference when a client likes several equally: what packs best first.
enum class content_coding : std::uint8_t { brotli, zstd, gzip, identity };

inline constexpr std::size_t content_coding_count = 3;  // without identity

/// The token of Content-Encoding: "br", "zstd", "gzip"; "" for identity.
[[nodiscard]] std::string_view name_of(content_coding coding);
/// What a file's name has behind it: ".br", ".zst", ".gz"; "" for identity.
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
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  std::uint8_t bits_ = 0;
};

/// Which of the codings that we have an Accept-Encoding field asks for: the one with the highest
/// weight, by our preference among equals. Identity when the field is empty, names none that we
/// have, or refuses what it names; also when it refuses identity, since a readable answer helps
/// more than a 406 (RFC 9110 section 12.5.3 allows both).
[[nodiscard]] content_coding choose_coding(std::string_view accept_encoding, coding_set have);

/// Whether this library was built with zlib.
[[nodiscard]] bool can_compress() noexcept;

/// `plain` as gzip with a fixed, empty name and date, so that the same text gives the same bytes.
/// Nothing when it would not be smaller, or without zlib. Thread: any; it takes a millisecond for
/// about 30 kB.
[[nodiscard]] std::optional<std::string> gzip(std::string_view plain);

}  // namespace heddle::http
