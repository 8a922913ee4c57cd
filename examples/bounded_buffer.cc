// SPDX-License-Identifier: MIT
// A bounded buffer by transactions: producers wait for room, consumers for items, on two threads,
// and no condition is signalled by hand: a transaction that retries runs again when something that
// it has read changes. A consumer of two buffers takes from whichever has something (or_else).
#include <array>
#include <cstdio>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

using namespace heddle;

constexpr int items = 5000;  // of each producer

/// A ring whose places are variables of their own: who puts and who takes meet only in the counts.
class buffer {
 public:
  void put(transaction& tx, int item) {
    const std::size_t at = tx.read(written_);
    tx.wait_until(at - tx.read(taken_) < size);
    tx.write(places_[at % size], item);
    tx.write(written_, at + 1);
  }
  int take(transaction& tx) {
    const std::size_t at = tx.read(taken_);
    tx.wait_until(at != tx.read(written_));
    tx.write(taken_, at + 1);
    return tx.read(places_[at % size]);
  }

 private:
  static constexpr std::size_t size = 8;
  std::array<tvar<int>, size> places_;
  tvar<std::size_t> written_ = std::size_t{0}, taken_ = std::size_t{0};
};

struct outcome {
  int taken = 0;
  bool in_order = true;
};

task<> produce(buffer& to, int first) {
  for (int i = 0; i < items; ++i)
    co_await atomically([](transaction& tx, buffer& b, int item) { b.put(tx, item); }, std::ref(to),
                        first + i);
}

int take_either(transaction& tx, buffer& a, buffer& b) {
  return tx.or_else([&](transaction& t) { return a.take(t); },
                    [&](transaction& t) { return b.take(t); });
}

/// Items below `items` come from the one, the others from the other; each buffer keeps its order.
task<> consume(buffer& a, buffer& b, outcome& out) {
  int next[2] = {0, items};
  while (out.taken < 2 * items) {
    const int item = co_await atomically(take_either, std::ref(a), std::ref(b));
    int& expected = next[item >= items];
    out.in_order = out.in_order && item == expected;
    ++expected;
    ++out.taken;
  }
}

int main() {
  buffer a, b;
  outcome out;
  std::thread producers([&] {
    runtime rt;
    rt.spawn(produce(a, 0));
    rt.spawn(produce(b, items));
    rt.run();
  });
  {
    runtime rt;
    rt.run(consume(a, b, out));
  }
  producers.join();
  std::printf("%d items taken, each buffer's in order: %s\n", out.taken,
              out.in_order ? "yes" : "no");
  return out.in_order ? 0 : 1;
}
