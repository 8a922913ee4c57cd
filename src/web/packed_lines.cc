// SPDX-License-Identifier: MIT
// A small table by address; a newer text takes the place of an older one.
#include "web/packed_lines.hh"

#include <cstdint>

#include "heddle/http/detail/http2_fields.hh"

namespace heddle::http {

void packed_lines::put(std::string& out, const piece& lines, std::size_t bytes) {
  const std::string_view text = lines.bytes().text().substr(0, bytes);
  if (text.empty()) return;
  if (text.size() > one_bytes_max) return put_http2_lines(out, text);
  const auto address = reinterpret_cast<std::uintptr_t>(text.data());
  entry& e = entries_[(address >> 4 ^ address >> 10) % entries_.size()];
  if (e.lines.bytes().data() != lines.bytes().data() || e.bytes != bytes) [[unlikely]] {
    e.bytes = 0;  // if it cannot be packed for lack of memory, it is not there
    e.packed.clear();
    put_http2_lines(e.packed, text);
    e.lines = lines;
    e.bytes = bytes;
  }
  out.append(e.packed);
}

}  // namespace heddle::http
