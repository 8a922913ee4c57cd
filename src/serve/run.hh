// SPDX-License-Identifier: MIT
// Runs the service of `heddle serve` and `heddle proxy` until it is stopped: as a process, in a
// runtime that it makes, or as a task in a runtime that is there, such as a node of a simulation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/task.hh"
#include "serve/command.hh"
#include "serve/setting.hh"
#include "serve/setting_flags.hh"
#include "serve/surroundings.hh"

namespace heddle::serve {

/// Runs the service in a runtime as its settings ask for, and returns the exit code: 0 fine, 1 it
/// failed, 2 the settings are wrong. The flags outlive the call; SIGHUP reads the other sources
/// again.
[[nodiscard]] int run_service(const setting_table& table, const setting_requests& flags);

/// As above, in this runtime. `words` are those of the command line behind the verb. All that it
/// says goes to `around`, also about the words; a service that is cancelled returns 1 and says
/// nothing.
///
///   co_await service_program(serve_settings(), {"/www", "-p", "80"}, around);
[[nodiscard]] task<int> service_program(const setting_table& table, std::vector<std::string> words,
                                        std::shared_ptr<surroundings> around);

}  // namespace heddle::serve
