// SPDX-License-Identifier: MIT
// Codes and names of errors. The names of a program's own errors are noted when a thread ends with
// one.
#include "heddle/abi/errors.hh"

#include <cerrno>
#include <mutex>
#include <vector>

#include "heddle/draft.h"

namespace {

struct error_row {
  std::int32_t code;
  std::string_view name;
};
constexpr error_row errors[] = {
    {4095, "eof"},         {ECANCELED, "canceled"},   {ETIMEDOUT, "timeout"},
    {ECONNRESET, "reset"}, {ECONNREFUSED, "refused"}, {ENOMEM, "memory"},
    {EPIPE, "closed"},     {ENOENT, "not_found"},     {EACCES, "denied"},
    {EXDEV, "denied"},     {EEXIST, "exists"},        {EADDRINUSE, "in_use"},
    {EMSGSIZE, "too_big"}, {ENOBUFS, "full"},         {EAGAIN, "empty"},
    {EILSEQ, "syntax"},    {ERANGE, "range"},         {EHOSTUNREACH, "unreachable"},
    {ENOSPC, "no_space"},  {EISDIR, "is_directory"},  {EOVERFLOW, "missed"},
    {EINVAL, "invalid"},
};

/// The names that name_error() was given.
struct error_names {
  std::mutex lock;
  std::vector<error_row> rows;

  [[nodiscard]] static error_names& all() {
    static error_names names;
    return names;
  }
  [[nodiscard]] const error_row* find(std::int32_t code) const noexcept {
    for (const error_row& r : rows)
      if (r.code == code) return &r;
    return nullptr;
  }
};

}  // namespace

extern "C" heddle_view heddle_error_name(std::int32_t error) {
  for (const error_row& r : errors)
    if (r.code == error) return {r.name.data(), r.name.size()};
  if (error == 0) return HEDDLE_VIEW("none");
  error_names& of_program = error_names::all();
  const std::scoped_lock held(of_program.lock);
  if (const error_row* const r = of_program.find(error)) return {r->name.data(), r->name.size()};
  return error >= 4096 ? HEDDLE_VIEW("of the program") : HEDDLE_VIEW("system");
}

std::int32_t heddle::abi::error_code(std::string_view name) noexcept {
  for (const error_row& r : errors)
    if (r.name == name) return r.code;
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<std::int32_t>(4096 + hash % 1000000000U);
}

void heddle::abi::name_error(std::int32_t code, const char* name) {
  error_names& of_program = error_names::all();
  const std::scoped_lock held(of_program.lock);
  if (of_program.find(code) == nullptr) of_program.rows.push_back({code, name});
}
