// SPDX-License-Identifier: MIT
// A variable of the caller that an operation writes while it goes on. When the function that holds
// it has ended, nothing is written any more, also where the event of the operation still lives.
#pragma once

#include "heddle/core/event.hh"

namespace tamer::detail {

/// The home of events that only store.
struct storing_home final : heddle::event_home {
  void fired(heddle::event_record&, heddle::worker&) noexcept override {}
  void dropped(heddle::event_record&, heddle::worker&) noexcept override {}
};

/// An event that stores into `slot` and wakes no function.
template <class T>
[[nodiscard]] heddle::event<T> storing_event(T& slot) {
  static constinit storing_home stores;  // the home has no state
  heddle::worker& w = heddle::worker::here();
  heddle::event_record& record =
      heddle::detail::make_event_record(w, stores, &stores, 0, 0, nullptr, slot);
  return heddle::event<T>(&record);
}

/// Thread: the runtime's. Copies share the guard.
template <class T>
class guarded_slot {
 public:
  guarded_slot() noexcept = default;
  explicit guarded_slot(T& slot) : event_(storing_event(slot)) {}

  /// The variable, or null when its function has ended.
  [[nodiscard]] T* get() const noexcept {
    return event_.record() == nullptr ? nullptr : static_cast<T*>(event_.record()->slots()[0]);
  }

 private:
  heddle::event<T> event_;
};

}  // namespace tamer::detail
