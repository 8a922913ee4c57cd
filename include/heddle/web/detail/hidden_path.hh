// SPDX-License-Identifier: MIT
// Decides which names of a served folder are hidden: those that begin with a dot, regardless of the
// path or link that leads there. /.well-known is visible, because it is meant for visitors (RFC
// 8615). For parts of a program that open files of that folder beside static_files.
#pragma once

#include <string_view>

namespace heddle::http {

/// Whether a path is hidden. `path` is decoded and begins with '/', which is the served folder.
[[nodiscard]] bool hidden_path(std::string_view path) noexcept;

/// Whether visitors may not have a name: a hidden one, unless the server shows these; and that of a
/// file which write_file() or an upload has begun: '.', a name, '.', 16 hexadecimal digits.
[[nodiscard]] bool withheld_name(std::string_view name, bool shows_hidden) noexcept;
/// As above, for a path.
[[nodiscard]] bool withheld_path(std::string_view path, bool shows_hidden) noexcept;

/// Checks the current path of an open file, with links resolved, relative to an open folder. True
/// also if that path is not known, or no longer below the folder.
[[nodiscard]] bool opened_hidden(int folder, int file) noexcept;

}  // namespace heddle::http
