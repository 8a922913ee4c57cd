// SPDX-License-Identifier: MIT
// The state that tamer::loop() and the functions that it runs share.
#pragma once

#include <exception>
#include <string>
#include <unordered_map>

#include "heddle/core/rendezvous.hh"

namespace heddle::tame {

/// Ends the loop, which rethrows this exception of a function that it had resumed. False when no
/// tamer::loop() runs, or when it has an exception already.
[[nodiscard]] bool loop_failed(std::exception_ptr error) noexcept;

/// Notes whether a tamer::fd has a descriptor: an fd tells the driver when it closes one. Other
/// descriptors are watched by a duplicate, because programs close them as they like.
void note_owned(int fd, bool owned);
[[nodiscard]] bool is_owned(int fd) noexcept;

/// The text of each twait ["..."] { } in which a function waits.
[[nodiscard]] std::unordered_map<const heddle::detail::event_set*, std::string>& descriptions();

}  // namespace heddle::tame
