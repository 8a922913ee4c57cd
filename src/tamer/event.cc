// SPDX-License-Identifier: MIT
// The rare paths of twait { }: bodies that are left early, and descriptions.
#include "tamer/event.hh"

#include <cstdlib>

#include "tamer/loop_state.hh"

namespace heddle::tame {

void gather::leave() noexcept {
  worker& w = worker::here();
  if (room_.holds_waiter()) room_.end();  // only its own function waits here, and is going away
  while (event_record* const record = expected_.pop_front())
    heddle::detail::cancel_event(*record, w);
  if (described_) forget_description(this);
}

void gather::describe(std::string text) {
  note_description(this, std::move(text));
  described_ = true;
}

}  // namespace heddle::tame
