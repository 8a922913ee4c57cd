// SPDX-License-Identifier: MIT
// Parts of a flow as text, for `--emit cfg`, dot and svg.
#pragma once

#include <string>
#include <vector>

#include "draft/flow.hh"

namespace heddle::draft {

[[nodiscard]] std::string instr_text(const flow& f, const instr::kinds& how);
/// Bytes of the frame's variables that are needed at the start (index 0: the parameters) and at
/// each wait, by its number: those read after it, and the arguments with which it is asked again.
/// The largest is the least that any layout of the frame can do with. Needs plan(f).
[[nodiscard]] std::vector<std::uint32_t> bytes_at_waits(const flow& f);
/// All flows as one picture, in SVG.
[[nodiscard]] std::string print_svg(const std::vector<flow>& flows);

}  // namespace heddle::draft
