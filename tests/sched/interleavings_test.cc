// SPDX-License-Identifier: MIT
// The inbox of a color, queueing, stealing and going to sleep, in every order of their steps:
// threads are contexts of this test, an atomic operation is one step, and after each step another
// thread may go on. All orders with a bounded number of such switches are tried, one after the
// other.
#include <ucontext.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "sched/inbox.hh"
#include "sched/quiescent.hh"
#include "support/test.hh"

#if !HEDDLE_ASAN && !HEDDLE_TSAN  // they want to be told of every switch of stacks

namespace heddle::test {
namespace {

/// Runs a set of threads once, as a list of choices says, and finds the next list.
class explorer {
 public:
  static constexpr int switches_max = 4;  // away from a thread that could have gone on

  /// `body` makes the world and the threads; `check` looks at it when all have ended. False: an
  /// order was found in which a thread never goes on.
  template <class World>
  bool every_order(std::size_t orders_max) {
    for (orders = 0; orders != orders_max; ++orders) {
      World world;
      world.threads(*this);
      if (!run()) return false;
      world.check();
      threads_.clear();
      if (::testing::Test::HasFailure() || !advance()) return true;
    }
    return true;
  }

  void add(std::function<void()> body) {
    threads_.push_back(std::make_unique<thread>());
    thread& t = *threads_.back();
    t.body = std::move(body);
    t.stack = std::make_unique<char[]>(stack_bytes);
    ::getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack.get();
    t.context.uc_stack.ss_size = stack_bytes;
    t.context.uc_link = &home_;
    ::makecontext(&t.context, reinterpret_cast<void (*)()>(&begin), 0);
  }
  /// Before each atomic step.
  void step() { ::swapcontext(&threads_[current_]->context, &home_); }
  /// The thread goes on only when this is true; looking is no step of its own.
  void wait_until(std::function<bool()> ready) {
    threads_[current_]->ready = std::move(ready);
    step();
    threads_[current_]->ready = {};
  }

  static explorer* now;
  std::size_t orders = 0;

 private:
  static constexpr std::size_t stack_bytes = 64 * 1024;
  struct thread {
    std::function<void()> body;
    std::function<bool()> ready;
    std::unique_ptr<char[]> stack;
    ucontext_t context{};
    bool ended = false;
  };
  struct choice {
    std::size_t taken = 0;
    std::size_t count = 0;
  };

  static void begin() {
    thread& t = *now->threads_[now->current_];
    t.body();
    t.ended = true;
  }

  bool run() {
    now = this;
    current_ = 0;
    int switches = 0;
    for (std::size_t at = 0;; ++at) {
      std::vector<std::size_t> able;  // who ran last comes first
      for (std::size_t i = 0; i != threads_.size(); ++i) {
        const std::size_t k = (current_ + i) % threads_.size();
        thread& t = *threads_[k];
        if (!t.ended && (!t.ready || t.ready())) able.push_back(k);
      }
      if (able.empty()) break;
      const bool forced = able.front() != current_;
      if (!forced && switches == switches_max) able.resize(1);
      if (at == choices_.size()) choices_.push_back({0, able.size()});
      choices_[at].count = able.size();
      const std::size_t next = able[choices_[at].taken];
      if (!forced && next != current_) ++switches;
      current_ = next;
      ::swapcontext(&home_, &threads_[next]->context);
    }
    for (const auto& t : threads_)
      if (!t->ended) return false;
    return true;
  }
  bool advance() {
    while (!choices_.empty() && choices_.back().taken + 1 >= choices_.back().count)
      choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  ucontext_t home_{};
  std::size_t current_ = 0;
  std::vector<std::unique_ptr<thread>> threads_;
  std::vector<choice> choices_;
};
explorer* explorer::now = nullptr;

/// An atomic word whose operations are the steps.
class stepped {
 public:
  explicit stepped(link v) : value_(v) {}
  link load(std::memory_order) const {
    explorer::now->step();
    return value_;
  }
  link exchange(link v, std::memory_order) {
    explorer::now->step();
    return std::exchange(value_, v);
  }
  bool compare_exchange_strong(link& expected, link v, std::memory_order, std::memory_order) {
    explorer::now->step();
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = v;
    return true;
  }
  bool compare_exchange_weak(link& expected, link v, std::memory_order a, std::memory_order b) {
    return compare_exchange_strong(expected, v, a, b);
  }

