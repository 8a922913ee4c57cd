// SPDX-License-Identifier: MIT
// The queue of a mutex. The waiter at its head enters as soon as the holders let it.
#include "tamer/lock.hh"

#include <deque>

#include "heddle/base/error.hh"
#include "heddle/core/callback.hh"

namespace tamer {

struct mutex::queue {
  struct waiter {
    kind how;
    event<> granted;
  };
  void advance() {
    while (!waiting.empty()) {
      waiter& first = waiting.front();
      if (first.granted) {
        if (exclusive || (first.how == kind::exclusive && readers != 0)) return;
        if (first.how == kind::exclusive) {
          exclusive = true;
        } else {
          ++readers;
        }
      }
      const event<> granted = std::move(first.granted);
      waiting.pop_front();
      granted.trigger();  // does nothing when the waiter has gone
    }
  }
  std::deque<waiter> waiting;
  std::size_t readers = 0;
  bool exclusive = false;
};

mutex::mutex() : queue_(std::make_shared<queue>()) {}
mutex::~mutex() = default;

void mutex::acquire_as(kind k, event<> done) {
  if (!done) return;
  queue_->waiting.push_back({k, done});
  queue_->advance();
  if (!done) return;
  // A waiter that gives up may have been ahead of others, which can enter now.
  done.at_trigger(heddle::function_event<>([q = std::weak_ptr<queue>(queue_)] {
    if (const std::shared_ptr<queue> here = q.lock()) here->advance();
  }));
}

void mutex::release() {
  HEDDLE_ASSERT(queue_->exclusive, "mutex::release() without an exclusive holder");
  queue_->exclusive = false;
  queue_->advance();
}

void mutex::release_shared() {
  HEDDLE_ASSERT(queue_->readers != 0, "mutex::release_shared() without a reader");
  --queue_->readers;
  queue_->advance();
}

}  // namespace tamer
