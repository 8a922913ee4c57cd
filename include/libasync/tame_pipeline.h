/* SPDX-License-Identifier: MIT
 * pipeliner_t runs operations, at most `window` at a time: derive from it, start the operation i in
 * pipeline_op(), and say in keep_going() whether there is an operation i. do_pipeline() is that for
 * a function. Thread: one color.
 */
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>

#include "async.h"

class pipeliner_t {
 public:
  explicit pipeliner_t(std::size_t window) : window_(window) { assert(window > 0); }
  pipeliner_t(const pipeliner_t&) = delete;
  pipeliner_t& operator=(const pipeliner_t&) = delete;
  virtual ~pipeliner_t() = default;

  /// Runs all operations; `done` follows the last of them.
  void run(evv_t done) {
    std::size_t started = 0, ended = 0;
    while (!canceled_ && keep_going(started)) {
      while (started - ended >= window_) {
        co_await heddle::tame::next(running_);
        ++ended;
      }
      pipeline_op(started++, mkevent(running_));
    }
    while (ended != started) {
      co_await heddle::tame::next(running_);
      ++ended;
    }
    done.trigger();
    co_return;
  }
  /// Starts no more operations.
  void cancel() noexcept { canceled_ = true; }

 protected:
  virtual void pipeline_op(std::size_t i, evv_t done) = 0;
  [[nodiscard]] virtual bool keep_going(std::size_t i) const = 0;

 private:
  std::size_t window_;
  rendezvous_t<> running_;
  bool canceled_ = false;
};

using pipeline_op_t = callback<void, std::size_t, cbb>::ref;

/// Calls op(i, done) for i from 0 to n - 1, at most `window` at a time. If an operation gives
/// false, no more are started.
inline void do_pipeline(std::size_t window, std::size_t n, pipeline_op_t op, evv_t done) {
  struct runner final : pipeliner_t {
    runner(std::size_t window, std::size_t count, pipeline_op_t f)
        : pipeliner_t(window), n(count), op(std::move(f)) {}
    void pipeline_op(std::size_t i, evv_t ended) override {
      op(i, [this, ended](bool good) {
        if (!good) cancel();
        ended.trigger();
      });
    }
    bool keep_going(std::size_t i) const override { return i < n; }
    std::size_t n;
    pipeline_op_t op;
  } all(window, n, std::move(op));
  heddle::rendezvous<> ended;
  all.run(ended.make_event());
  co_await heddle::tame::next(ended);
  done.trigger();
  co_return;
}
namespace tame {
using ::do_pipeline;
using ::pipeliner_t;
}  // namespace tame