 private:
  link value_;
};

/// One color, senders, and workers with a queue each. A worker without work sleeps; who queues
/// something wakes it, or another that sleeps.
template <int Senders, int Frames, int Workers>
struct color_world {
  struct numbered : frame {
    int sender = 0;
    int number = 0;
  };
  struct seat {
    int queued = 0;  // the color, at most once: in this worker's queue
    bool parked = false;
    bool woken = false;
  };

  color_inbox<stepped> inbox;
  frame_list waiting;
  numbered frames[Senders * Frames];
  seat seats[Workers];
  bool running = false;
  int received = 0;
  int last[Senders] = {};
  explorer* with = nullptr;

  // A critical section of the queue's lock is one step: nobody can be inside at the same time.
  void push(int where) {
    with->step();
    int in_queues = 0;
    for (const seat& s : seats) in_queues += s.queued;
    EXPECT_EQ(in_queues, 0) << "a color in two queues";
    EXPECT_FALSE(running) << "a color that is queued while it runs";
    seats[where].queued = 1;
    for (int i = 0; i != Workers; ++i) {
      seat& s = seats[(where + i) % Workers];
      if (!std::exchange(s.parked, false)) continue;
      s.woken = true;
      break;
    }
  }
  bool pop(int from) {
    with->step();
    return std::exchange(seats[from].queued, 0) != 0;
  }
  bool all_received() const { return received == Senders * Frames; }

  void hold_and_run(int self) {
    EXPECT_FALSE(running) << "a color on two workers";
    running = true;
    inbox.take(waiting);
    while (!waiting.empty()) {
      auto& f = static_cast<numbered&>(plain_of(waiting.first));
      waiting.first = next_of(waiting.first);
      if (waiting.first == no_link) waiting = {};
      EXPECT_EQ(f.number, last[f.sender] + 1) << "a sender's frames in another order";
      last[f.sender] = f.number;
      ++received;
      with->step();  // the frame runs
    }
    running = false;
    if (!inbox.let_go()) push(self);
  }
  void work(int self) {
    while (!all_received()) {
      bool found = pop(self);
      for (int i = 1; i != Workers && !found; ++i) found = pop((self + i) % Workers);  // steals
      if (found) {
        hold_and_run(self);
        continue;
      }
      with->step();  // parks, under its queue's lock
      if (seats[self].queued != 0) continue;
      seats[self].parked = true;
      with->wait_until([this, self] { return seats[self].woken || all_received(); });
      seats[self].parked = seats[self].woken = false;
    }
  }
  /// As a worker sends: it supposes its last frame to be the newest one there.
  void send(int sender) {
    link newest = color_inbox<stepped>::busy;
    for (int n = 1; n <= Frames; ++n) {
      numbered& f = frames[sender * Frames + n - 1];
      f.sender = sender;
      f.number = n;
      if (inbox.send(link_of(f), newest)) push(sender % Workers);
      newest = link_of(f);
    }
  }
  /// A driver that has a completion for the color: at once if it can hold it, else as a message.
  void deliver(int sender) {
    for (int n = 1; n <= Frames; ++n) {
      numbered& f = frames[sender * Frames + n - 1];
      f.sender = sender;
      f.number = n;
      if (inbox.hold()) {
        waiting.push(link_of(f));
        hold_and_run(0);
      } else if (inbox.send(link_of(f))) {
        push(0);
      }
    }
  }

