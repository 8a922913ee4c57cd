// SPDX-License-Identifier: MIT
// The state that tamer::loop() and the functions that it runs share.
#pragma once

#include <exception>
#include <string>
#include <unordered_map>

#include "heddle/core/rendezvous.hh"

namespace heddle::tame {

/// An exception left a function that the loop had resumed: the loop ends and rethrows it. False
/// when no tamer::loop() runs.
[[nodiscard]] bool loop_failed(std::exception_ptr error) noexcept;

/// Descriptors that a tamer::fd has, which tells the driver when it closes one. Others are watched
/// by a duplicate, because programs close them as they like.
void note_owned(int fd, bool owned);
[[nodiscard]] bool is_owned(int fd) noexcept;

/// The text of each twait ["..."] { } in which a function is.
[[nodiscard]] std::unordered_map<const heddle::detail::event_set*, std::string>& descriptions();

}  // namespace heddle::tame
