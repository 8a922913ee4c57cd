// SPDX-License-Identifier: MIT
// Names of files that are written beside the file that they will replace: '.', the file's name, '.'
// and 16 hexadecimal digits. After a kill such a file stays, and can be told by its name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::detail {

inline constexpr std::size_t unfinished_digits = 16;

/// A new name, with digits that the driver draws. Thread: a worker's.
[[nodiscard]] std::string unfinished_name(std::string_view name);
/// Whether a name is of this form.
[[nodiscard]] bool is_unfinished(std::string_view name) noexcept;
/// Whether a name is of this form and was made for `of`.
[[nodiscard]] bool is_unfinished(std::string_view name, std::string_view of) noexcept;

}  // namespace heddle::detail