  void threads(explorer& e) {
    with = &e;
    for (int i = 0; i != Workers; ++i) e.add([this, i] { work(i); });
    e.add([this] { deliver(0); });
    for (int i = 1; i != Senders; ++i) e.add([this, i] { send(i); });
  }
  void check() { EXPECT_TRUE(all_received()); }
};

/// Workers that hand one piece of work on, each as often as it is told to, and sleep; the first one
/// ends the run when all rest and no other thread keeps work for them. It must not while the piece
/// is on its way, and it must when the thread drops its work, however late.
template <int Workers, int Turns>
struct resting_world {
  struct seat {
    int queued = 0;
    bool parked = false;
    std::uint64_t sleeps = 0;
    bool woken = false;
  };
  seat seats[Workers];
  int turns_left = Turns;
  bool outside = true;
  bool given_up = false;
  explorer* with = nullptr;

  void push(int to) {
    with->step();  // under the queue's lock
    EXPECT_FALSE(given_up) << "a run is given up while something is on its way";
    seat& s = seats[to];
    ++s.queued;
    if (std::exchange(s.parked, false)) s.woken = true;
  }
  bool pop(int self) {
    with->step();
    if (seats[self].queued == 0) return false;
    --seats[self].queued;
    return true;
  }
  bool park(int self) {
    with->step();
    seat& s = seats[self];
    if (s.queued != 0) return false;
    s.parked = true;
    ++s.sleeps;
    return true;
  }
  [[nodiscard]] bool rest() {
    const bool all = quiescent_together(static_cast<std::size_t>(Workers), [&](std::size_t i) {
      with->step();
      const seat& s = seats[static_cast<int>(i)];
      return s.parked && s.queued == 0 ? s.sleeps : 0;
    });
    if (!all) return false;
    with->step();
    return !outside;
  }
  void drop_work() {
    with->step();
    outside = false;
    wake_first();
  }
  void work(int self) {
    while (!given_up) {
      if (pop(self)) {
        if (turns_left != 0) {
          --turns_left;
          push((self + 1 + turns_left % (Workers - 1)) % Workers);
        }
        continue;
      }
      if (!park(self)) continue;
      if (self == 0 && rest()) {
        EXPECT_EQ(turns_left, 0);
        EXPECT_FALSE(outside);
        given_up = true;
        return;
      }
      if (self != 0 && rest()) wake_first();
      with->wait_until([this, self] { return seats[self].woken || given_up; });
      with->step();
      seats[self].parked = seats[self].woken = false;
    }
  }
  void wake_first() {
    with->step();
    seats[0].woken = true;
  }

  void threads(explorer& e) {
    with = &e;
    seats[1].queued = 1;
    for (int i = 0; i != Workers; ++i) e.add([this, i] { work(i); });
    e.add([this] { drop_work(); });
  }
  void check() {
    EXPECT_TRUE(given_up);
    EXPECT_EQ(turns_left, 0);
  }
};

template <class World>
void try_all(std::size_t orders_max) {
  explorer e;
  EXPECT_TRUE(e.every_order<World>(orders_max)) << "somebody sleeps and will not be woken";
  EXPECT_GT(e.orders, 1000U);
}

HEDDLE_TEST(interleavings, "one worker, a sender and a driver: every order") {
  try_all<color_world<2, 2, 1>>(40'000);
}
HEDDLE_TEST(interleavings, "two workers that steal, a sender and a driver") {
  try_all<color_world<2, 1, 2>>(40'000);
}
HEDDLE_TEST(interleavings, "a run of two workers is given up when both rest, and not before") {
  try_all<resting_world<2, 3>>(40'000);
}
HEDDLE_TEST(interleavings, "a run of three workers is given up when all rest, and not before") {
  try_all<resting_world<3, 3>>(60'000);
}
HEDDLE_TEST(interleavings, "who is always asleep when asked, and awake in between, does not rest") {
  std::uint64_t sleeps[2] = {1, 1};
  const auto look = [&](std::size_t asked) {
    ++sleeps[1 - asked];  // the piece has just gone from this one to the other
    return sleeps[asked];
  };
  EXPECT_FALSE(quiescent_together(2, look));
  EXPECT_TRUE(quiescent_together(2, [](std::size_t) { return std::uint64_t{1}; }));
}
HEDDLE_TEST(interleavings, "two workers, two senders and a driver, two frames each") {
  try_all<color_world<3, 2, 2>>(40'000);
}

}  // namespace
}  // namespace heddle::test

#endif
