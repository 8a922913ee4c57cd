// SPDX-License-Identifier: MIT
// Gathers numbers and short texts, and shares the pieces of opaque data.
#include "heddle/xdr/writer.hh"

#include <stdexcept>
#include <string>

namespace heddle::xdr {
namespace {

constexpr std::size_t shared_bytes_min = 512;  // copying less costs less than another piece

}  // namespace

void detail::refuse_discriminant(std::int64_t value) {
  throw std::invalid_argument("xdr: the union has no arm for the discriminant " +
                              std::to_string(value));
}

bool writer::pieces(const chain& value, std::uint32_t bound) {
  write_length(value.size(), bound);
  for (std::size_t i = 0; i != value.piece_count(); ++i) {
    const piece& each = value.piece_at(i);
    flush();
    if (each.size() < shared_bytes_min)
      out_.append_copy(each.bytes());
    else
      out_.append(each);
  }
  const std::size_t padding = detail::padding_of(value.size());
  flush();
  std::memset(gathered_, 0, padding);
  used_ = padding;
  return true;
}

bool writer::fixed_bytes(const std::byte* from, std::size_t size) {
  const std::size_t padding = detail::padding_of(size);
  if (size + padding > sizeof gathered_ - used_) flush();
  if (size + padding <= sizeof gathered_) {
    if (size != 0) std::memcpy(gathered_ + used_, from, size);
    std::memset(gathered_ + used_ + size, 0, padding);
    used_ += size + padding;
    return true;
  }
  out_.append_copy({from, size});
  std::memset(gathered_, 0, padding);
  used_ = padding;
  return true;
}

void writer::flush() {
  out_.append_copy({gathered_, used_});
  used_ = 0;
}

void writer::write_length(std::size_t size, std::uint32_t bound) {
  if (size > bound)
    throw std::invalid_argument(std::string("xdr: ") + name_ + ": a length of " +
                                std::to_string(size) + " exceeds the bound " +
                                std::to_string(bound));
  number(static_cast<std::uint32_t>(size));
}

void writer::refuse_arm(const char* name) const {
  throw std::invalid_argument(std::string("xdr: ") + name +
                              ": the discriminant belongs to another arm than the one that is set; "
                              "set both by one of the union's functions");
}

void writer::refuse_enum(std::int32_t value) const {
  throw std::invalid_argument(std::string("xdr: ") + name_ + ": the enum has no value " +
                              std::to_string(value));
}

}  // namespace heddle::xdr
