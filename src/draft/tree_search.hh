// SPDX-License-Identifier: MIT
// Finds the name at a place of a source file, for the language server.
#pragma once

#include <optional>
#include <string>

#include "draft/types.hh"

namespace heddle::draft {

struct found_name {
  span at{};                ///< the word itself
  std::string description;  ///< the type; for a function also why it waits
  span declared{};          ///< where it was declared; empty where nothing was
};

/// The innermost name, call or variable whose word lies around the byte.
[[nodiscard]] std::optional<found_name> find_at(const module& m, std::uint32_t offset);

}  // namespace heddle::draft
