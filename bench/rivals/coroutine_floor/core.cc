// SPDX-License-Identifier: MIT
//
// The floor: bare C++20 coroutines on a loop with one intrusive queue and free-listed frames.
// No cancellation, no wait points, no time, no input: what a runtime cannot be cheaper than.
#include "../harness.hh"

#include <coroutine>
#include <cstddef>
#include <new>
#include <utility>

namespace {

struct link {
  link* next = nullptr;
  std::coroutine_handle<> handle;
};

struct queue {
  link* first = nullptr;
  link** last = &first;

  void push(link* l) {
    l->next = nullptr;
    *last = l;
    last = &l->next;
  }
  void run() {
    while (link* l = first) {
      first = l->next;
      if (first == nullptr) last = &first;
      l->handle.resume();
    }
  }
} ready;

// Frames of one size come from a bump area and go back to a free list.
struct frame_pool {
  static constexpr std::size_t sizes = 64;
  void* free[sizes] = {};
  std::byte* bump = nullptr;
  std::byte* end = nullptr;

  void* take(std::size_t size) {
    const std::size_t c = (size + 15) / 16;
    if (void* p = free[c]) {
      free[c] = *static_cast<void**>(p);
      return p;
    }
    if (static_cast<std::size_t>(end - bump) < c * 16) {
      bump = static_cast<std::byte*>(::operator new(1 << 20));
      end = bump + (1 << 20);
    }
    return std::exchange(bump, bump + c * 16);
  }
  void give(void* p, std::size_t size) {
    const std::size_t c = (size + 15) / 16;
    *static_cast<void**>(p) = free[c];
    free[c] = p;
  }
} pool;

struct task {
  struct promise_type : link {
    std::coroutine_handle<> parent = std::noop_coroutine();

    static void* operator new(std::size_t size) { return pool.take(size); }
    static void operator delete(void* p, std::size_t size) { pool.give(p, size); }
    task get_return_object() {
      handle = std::coroutine_handle<promise_type>::from_promise(*this);
      return task{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct to_parent {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().parent;
      }
      void await_resume() noexcept {}
    };
    to_parent final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };

  std::coroutine_handle<promise_type> h;

  explicit task(std::coroutine_handle<promise_type> handle) : h(handle) {}
  task(task&& other) noexcept : h(std::exchange(other.h, nullptr)) {}
  ~task() {
    if (h) h.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) {
    h.promise().parent = parent;
    return h;
  }
  void await_resume() {}
};

struct yield {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<task::promise_type> h) { ready.push(&h.promise()); }
  void await_resume() {}
};

// Starts a child at the queue's end; joining waits for its end.
struct spawned {
  task child;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> parent) {
    child.h.promise().parent = parent;
    ready.push(&child.h.promise());
  }
  void await_resume() {}
};

struct event {
  static void* operator new(std::size_t size) { return pool.take(size); }
  static void operator delete(void* p, std::size_t size) { pool.give(p, size); }
  std::coroutine_handle<task::promise_type> waiter;
  int value = 0;
  bool done = false;
  void trigger(int v) {
    value = v;
    done = true;
    if (waiter) ready.push(&waiter.promise());
  }
  bool await_ready() { return done; }
  void await_suspend(std::coroutine_handle<task::promise_type> h) { waiter = h; }
  int await_resume() { return value; }
};

task yielding(long n) {
  while (n-- > 0) co_await yield{};
}
task yield_forever() {
  for (;;) co_await yield{};
}
task empty() { co_return; }

task await_many(long n) {
  while (n-- > 0) co_await empty();
}
task spawn_many(long n) {
  while (n-- > 0) co_await spawned{empty()};
}
volatile long sum = 0;
task event_many(long n) {
  while (n-- > 0) {
    event* e = new event;
    e->trigger(1);
    sum = sum + co_await *e;
    delete e;
  }
}

double timed(task t) {
  const double begin = rival::cpu_ns();
  ready.push(&t.h.promise());
  ready.run();
  return rival::cpu_ns() - begin;
}

double yields(long count, long threads) {
  for (long i = 0; i < threads; ++i) {
    task t = yielding(count / threads);
    ready.push(&std::exchange(t.h, nullptr).promise());
  }
  const double begin = rival::cpu_ns();
  ready.run();
  return (rival::cpu_ns() - begin) * count / (count / threads * threads);
}

// Every thread yields once before its memory is counted.
double parked(long count) {
  const double begin = rival::resident_bytes();
  for (long i = 0; i < count; ++i) {
    task t = yield_forever();
    std::exchange(t.h, nullptr).resume();
  }
  return rival::resident_bytes() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  return rival::run(argc, argv,
                    {{"yield_2", [](long n) { return yields(n, 2); }},
                     {"yield_10000", [](long n) { return yields(n, 10000); }},
                     {"await_empty_child", [](long n) { return timed(await_many(n)); }},
                     {"spawn_join", [](long n) { return timed(spawn_many(n)); }},
                     {"event", [](long n) { return timed(event_many(n)); }},
                     {"parked_bytes", parked}});
}
