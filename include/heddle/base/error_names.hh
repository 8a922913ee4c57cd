// SPDX-License-Identifier: MIT
// The codes of the errors of Draft, in one table for its compiler and for its library: a program
// holds the code, and reports print the name.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace heddle {

struct named_error {
  std::int32_t code;
  std::string_view name;
};

/// The errors that have a code of the system. `eof` is no failure there; its code is one that no
/// system call gives. docs/reference/draft.md lists the names.
inline constexpr named_error system_errors[] = {
    {4095, "eof"},         {ECANCELED, "canceled"},   {ETIMEDOUT, "timeout"},
    {ECONNRESET, "reset"}, {ECONNREFUSED, "refused"}, {ENOMEM, "memory"},
    {EPIPE, "closed"},     {ENOENT, "not_found"},     {EACCES, "denied"},
    {EXDEV, "denied"},     {EEXIST, "exists"},        {EADDRINUSE, "in_use"},
    {EMSGSIZE, "too_big"}, {ENOBUFS, "full"},         {EAGAIN, "empty"},
    {EILSEQ, "syntax"},    {ERANGE, "range"},         {EHOSTUNREACH, "unreachable"},
    {ENOSPC, "no_space"},  {EISDIR, "is_directory"},  {EOVERFLOW, "missed"},
    {EINVAL, "invalid"},
};

/// The least code of a name that is not in the table.
inline constexpr std::int32_t own_error_min = 4096;

/// The code of error.NAME: that of the system where there is one, else from
/// own_error_min on, computed from the name alone, so that equal names have equal codes in every
/// program.
[[nodiscard]] constexpr std::int32_t error_code_of(std::string_view name) noexcept {
  for (const named_error& e : system_errors)
    if (e.name == name) return e.code;
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return own_error_min + static_cast<std::int32_t>(hash % 1000000000U);
}

}  // namespace heddle
