// SPDX-License-Identifier: MIT
// Media types by a file's extension, as they go into Content-Type: text types say that they are
// UTF-8. The table is src/http/mime_table.hh, sorted by extension at compile time.
#pragma once

#include <cstddef>
#include <string_view>

namespace heddle::http {

// For names without a known extension: a browser offers it for saving and guesses nothing.
inline constexpr std::string_view mime_default = "application/octet-stream";

// `path` may be a name, a path or a bare ".ext"; the part behind the last '.' of the last segment
// decides, in any case.
std::string_view mime_type_of(std::string_view path);

// True for types whose content usually shrinks: text, scripts, fonts that are not packed, images
// that are text. For servers that compress.
bool mime_compressible(std::string_view type);

// How many extensions the table knows.
std::size_t mime_extension_count();

}  // namespace heddle::http
