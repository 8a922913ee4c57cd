// SPDX-License-Identifier: MIT
// The handlers with odd numbers.
#include "steps.hh"

namespace packets {

template struct step<1>;
template struct step<3>;
template struct step<5>;
template struct step<7>;

void bind_second(player::event_bus& b) {
  bind_step<1>(b);
  bind_step<3>(b);
  bind_step<5>(b);
  bind_step<7>(b);
}

}  // namespace packets
