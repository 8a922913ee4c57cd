// SPDX-License-Identifier: MIT
// Status codes: their registered reason phrases, and whether they allow a body.
#pragma once

#include <string_view>

namespace heddle::http {

// The phrase of a registered code, "" for any other (an empty phrase is valid on the wire).
std::string_view reason_of(int status);

// Whether a code fits the grammar of RFC 9112 section 4.
constexpr bool status_valid(int status) { return status >= 100 && status <= 999; }
// Whether a code is final; an interim answer below 200 precedes a final one.
constexpr bool status_final(int status) { return status >= 200 && status <= 999; }

// Whether answers of this status may carry a body. 1xx, 204 and 304 never do, regardless of their
// headers (RFC 9112 section 6.3).
constexpr bool body_allowed(int status) { return status >= 200 && status != 204 && status != 304; }

// "HTTP/1.1 200 OK\r\n", assembled at compile time for the registered codes; "" for any other.
std::string_view status_line(int status);

}  // namespace heddle::http
