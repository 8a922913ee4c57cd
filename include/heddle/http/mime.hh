// SPDX-License-Identifier: MIT
// Media types by a file's extension, as they go into Content-Type: text types say that they are
// UTF-8. The table is src/http/mime_table.hh, sorted by extension at compile time.
#pragma once

#include <cstddef>
#include <string_view>

namespace heddle::http {

// The type of names without a known extension; browsers offer such files for saving and do not
// guess.
inline constexpr std::string_view mime_default = "application/octet-stream";

// The type of a name, a path or a bare ".ext". The text after the last '.' of the last segment
// decides, in any case.
std::string_view mime_type_of(std::string_view path);

// True for types that usually compress well: text, scripts, unpacked fonts, images that are text.
// Servers that compress ask it.
bool mime_compressible(std::string_view type);

// The number of extensions in the table.
std::size_t mime_extension_count();

}  // namespace heddle::http
