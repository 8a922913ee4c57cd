// SPDX-License-Identifier: MIT
// The front end: files to a checked, typed tree. Each step has a file of its own: modules.cc loads,
// declare.cc resolves the names at the top of modules, check*.cc finds types, waits.cc finds what
// may wait, own.cc finds the owner of each value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "draft/types.hh"

namespace heddle::draft {

struct front_options {
  std::vector<std::string> import_paths = {};  ///< -I
  /// Reads a file; tests and the language server give their own.
  std::function<std::expected<std::string, std::string>(const std::string&)> read = {};
};

/// Loads the file and what it uses into `p`. False when the file itself cannot be read.
bool load(program& p, const std::string& path, const front_options& options,
          source::diagnostics& report);

/// Names, types, waits, ownership. Without errors in `report` afterwards the program is sound.
void check(program& p, source::diagnostics& report);

// The steps of check(), in order; each needs the ones before.
void declare(program& p, source::diagnostics& report);
void check_types(program& p, source::diagnostics& report);
void find_waits(program& p, source::diagnostics& report);
void check_ownership(program& p, source::diagnostics& report);

/// Why a function waits: "answer waits because it calls conn.write (web.draft:28)".
[[nodiscard]] std::string explain_wait(const function& f);

/// Whether control never reaches what follows the block.
[[nodiscard]] bool leaves(const block& b);
[[nodiscard]] bool leaves(const stmt& s);
/// Whether a `break` in it leaves the loop around it.
[[nodiscard]] bool breaks(const block& b);
[[nodiscard]] bool breaks(const stmt& s);
[[nodiscard]] bool breaks(const expr& e);

}  // namespace heddle::draft
