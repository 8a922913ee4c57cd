// SPDX-License-Identifier: MIT
// Codes and names of errors in compiled programs: error.NAME of Draft.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/abi.h"
#include "heddle/base/error_names.hh"

namespace heddle::abi {

/// The code of error.NAME, as error_code_of() in base/error_names.hh computes it. Thread: any.
[[nodiscard]] std::int32_t error_code(std::string_view name) noexcept;

/// Registers the name of an error code of at least own_error_min for heddle_error_name(). Reports
/// show it, and threads that get the error from a job. `name` must stay, as a literal does.
/// Thread: any.
void name_error(std::int32_t code, const char* name);

}  // namespace heddle::abi
