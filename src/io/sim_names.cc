// SPDX-License-Identifier: MIT
// Operations whose arguments are types of room io itself: names of hosts and lists of directories.
#include "io/sim_world.hh"

namespace heddle::sim {

nanoseconds world::resolve_delay(const void*) { return nanoseconds{0}; }

std::int64_t world::resolve(void*) { return -ENOSYS; }

std::int64_t world::list_directory(const node&, void*) { return -ENOSYS; }

}  // namespace heddle::sim
