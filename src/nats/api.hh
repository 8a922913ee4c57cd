// SPDX-License-Identifier: MIT
// Questions to the servers of JetStream: a JSON text, and the answer as JSON. A question is asked
// again until a server answers, because the servers choose a new leader when one has gone.
#pragma once

#include <memory>
#include <string>

#include "heddle/nats/jetstream.hh"
#include "nats/core.hh"

namespace heddle::nats::detail {

/// Throws what the answer says is wrong, with its words; timed_out if none came.
[[nodiscard]] task<json_value> ask(std::shared_ptr<connection_core> core, jetstream_options with,
                                   message question);

/// Throws failure(invalid_argument) for a name that cannot be a word of a subject.
void check_name(const std::string& name, const char* of_what);

}  // namespace heddle::nats::detail
