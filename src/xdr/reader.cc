// SPDX-License-Identifier: MIT
// Walks the pieces of a chain, and words the errors.
#include "heddle/xdr/reader.hh"

#include <algorithm>

namespace heddle::xdr {

bool reader::boolean(bool& value) {
  std::uint32_t raw = 0;
  if (!number(raw)) return false;
  value = raw == 1;
  return raw <= 1 || fail("a bool is 0 or 1, and this is " + std::to_string(raw));
}

bool reader::characters(std::string& value, std::uint32_t bound) {
  std::uint32_t size = 0;
  if (!read_length(size, bound, 1) || !allow_memory(size)) return false;
  value.resize(size);
  return copy_out(reinterpret_cast<std::byte*>(value.data()), size) &&
         skip_padding(detail::padding_of(size));
}

bool reader::pieces(chain& value, std::uint32_t bound) {
  value.clear();
  std::uint32_t size = 0;
  if (!read_length(size, bound, 1)) return false;
  for (std::size_t rest = size; rest != 0;) {
    if (now_ == end_) {
      const byte_view next = in_.piece_at(next_piece_++).bytes();
      now_ = next.data();
      end_ = now_ + next.size();
      continue;
    }
    const piece& from = in_.piece_at(next_piece_ - 1);
    const std::size_t count = std::min(rest, static_cast<std::size_t>(end_ - now_));
    if (from.keeps_bytes())
      value.append(from.slice(static_cast<std::size_t>(now_ - from.bytes().data()), count));
    else
      value.append(piece::copy_of({now_, count}));
    now_ += count;
    left_ -= count;
    rest -= count;
  }
  return skip_padding(detail::padding_of(size));
}

bool reader::read_length(std::uint32_t& count, std::uint32_t bound, std::size_t unit) {
  if (!number(count)) return false;
  if (count > bound)
    return fail("a length of " + std::to_string(count) + " exceeds the bound " +
                std::to_string(bound));
  // With its padding, the data is a multiple of four.
  const std::uint64_t bytes = std::uint64_t{count} * unit;
  if (bytes + detail::padding_of(bytes) > left_)
    return fail("a length of " + std::to_string(count) + " needs more than the " +
                std::to_string(left_) + " bytes that are left");
  return true;
}

bool reader::copy_out_slowly(std::byte* to, std::size_t size) {
  if (size > left_) return fail("the data ends");
  left_ -= size;
  while (size != 0) {
    if (now_ == end_) {
      const byte_view next = in_.piece_at(next_piece_++).bytes();
      now_ = next.data();
      end_ = now_ + next.size();
    }
    const std::size_t count = std::min(size, static_cast<std::size_t>(end_ - now_));
    std::memcpy(to, now_, count);
    to += count;
    now_ += count;
    size -= count;
  }
  return true;
}

bool reader::skip_padding(std::size_t size) {
  std::byte padding[4] = {};
  if (!copy_out(padding, size)) return false;
  return std::bit_cast<std::uint32_t>(padding) == 0 || fail("padding is not zero");
}

bool reader::enter() {
  if (depth_ == limits_.nesting_max)
    return fail("the nesting is deeper than " + std::to_string(limits_.nesting_max) +
                " (reader_limits::nesting_max)");
  ++depth_;
  return true;
}

bool reader::allow_memory(std::size_t size) {
  if (size > limits_.memory_bytes_max - memory_)
    return fail("the value needs more memory than " + std::to_string(limits_.memory_bytes_max) +
                " bytes (reader_limits::memory_bytes_max)");
  memory_ += size;
  return true;
}

bool reader::fail(std::string what) {
  what_ = std::move(what) + ", at byte " + std::to_string(at());
  error_ = what_;
  return false;
}

bool reader::fail_enum(std::int32_t value) {
  return fail("the enum has no value " + std::to_string(value));
}

void reader::add_name(const char* name) {
  if (path_.size() > 256) return;  // deep nesting: the innermost names say enough
  const bool joins = !path_.empty() && path_.front() != '[';
  path_.insert(0, joins ? std::string(name) + "." : std::string(name));
  error_ = path_ + ": " + what_;
}

void reader::add_index(std::size_t index) {
  if (path_.size() > 256) return;
  const bool joins = !path_.empty() && path_.front() != '[';
  path_.insert(0, "[" + std::to_string(index) + (joins ? "]." : "]"));
  error_ = path_ + ": " + what_;
}

}  // namespace heddle::xdr
