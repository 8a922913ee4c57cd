// SPDX-License-Identifier: MIT
// The state of a stack as text for people and JSON for programs: connections by state, those whose
// bytes have waited longest, memory, and what was dropped or refused, by reason.
// docs/reference/dump.md describes both.
#pragma once

#include <cstddef>
#include <string>

#include "heddle/tcp/stack.hh"

namespace heddle::tcp {

/// `name` heads the text; at most `connections_max` connections are listed.
/// Thread: the stack's, or any while the stack is not used.
[[nodiscard]] std::string report_text(const stack& s, std::string_view name, instant now,
                                      std::size_t connections_max);
/// One JSON object.
[[nodiscard]] std::string report_json(const stack& s, std::string_view name, instant now,
                                      std::size_t connections_max);

}  // namespace heddle::tcp
