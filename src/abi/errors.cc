// SPDX-License-Identifier: MIT
// Codes and names of errors. The names of a program's own errors are noted when a thread ends with
// one.
#include "heddle/abi/errors.hh"

#include <mutex>
#include <vector>

#include "heddle/draft.h"

namespace {

using heddle::named_error;
using heddle::system_errors;
static_assert(heddle::error_code_of("eof") == -HEDDLE_EOF);
static_assert(heddle::error_code_of("memory") == -HEDDLE_NO_MEMORY);

/// The names that name_error() was given.
struct error_names {
  std::mutex lock;
  std::vector<named_error> rows;

  [[nodiscard]] static error_names& all() {
    static error_names names;
    return names;
  }
  [[nodiscard]] const named_error* find(std::int32_t code) const noexcept {
    for (const named_error& r : rows)
      if (r.code == code) return &r;
    return nullptr;
  }
};

}  // namespace

extern "C" heddle_view heddle_error_name(std::int32_t error) {
  for (const named_error& r : system_errors)
    if (r.code == error) return {r.name.data(), r.name.size()};
  if (error == 0) return HEDDLE_VIEW("none");
  error_names& of_program = error_names::all();
  const std::scoped_lock held(of_program.lock);
  if (const named_error* const r = of_program.find(error)) return {r->name.data(), r->name.size()};
  return error >= heddle::own_error_min ? HEDDLE_VIEW("of the program") : HEDDLE_VIEW("system");
}

std::int32_t heddle::abi::error_code(std::string_view name) noexcept { return error_code_of(name); }

void heddle::abi::name_error(std::int32_t code, const char* name) {
  error_names& of_program = error_names::all();
  const std::scoped_lock held(of_program.lock);
  if (of_program.find(code) == nullptr) of_program.rows.push_back({code, name});
}
