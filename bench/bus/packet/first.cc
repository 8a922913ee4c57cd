// SPDX-License-Identifier: MIT
// The handlers with even numbers.
#include "steps.hh"

namespace packets {

template struct step<0>;
template struct step<2>;
template struct step<4>;
template struct step<6>;
template struct step<8>;

void bind_first(player::event_bus& b) {
  bind_step<0>(b);
  bind_step<2>(b);
  bind_step<4>(b);
  bind_step<6>(b);
  bind_step<8>(b);
}

}  // namespace packets
