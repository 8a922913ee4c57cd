// SPDX-License-Identifier: MIT
// Where segments that are to be sent come from: blocks of them, and a list of those that nobody
// keeps any more.
#include "outgoing.hh"

namespace player {

void segment_pool::grow() {
  blocks_.push_back(std::make_unique<outgoing[]>(block));
  for (std::size_t i = block; i-- > 0;) take_back(blocks_.back()[i]);
}

}  // namespace player
