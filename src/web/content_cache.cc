// SPDX-License-Identifier: MIT
// Evicts the least recently used entries by size. The map's keys are views of the entries' paths.
#include "heddle/web/detail/content_cache.hh"

#include <bit>
#include <cstring>

namespace heddle::http {
namespace {

constexpr std::uint64_t entry_overhead = 512;  // list and map nodes, tags, owners of pieces

std::uint64_t bytes_of(const representation& r) noexcept { return r.lines.size() + r.body.size(); }

}  // namespace

std::size_t content_cache::text_hash::operator()(std::string_view text) const noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads all bits
  const char* p = text.data();
  std::size_t left = text.size();
  std::uint64_t mixed = left;
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    mixed = (std::rotl(mixed, 29) ^ word) * odd;
  }
  std::uint64_t last = 0;
  for (; left != 0; --left, ++p) last = last << 8 | static_cast<unsigned char>(*p);
  mixed = (std::rotl(mixed, 29) ^ last) * odd;
  return mixed ^ mixed >> 32;
}

std::uint64_t content::bytes() const noexcept {
  std::uint64_t sum = entry_overhead + path.size() + bytes_of(plain);
  for (const representation& r : coded) sum += bytes_of(r);
  return sum;
}

content* content_cache::find(std::string_view path) {
  entry*& lately = near(path);
  if (lately == nullptr || lately->held.path != path) {
    const auto at = by_path_.find(path);
    if (at == by_path_.end()) return nullptr;
    lately = &*at->second;
  }
  if (lately->self != entries_.begin()) entries_.splice(entries_.begin(), entries_, lately->self);
  return &lately->held;
}

content& content_cache::insert(content&& c) {
  erase(c.path);
  entries_.push_front({std::move(c)});
  entry& e = entries_.front();
  e.self = entries_.begin();
  by_path_.emplace(e.held.path, entries_.begin());
  grew(e.held);
  return e.held;
}

void content_cache::grew(content& c) {
  entry& e = *by_path_.find(c.path)->second;
  const std::uint64_t now = c.bytes();
  bytes_ += now - e.counted;
  e.counted = now;
  // The entry that grew is in use now, so it must not be the one to be evicted.
  entries_.splice(entries_.begin(), entries_, by_path_.find(c.path)->second);
  shrink();
}

void content_cache::shrink() {
  while (bytes_ > bytes_max_ && entries_.size() > 1) {
    ++evictions_;
    forget(std::prev(entries_.end()));
  }
}

void content_cache::erase(std::string_view path) {
  if (const auto at = by_path_.find(path); at != by_path_.end()) forget(at->second);
}

void content_cache::forget(order::iterator at) {
  bytes_ -= at->counted;
  if (entry*& lately = near(at->held.path); lately == &*at) lately = nullptr;
  by_path_.erase(at->held.path);
  entries_.erase(at);
}

void content_cache::clear() noexcept {
  near_.fill(nullptr);
  by_path_.clear();
  entries_.clear();
  bytes_ = 0;
}

}  // namespace heddle::http
