// SPDX-License-Identifier: MIT
// Reads a trace of a bus (HEDDLE_BUS_TRACE), and counts what a profile counts: which topics were
// raised, by which handlers, and after which topics. A trace has no times of handlers.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "heddle/bus/profile.hh"

namespace heddle {

struct trace_limits {
  std::size_t text_len_max = std::size_t{257} << 20;  ///< bytes; a bus writes at most 256 MiB
  std::size_t buses_max = 65536;                      ///< buses in one trace
  std::size_t bindings_max = 65536;                   ///< handlers bound to one topic at one time
  profile_limits profile = {};  ///< entries beyond them are counted in `dropped`
};

/// Whether a file begins as a trace does.
[[nodiscard]] bool is_trace(const std::string& path);

/// The profile of a trace's text; an error names the line. Hashes of topics and handlers are those
/// of their names alone, so no plan can be made of it. If the trace reached its limit, `dropped` is
/// not 0.
[[nodiscard]] std::expected<profile_data, profile_problem> profile_of_trace(
    std::string_view text, const trace_limits& limits = {});

/// Reads a trace from a file. Throws failure with the file, the line and advice.
[[nodiscard]] profile_data read_trace(const std::string& path);

}  // namespace heddle
