// SPDX-License-Identifier: MIT
// The one place that asks for the time zone.
#include "heddle/sched/detail/world_here.hh"

namespace heddle::detail {

std::tm local_time(std::time_t seconds) noexcept {
  std::tm parts{};
  if (simulated_here())
    ::gmtime_r(&seconds, &parts);
  else
    ::localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace heddle::detail
