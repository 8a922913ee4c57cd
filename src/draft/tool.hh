// SPDX-License-Identifier: MIT
// The verb `heddle draft` without the command line: one compilation, with any stage's
// result as text.
#pragma once

#include <string>
#include <vector>

#include "draft/flow.hh"
#include "draft/front.hh"

namespace heddle::draft {

enum class stage : std::uint8_t { check, tokens, ast, types, cfg, dot, svg, plan, c, cc, header };

/// The stage of this name, or nothing.
[[nodiscard]] std::optional<stage> stage_named(std::string_view name) noexcept;

struct compile_options {
  front_options front = {};
  pass_options passes = {};
  emit_options emit = {};
};

struct compiled {
  std::string text;  ///< output of the stage; empty when there are errors
  std::unique_ptr<program> made = std::make_unique<program>();
  source::diagnostics report = {};
  [[nodiscard]] bool good() const noexcept { return !report.has_errors(); }
};

[[nodiscard]] compiled compile(const std::string& path, stage until,
                               const compile_options& options = {});

/// The page of an error's code, or an empty text.
[[nodiscard]] std::string explain(std::string_view code);

}  // namespace heddle::draft
