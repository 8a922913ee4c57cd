// SPDX-License-Identifier: MIT
// Tasks that move bytes for plain frames through memory of their own: a task that is withdrawn goes
// on alone for a moment, and the frame's buffer may be gone by then.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "abi/objects.hh"
#include "abi/waiting.hh"
#include "heddle/io/pipe.hh"

namespace heddle::abi {

using byte_list = std::vector<std::byte>;

inline std::string text_in(heddle_view v) { return {v.data, v.len}; }

inline std::int64_t status_of(const std::error_code& e) noexcept {
  return e.value() > 0 ? -e.value() : -EIO;
}

inline task<byte_list> read_bytes(pipe_reader from, std::size_t most) {
  byte_list bytes(most);
  const std::size_t got = co_await from.read_some(byte_span(bytes.data(), bytes.size()));
  bytes.resize(got);
  co_return bytes;
}

inline task<> write_bytes(pipe_writer to, std::string bytes) {
  const byte_view all(bytes.data(), bytes.size());
  co_await to.write(all);
}

/// Appends what arrives at the pipe to the buffer; HEDDLE_EOF at its end.
inline std::int64_t ask_bytes(heddle_worker* w, const pipe_reader& from, heddle_buffer* to,
                              std::int64_t* count, heddle_wait* at, heddle_frame* self) {
  if (to->begin != 0) {
    std::memmove(to->data, to->data + to->begin, to->end - to->begin);
    to->end -= to->begin;
    to->begin = 0;
  }
  constexpr std::size_t chunk = std::size_t{16} * 1024;
  const std::size_t room = to->capacity - to->end;
  if (room == 0) return -ENOBUFS;
  std::size_t got = 0;
  const std::int64_t status = ask_task<byte_list>(
      w, at, self, [&] { return read_bytes(from, std::min(room, chunk)); },
      [&](const byte_list& bytes) {
        got = std::min(bytes.size(), room);
        if (got != 0) std::memcpy(to->data + to->end, bytes.data(), got);
        to->end += got;
      });
  if (status != 0) return status;
  if (got == 0) return HEDDLE_EOF;
  *count = static_cast<std::int64_t>(got);
  return 0;
}

}  // namespace heddle::abi
