// SPDX-License-Identifier: MIT
// Buffers and counted bytes for plain frames.
#include <cerrno>
#include <cstring>

#include "abi/objects.hh"
#include "abi/waiting.hh"
#include "heddle/draft.h"

using namespace heddle;
using namespace heddle::abi;

namespace {
/// The largest buffer: more than any protocol's message, but sums of sizes do not overflow.
constexpr std::int64_t buffer_max = std::int64_t{1} << 30;
}  // namespace

extern "C" {

std::int64_t heddle_buffer_new(heddle_worker* hw, std::int64_t size, heddle_buffer** out) {
  if (size < 1 || size > buffer_max) return -EINVAL;
  const auto bytes = static_cast<std::size_t>(size);
  auto* const b = static_cast<heddle_buffer*>(heddle_try_alloc(hw, sizeof(heddle_buffer) + bytes));
  if (b == nullptr) return -ENOMEM;
  *b = {};
  b->data = reinterpret_cast<char*>(b + 1);
  b->capacity = bytes;
  *out = b;
  return 0;
}

void heddle_buffer_free(heddle_worker* hw, heddle_buffer* b) {
  if (b == nullptr) return;
  if (b->block != 0) {
    drop(from(hw), static_cast<block_buffer*>(b));
  } else {
    heddle_free(hw, b, sizeof(heddle_buffer) + b->capacity);
  }
}

std::int64_t heddle_bytes_copy(heddle_worker* hw, heddle_view v, heddle_bytes** out) {
  if (v.len == 0) {
    *out = nullptr;
    return 0;
  }
  if (v.len >= UINT32_MAX - sizeof(heddle_bytes)) return -EMSGSIZE;
  auto* const b = static_cast<heddle_bytes*>(heddle_try_alloc(hw, sizeof(heddle_bytes) + v.len));
  if (b == nullptr) return -ENOMEM;
  b->count = 1;
  b->len = static_cast<std::uint32_t>(v.len);
  std::memcpy(b->data, v.data, v.len);
  *out = b;
  return 0;
}

void heddle_bytes_release(heddle_worker* hw, heddle_bytes* b) {
  if (b == nullptr || __atomic_load_n(&b->count, __ATOMIC_RELAXED) == UINT32_MAX) return;
  // acq_rel: the last release must come after all reads by the owners before it
  if (__atomic_sub_fetch(&b->count, 1, __ATOMIC_ACQ_REL) != 0) return;
  heddle_free(hw, b, sizeof(heddle_bytes) + b->len);
}

}  // extern "C"
