// SPDX-License-Identifier: MIT
// Bytes to be sent, as a chain of pieces. A piece is immutable and counted: several chains can
// share it, and it stays until its last byte has left. Small data is copied and gathered, a
// std::string is moved in, a piece or a slice of one is shared, and text that lives forever is only
// referred to.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/io/buffer.hh"

struct iovec;

namespace heddle {

namespace detail {
/// The counted owner of some bytes. The count is not atomic: its pieces stay in one color.
struct piece_owner {
  std::uint32_t count = 1;
  bool in_file = false;  ///< the object is a file_owner
  void (*destroy)(piece_owner*) noexcept;
};
/// The owner of bytes that are also in a file.
struct file_owner : piece_owner {
  const std::byte* begin;
  int file;
  std::uint64_t at;
};
}  // namespace detail

/// The place of bytes in a file, from which the kernel can send them without copying.
struct file_place {
  int file = -1;
  std::uint64_t at = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return file >= 0; }
};

/// An owner of bytes that can be moved: a mapping, a counted buffer.
template <class H>
concept byte_holder = std::move_constructible<H> && requires(const H& h) {
  { h.bytes() } noexcept -> std::convertible_to<byte_view>;
};
/// A holder whose bytes are in a file too, and do not change there: page_block (page_store.hh).
template <class H>
concept page_holder = byte_holder<H> && requires(const H& h) {
  { h.place() } noexcept -> std::same_as<file_place>;
};

/// Some immutable bytes that several chains may share.
///
/// Thread: one color; the count is not atomic. Copies and slices share the bytes.
///
///   piece page(render());             // moved in, not copied
///   co_await conn.write(chain().append(header).append(page.slice(0, 100)));
class piece {
 public:
  piece() noexcept = default;
  explicit piece(std::string&& text);
  [[nodiscard]] static piece copy_of(byte_view bytes);
  /// Refers to bytes that stay valid and unchanged for as long as anything refers to them.
  [[nodiscard]] static piece of_static(byte_view bytes) noexcept;
  /// Moves a holder in, and destroys it when nothing refers to its bytes any more.
  template <byte_holder H>
  [[nodiscard]] static piece held_by(H holder) {
    using base = std::conditional_t<page_holder<H>, detail::file_owner, detail::piece_owner>;
    struct owner : base {
      explicit owner(H&& h) : base{}, held(std::move(h)) {}
      H held;
    };
    auto* const made = new owner(std::move(holder));
    made->destroy = [](detail::piece_owner* o) noexcept { delete static_cast<owner*>(o); };
    piece p;
    p.owner_ = made;
    p.bytes_ = made->held.bytes();
    if constexpr (page_holder<H>) {
      const file_place place = made->held.place();
      made->in_file = static_cast<bool>(place);
      made->begin = p.bytes_.data();
      made->file = place.file;
      made->at = place.at;
    }
    return p;
  }

  piece(const piece& other) noexcept : bytes_(other.bytes_), owner_(other.owner_) {
    if (owner_ != nullptr) ++owner_->count;
  }
  piece(piece&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), owner_(std::exchange(other.owner_, nullptr)) {}
  piece& operator=(piece other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~piece() {
    if (owner_ != nullptr && --owner_->count == 0) owner_->destroy(owner_);
  }

  /// A part of this piece, which shares its bytes. A count beyond the end is cut.
  [[nodiscard]] piece slice(std::size_t from, std::size_t count = ~std::size_t{0}) const noexcept;

  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  /// Whether the piece keeps its bytes alive. False after of_static() and append_view().
  [[nodiscard]] bool keeps_bytes() const noexcept { return owner_ != nullptr; }
  /// The place of the bytes in a file, if their holder gives one.
  [[nodiscard]] file_place place() const noexcept {
    if (owner_ == nullptr || !owner_->in_file) return {};
    const auto& in = static_cast<const detail::file_owner&>(*owner_);
    return {in.file, in.at + static_cast<std::uint64_t>(bytes_.data() - in.begin)};
  }

 private:
  friend class chain;
  byte_view bytes_;
  detail::piece_owner* owner_ = nullptr;
};

/// A sequence of pieces that is sent as one run of bytes.
///
/// Thread: one color. Owns: its pieces, until remove_prefix() passes them or it dies.
///
///   chain out;
///   out.append_copy("HTTP/1.1 200 OK\r\n\r\n").append(std::move(body));
///   co_await conn.write(std::move(out));
class chain {
 public:
  chain() noexcept = default;
  explicit chain(std::string&& text) { append(std::move(text)); }
  chain(chain&& other) noexcept
      : pieces_(std::move(other.pieces_)),
        first_(std::exchange(other.first_, 0)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {
    other.pieces_.clear();
  }
  chain& operator=(chain&& other) noexcept {
    pieces_ = std::move(other.pieces_);
    other.pieces_.clear();
    first_ = std::exchange(other.first_, 0);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    return *this;
  }

  /// Copies the bytes; short texts in a row are gathered into one piece.
  chain& append_copy(byte_view bytes);
  /// Refers to bytes of another owner, which must stay until they have left.
  chain& append_view(byte_view bytes);
  chain& append(std::string&& text);
  chain& append(piece shared);
  chain& append(chain&& other);

  /// Drops the first `count` bytes, at most all, and releases the pieces they fill.
  void remove_prefix(std::size_t count) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t piece_count() const noexcept { return pieces_.size() - first_; }
  [[nodiscard]] const piece& piece_at(std::size_t i) const noexcept { return pieces_[first_ + i]; }
  /// Describes the first pieces to the system; returns how many entries were filled.
  std::size_t fill(::iovec* out, std::size_t count) const noexcept;
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<piece> pieces_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t room_ = 0;  // bytes that still fit behind the last piece, which then is our own copy
};

}  // namespace heddle
