// SPDX-License-Identifier: MIT
// Pieces and chains. A copied piece is one block: the owner, then the bytes, with room behind them
// that the same chain may still fill as long as the piece has no other owner.
#include "heddle/io/chain.hh"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle {
namespace {

// A response's head and small body fit in one; beyond it, copying costs more than another entry.
constexpr std::size_t gather_bytes = 2048 - sizeof(detail::piece_owner);

constexpr std::size_t pieces_at_first = 4;  // a head and a body, with one allocation

struct string_owner : detail::piece_owner {
  explicit string_owner(std::string&& t)
      : piece_owner{.destroy =
                        [](piece_owner* o) noexcept { delete static_cast<string_owner*>(o); }},
        text(std::move(t)) {}
  std::string text;
};

detail::piece_owner* make_copy_owner(std::size_t capacity) {
  void* memory = ::operator new(sizeof(detail::piece_owner) + capacity);
  return new (memory) detail::piece_owner{
      .destroy = [](detail::piece_owner* o) noexcept { ::operator delete(static_cast<void*>(o)); }};
}

std::byte* bytes_of(detail::piece_owner* owner) { return reinterpret_cast<std::byte*>(owner + 1); }

}  // namespace

piece::piece(std::string&& text) {
  auto* owner = new string_owner(std::move(text));
  owner_ = owner;
  bytes_ = byte_view(owner->text);
}

piece piece::copy_of(byte_view bytes) {
  piece made;
  if (bytes.empty()) return made;
  made.owner_ = make_copy_owner(bytes.size());
  std::memcpy(bytes_of(made.owner_), bytes.data(), bytes.size());
  made.bytes_ = byte_view(bytes_of(made.owner_), bytes.size());
  return made;
}

piece piece::of_static(byte_view bytes) noexcept {
  piece made;
  made.bytes_ = bytes;
  return made;
}

piece piece::slice(std::size_t from, std::size_t count) const noexcept {
  piece part(*this);
  from = std::min(from, size());
  part.bytes_ = bytes_.subspan(from, std::min(count, size() - from));
  return part;
}

chain& chain::append_copy(byte_view bytes) {
  if (bytes.empty()) return *this;
  if (bytes.size() <= room_ && pieces_.back().owner_->count == 1) {
    piece& last = pieces_.back();
    std::memcpy(const_cast<std::byte*>(last.bytes_.data()) + last.size(), bytes.data(),
                bytes.size());
    last.bytes_ = byte_view(last.bytes_.data(), last.size() + bytes.size());
    room_ -= bytes.size();
    size_ += bytes.size();
    return *this;
  }
  const std::size_t capacity = std::max(bytes.size(), gather_bytes);
  piece made;
  made.owner_ = make_copy_owner(capacity);
  std::memcpy(bytes_of(made.owner_), bytes.data(), bytes.size());
  made.bytes_ = byte_view(bytes_of(made.owner_), bytes.size());
  append(std::move(made));
  room_ = capacity - bytes.size();
  return *this;
}

chain& chain::append_view(byte_view bytes) { return append(piece::of_static(bytes)); }

chain& chain::append(std::string&& text) {
  // Moving a short text would cost a block of its own; copying it may cost none.
  if (text.size() <= 256) return append_copy(text);
  return append(piece(std::move(text)));
}

chain& chain::append(piece shared) {
  if (shared.empty()) return *this;
  size_ += shared.size();
  if (pieces_.capacity() == 0) pieces_.reserve(pieces_at_first);
  pieces_.push_back(std::move(shared));
  room_ = 0;
  return *this;
}

chain& chain::append(chain&& other) {
  if (empty()) {
    *this = std::move(other);
    return *this;
  }
  for (std::size_t i = other.first_; i < other.pieces_.size(); ++i)
    append(std::move(other.pieces_[i]));
  other.clear();
  return *this;
}

void chain::remove_prefix(std::size_t count) noexcept {
  count = std::min(count, size_);
  size_ -= count;
  if (size_ == 0) return clear();
  while (count > 0) {
    piece& head = pieces_[first_];
    if (count < head.size()) {
      head.bytes_ = head.bytes_.subspan(count);
      break;
    }
    count -= head.size();
    head = piece();
    ++first_;
  }
  // Amortized: each removed entry is moved over at most once.
  if (first_ > 16 && first_ > pieces_.size() / 2) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void chain::clear() noexcept {
  pieces_.clear();
  first_ = size_ = room_ = 0;
}

std::size_t chain::fill(::iovec* out, std::size_t count) const noexcept {
  count = std::min(count, piece_count());
  for (std::size_t i = 0; i < count; ++i) {
    const byte_view bytes = piece_at(i).bytes();
    out[i] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  return count;
}

std::string chain::to_string() const {
  std::string all;
  all.reserve(size_);
  for (std::size_t i = 0; i < piece_count(); ++i) all += piece_at(i).bytes().text();
  return all;
}

}  // namespace heddle
