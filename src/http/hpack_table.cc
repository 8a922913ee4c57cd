// SPDX-License-Identifier: MIT
// The static table (RFC 7541 appendix A), found by a perfect hash of its names, and the dynamic
// one.
#include "heddle/http/detail/hpack_table.hh"

#include <algorithm>
#include <array>

namespace heddle::http {
namespace {

constexpr std::array<hpack_pair, hpack_static_count> known = {{
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
}};

/// Spreads the names well enough that a slot holds at most a few of them.
constexpr unsigned hash(std::string_view name) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  if (name.empty()) return 0;
  return (at(name.size() - 1) * 7u + at(name.size() / 2) * 3u + at(0) + name.size() * 31u) % 128u;
}

/// For each hash the first index (from 1) of a name that has it, and for each index the next.
struct name_index {
  std::array<std::uint8_t, 128> first{};
  std::array<std::uint8_t, hpack_static_count + 1> next{};
  constexpr name_index() {
    for (unsigned i = hpack_static_count; i != 0; --i) {
      if (i > 1 && known[i - 1].name == known[i - 2].name) continue;  // the first of its name
      const unsigned h = hash(known[i - 1].name);
      next[i] = first[h];
      first[h] = static_cast<std::uint8_t>(i);
    }
  }
};
constexpr name_index names;

}  // namespace

const hpack_pair& hpack_static(std::size_t index) noexcept { return known[index - 1]; }

hpack_static_place hpack_find_static(std::string_view name, std::string_view value) noexcept {
  std::uint8_t i = names.first[hash(name)];
  while (i != 0 && known[i - 1].name != name) i = names.next[i];
  if (i == 0) return {};
  for (std::uint8_t j = i; j <= hpack_static_count && known[j - 1].name == name; ++j)
    if (known[j - 1].value == value) return {j, true};
  return {i, false};
}

std::optional<hpack_pair> hpack_table::at(std::uint64_t index) const noexcept {
  if (index == 0) return std::nullopt;
  if (index <= hpack_static_count) return hpack_static(static_cast<std::size_t>(index));
  index -= hpack_static_count;
  if (index > count()) return std::nullopt;
  const entry& e = entries_[entries_.size() - static_cast<std::size_t>(index)];
  const std::string_view texts = texts_;
  return hpack_pair{texts.substr(e.at, e.name_length),
                    texts.substr(e.at + e.name_length, e.value_length)};
}

void hpack_table::add(std::string_view name, std::string_view value) {
  const std::size_t size = name.size() + value.size() + 32;
  while (count() != 0 && bytes_ + size > bytes_max_) drop_oldest();
  if (size > bytes_max_) return;
  if (first_ > 16 && first_ > count()) compact();
  const entry e{static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(name.size()),
                static_cast<std::uint32_t>(value.size())};
  // Steps that can fail come first, so that a failure leaves all as it is.
  if (entries_.size() == entries_.capacity()) entries_.reserve(2 * entries_.size() + 8);
  texts_.reserve(texts_.size() + name.size() + value.size());
  texts_.append(name).append(value);
  entries_.push_back(e);
  bytes_ += size;
}

void hpack_table::resize(std::size_t bytes_max) {
  bytes_max_ = bytes_max;
  while (count() != 0 && bytes_ > bytes_max_) drop_oldest();
}

void hpack_table::drop_oldest() noexcept {
  bytes_ -= entries_[first_].bytes();
  if (++first_ != entries_.size()) return;
  entries_.clear();
  texts_.clear();
  first_ = 0;
}

/// Frees the texts of fields that have left.
void hpack_table::compact() {
  const std::uint32_t start = entries_[first_].at;
  texts_.erase(0, start);
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
  for (entry& e : entries_) e.at -= start;
  first_ = 0;
}

}  // namespace heddle::http
