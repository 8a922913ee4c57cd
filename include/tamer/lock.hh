// SPDX-License-Identifier: MIT
// tamer::mutex: exclusive or shared, in strict order of asking, so that a waiting writer holds back
// later readers. Readers that are neighbors in the line enter together.
#pragma once

#include <cstddef>
#include <memory>

#include "tamer/adapter.hh"

namespace tamer {

/// Thread: the runtime's.
/// Cancel: a waiter whose event ended (a timeout) leaves the queue, and lets the next one in.
class mutex {
 public:
  mutex();
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex();

  void acquire(event<> done) { acquire_as(kind::exclusive, std::move(done)); }
  void acquire(int shared, event<> done) {
    acquire_as(shared > 0 ? kind::shared : kind::exclusive, std::move(done));
  }
  void acquire_shared(event<> done) { acquire_as(kind::shared, std::move(done)); }
  void release();
  void release_shared();

 private:
  enum class kind : bool { exclusive, shared };
  struct queue;
  void acquire_as(kind k, event<> done);
  std::shared_ptr<queue> queue_;
};

}  // namespace tamer
