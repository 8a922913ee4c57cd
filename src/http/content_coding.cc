// SPDX-License-Identifier: MIT
// Parses Accept-Encoding: weights, "*" and refused codings.
#include "heddle/http/content_coding.hh"

#include <array>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"
#include "http/packers.hh"

namespace heddle::http {
namespace {

using weight = int;  // thousandths; -1: not mentioned

/// "q=0.5" -> 500. A malformed weight counts as 1, because the client did name the coding.
weight weight_of(std::string_view parameter) {
  parameter = detail::trim_ows(parameter);
  if (parameter.size() < 3 || (parameter[0] | 0x20) != 'q' || parameter[1] != '=') return 1000;
  parameter.remove_prefix(2);
  if (parameter[0] != '0' && parameter[0] != '1') return 1000;
  weight w = (parameter[0] - '0') * 1000;
  if (parameter.size() > 1 && (parameter[1] != '.' || parameter.size() > 5)) return 1000;
  int unit = 100;
  for (std::size_t i = 2; i < parameter.size(); ++i, unit /= 10) {
    if (parameter[i] < '0' || parameter[i] > '9') return 1000;
    w += (parameter[i] - '0') * unit;
  }
  return w > 1000 ? 1000 : w;
}

}  // namespace

std::string_view name_of(content_coding coding) {
  constexpr std::string_view names[] = {"br", "zstd", "gzip", ""};
  return names[static_cast<std::size_t>(coding)];
}

std::optional<content_coding> coding_named(std::string_view token) {
  if (equal_ignoring_case(token, "gzip") || equal_ignoring_case(token, "x-gzip"))
    return content_coding::gzip;
  if (equal_ignoring_case(token, "br")) return content_coding::brotli;
  if (equal_ignoring_case(token, "zstd")) return content_coding::zstd;
  if (equal_ignoring_case(token, "identity")) return content_coding::identity;
  return std::nullopt;
}

std::string_view suffix_of(content_coding coding) {
  constexpr std::string_view suffixes[] = {".br", ".zst", ".gz", ""};
  return suffixes[static_cast<std::size_t>(coding)];
}

content_coding choose_coding(std::string_view accept_encoding, coding_set have) {
  if (have.empty() || accept_encoding.empty()) return content_coding::identity;
  std::array<weight, content_coding_count + 1> weights;
  weights.fill(-1);
  weight others = -1;  // the weight of "*"
  std::string_view element;
  while (take_list_element(accept_encoding, element)) {
    const std::size_t end = element.find(';');
    const weight w = end == element.npos ? 1000 : weight_of(element.substr(end + 1));
    const std::string_view name = detail::trim_ows(element.substr(0, end));
    if (name == "*") {
      others = w;
    } else if (const auto coding = coding_named(name)) {
      weights[static_cast<std::size_t>(*coding)] = w;
    }
  }
  // Identity is acceptable if not mentioned, but any coding that the client names comes before it.
  content_coding best = content_coding::identity;
  weight most = weights[static_cast<std::size_t>(content_coding::identity)];
  if (most < 0) most = 0;
  for (std::size_t i = 0; i < content_coding_count; ++i) {
    const auto coding = static_cast<content_coding>(i);
    const weight w = weights[i] >= 0 ? weights[i] : others;
    if (!have.has(coding) || w <= 0) continue;
    const bool first = best == content_coding::identity;
    if (first ? w >= most : w > most) {
      best = coding;
      most = w;
    }
  }
  return best;
}

coding_set codings_made() noexcept {
  coding_set made;
#ifdef HEDDLE_WITH_BROTLI
  made = made.with(content_coding::brotli);
#endif
#ifdef HEDDLE_WITH_ZSTD
  made = made.with(content_coding::zstd);
#endif
#ifdef HEDDLE_WITH_ZLIB
  made = made.with(content_coding::gzip);
#endif
  return made;
}

std::optional<std::string> compress(content_coding as, std::string_view plain) {
  switch (as) {
    case content_coding::brotli:
      return pack_brotli(plain);
    case content_coding::zstd:
      return pack_zstd(plain);
    case content_coding::gzip:
      return pack_gzip(plain);
    case content_coding::identity:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace heddle::http
