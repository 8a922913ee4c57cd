// SPDX-License-Identifier: MIT
// The state that tamer::loop() and the functions that it runs share.
#pragma once

#include <exception>
#include <string>

#include "heddle/core/rendezvous.hh"

namespace heddle::tame {

/// Ends the loop, which rethrows this exception of a function that it had resumed. False when no
/// tamer::loop() runs, or when it has an exception already.
[[nodiscard]] bool loop_failed(std::exception_ptr error) noexcept;

/// Whether the program called tamer::initialize(tamer::several_workers).
[[nodiscard]] bool several_workers() noexcept;

/// The text of a twait ["..."] { } in which a function waits. Thread: any.
void note_description(const heddle::detail::event_set* set, std::string text);
void forget_description(const heddle::detail::event_set* set);
/// The text behind a space, or nothing.
[[nodiscard]] std::string description_of(const heddle::detail::event_set* set);

}  // namespace heddle::tame
