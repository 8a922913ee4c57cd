// SPDX-License-Identifier: MIT
// What a request gets that is refused because of overload, made once: an answer that costs less
// than looking at the request would. It is text whatever the client would like, and no error page
// of the program's.
#pragma once

#include <string>
#include <string_view>

#include "heddle/http/overload.hh"

namespace heddle::http {

inline constexpr std::string_view refusal_text =
    "503 the server has more to do than it can do in time; try again later\n";

/// The header lines that are no server's own. Throws where options.headers cannot be sent.
[[nodiscard]] std::string refusal_lines(const overload_options& options);

}  // namespace heddle::http
