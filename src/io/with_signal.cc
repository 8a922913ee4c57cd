// SPDX-License-Identifier: MIT
// Waiting for one signal, as a task that an event can end.
#include "heddle/io/with_signal.hh"

namespace heddle {

task<> detail::first_signal(signal_list signals) {
  signal_set set(signals);
  static_cast<void>(co_await set.next());
}

}  // namespace heddle
