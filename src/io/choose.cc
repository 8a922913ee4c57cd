// SPDX-License-Identifier: MIT
// Chooses one of the kernel's drivers: the named one, or the first that works here, and gives the
// reasons.
#include "heddle/io/kernel_drivers.hh"
#include "io/kernel_driver.hh"
#if HEDDLE_WITH_URING
#include "io/uring.hh"
#endif

namespace heddle {
namespace {

struct candidate {
  const char* name;
  std::unique_ptr<driver> (*make)(driver_place&);
  driver_probe (*probe)();
};

driver_probe probe_by_making(const candidate& c, const char* detail) {
  driver_probe result{c.name, false, detail, ""};
  try {
    driver_place small;
    small.options.block_count = 1;
    static_cast<void>(c.make(small));
    result.usable = true;
  } catch (const std::exception& e) {
    result.detail = e.what();
    result.advice = "raise the limit on open files (ulimit -n) or see the error";
  }
  return result;
}

const candidate candidates[] = {
#if HEDDLE_WITH_URING
    {"io_uring", &make_uring_driver, &probe_uring},
#endif
    {"epoll", &make_epoll_driver, nullptr},
    {"poll", &make_poll_driver, nullptr},
};

driver_probe probe_of(const candidate& c) {
  if (c.probe != nullptr) return c.probe();
  return probe_by_making(c, "edge-triggered readiness; files and names go to the blocking pool");
}

}  // namespace

std::vector<driver_probe> probe_drivers() {
  std::vector<driver_probe> all;
#if !HEDDLE_WITH_URING
  all.push_back(
      {"io_uring", false, "this build has no liburing", "install liburing-dev and build again"});
#endif
  for (const candidate& c : candidates) all.push_back(probe_of(c));
  return all;
}

std::unique_ptr<driver> make_kernel_driver(std::string_view wanted, driver_place& place) {
  for (const candidate& c : candidates) {
    if (!wanted.empty() && wanted != c.name) continue;
    if (c.probe != nullptr) {
      const driver_probe found = c.probe();
      if (!found.usable) {
        if (wanted.empty()) continue;
        throw failure(
            std::make_error_code(std::errc::not_supported),
            "the " + found.name + " driver cannot run here: " + found.detail + "; " + found.advice);
      }
    }
    return c.make(place);
  }
  throw failure(std::make_error_code(std::errc::invalid_argument),
                "no driver is called '" + std::string(wanted) +
                    "'; HEDDLE_DRIVER may be io_uring, epoll, poll or sim");
}

}  // namespace heddle
