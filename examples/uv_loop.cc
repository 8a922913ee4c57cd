// SPDX-License-Identifier: MIT
// Needs: libuv
//
// A libuv program that is moved to Heddle step by step. First its loop stays in charge and runs
// ours: one descriptor, one call. Then ours is in charge and runs libuv's. Tasks and libuv's timers
// go on side by side in both.
#include <poll.h>
#include <uv.h>

#include <chrono>
#include <cstdio>

#include "heddle/heddle.hh"
#include "heddle/io/foreign_loop.hh"
#include "heddle/io/watched_descriptor.hh"

using namespace heddle;
using namespace std::chrono_literals;

int ticks = 0;

/// The old half: a repeating timer with a callback.
void tick(uv_timer_t* timer) {
  if (++ticks % 3 != 0) return;
  uv_timer_stop(timer);
  uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
}

/// The new half: written straight down.
task<> counts(int& sum) {
  for (int i = 1; i <= 3; ++i) {
    co_await sleep_for(4ms);
    sum += i;
  }
}

/// Our runtime as a source of libuv's loop.
struct guest {
  explicit guest(runtime& rt, uv_loop_t* loop) : ours(rt) {
    uv_poll_init(loop, &watch, ours.descriptor());
    uv_timer_init(loop, &alarm);
    watch.data = alarm.data = this;
    uv_poll_start(&watch, UV_READABLE, [](uv_poll_t* p, int, int) { step(p->data); });
    step(this);
  }
  static void step(void* self) {
    auto* g = static_cast<guest*>(self);
    const nanoseconds span = g->ours.step();
    if (span == nanoseconds::max()) {
      uv_timer_stop(&g->alarm);
      return;
    }
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(span).count();
    uv_timer_start(&g->alarm, [](uv_timer_t* t) { step(t->data); }, static_cast<uint64_t>(ms), 0);
  }
  void close() {
    uv_close(reinterpret_cast<uv_handle_t*>(&watch), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&alarm), nullptr);
  }
  foreign_loop ours;
  uv_poll_t watch{};
  uv_timer_t alarm{};
};

/// libuv's loop as a task of ours.
task<> runs(uv_loop_t* loop) {
  const watched_descriptor theirs(uv_backend_fd(loop));
  while (uv_run(loop, UV_RUN_NOWAIT) != 0) {
    const int ms = uv_backend_timeout(loop);
    const nanoseconds span = ms < 0 ? nanoseconds::max() : std::chrono::milliseconds(ms);
    static_cast<void>(co_await as_expected(with_timeout(theirs.ready(POLLIN), span)));
  }
}

task<> both(uv_loop_t* loop, int& sum) { co_await all(runs(loop), counts(sum)); }

int main() {
  uv_loop_t* const loop = uv_default_loop();
  uv_timer_t old;
  runtime rt;
  int sum = 0;

  uv_timer_init(loop, &old);
  uv_timer_start(&old, tick, 3, 3);
  guest inside(rt, loop);
  rt.spawn(counts(sum));
  guest::step(&inside);
  while (sum < 6 || ticks < 3) uv_run(loop, UV_RUN_ONCE);
  inside.close();
  uv_run(loop, UV_RUN_DEFAULT);
  std::printf("inside libuv: %d ticks, sum %d\n", ticks, sum);

  uv_timer_init(loop, &old);
  uv_timer_start(&old, tick, 3, 3);
  rt.run(both(loop, sum));
  std::printf("libuv inside: %d ticks, sum %d\n", ticks, sum);
  return uv_loop_close(loop);
}
