// SPDX-License-Identifier: MIT
// Computes the edit distance one row at a time.
#include "source/nearest.hh"

#include <algorithm>
#include <vector>

namespace heddle::source {
namespace {

constexpr std::size_t slips_max = 2;
constexpr std::size_t name_max = 64;  ///< a longer one is no word that was mistyped

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  std::string best;
  if (word.size() > name_max) return best;
  std::size_t least = word.size() < 4 ? slips_max : slips_max + 1;
  for (const std::string& name : names) {
    if (name.size() > name_max) continue;
    const std::size_t d = distance(word, name);
    if (d < least) {
      least = d;
      best = name;
    }
  }
  return best;
}

}  // namespace heddle::source
