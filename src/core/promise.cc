// SPDX-License-Identifier: MIT
// The lines that an exception passes on its way out, for reports: core/report.hh.
#include "heddle/core/promise.hh"

namespace heddle {

void detail::note_exception(worker& w, site at) noexcept {
  const std::exception_ptr error = std::current_exception();
  const void* identity = nullptr;
  static_assert(sizeof error == sizeof identity);
  __builtin_memcpy(&identity, static_cast<const void*>(&error), sizeof identity);
  worker::exception_trail& trail = w.trail;
  if (trail.error != identity) {
    trail.error = identity;
    trail.len = 0;
  }
  if (trail.len < worker::exception_trail::limit) trail.lines[trail.len++] = at;
}

}  // namespace heddle
