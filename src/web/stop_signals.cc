// SPDX-License-Identifier: MIT
// The list of all, and a count of the signals, under one lock.
#include "web/stop_signals.hh"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"

namespace heddle::http {
namespace {

struct stop_list {
  std::mutex lock;
  std::uint64_t signals = 0;
  std::vector<stop_signals*> all;
};
stop_list& stops() {
  static stop_list list;
  return list;
}

}  // namespace

stop_signals::stop_signals() {
  const std::lock_guard hold(stops().lock);
  heard_ = stops().signals;
  stops().all.push_back(this);
}

stop_signals::~stop_signals() {
  const std::lock_guard hold(stops().lock);
  std::erase(stops().all, this);
}

task<> stop_signals::pass_on() {
  for (;;) {
    co_await set_.next();
    const std::lock_guard hold(stops().lock);
    ++stops().signals;
    for (stop_signals* each : stops().all)
      if (std::exchange(each->waits_, false))
        each->runs_in_->trigger(std::exchange(each->wake_, {}));
  }
}

task<> stop_signals::next() {
  rendezvous<> told;
  bool must_wait;
  {
    const std::lock_guard hold(stops().lock);
    must_wait = heard_++ == stops().signals;
    waits_ = must_wait;
    if (must_wait) wake_ = told.make_event();
  }
  if (!must_wait) co_return;
  const auto came = co_await as_expected(told);
  if (came) co_return;
  {
    const std::lock_guard hold(stops().lock);
    waits_ = false;
    --heard_;
  }
  throw failure(came.error());
}

}  // namespace heddle::http
