// SPDX-License-Identifier: MIT
// A web server's content cache by transactions, as in Li and Zdancewic, 2007: tasks on two threads
// look pages up and keep what they had to read, while the cache stays within its bytes and each
// entry belongs to one page. Looking up writes nothing, so readers never hold each other up; while
// one task reads a page, others that want it wait for that one (retry).
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

using namespace heddle;

using content = std::shared_ptr<const std::string>;

class page_cache {
 public:
  static constexpr std::size_t pages = 64, bytes_max = 40'000;

  enum class state { absent, loading, present };
  struct look {
    state found;
    content body;
  };
  /// The page; or the right to load it; or waits for whoever is loading it.
  look find_or_claim(transaction& tx, std::size_t page) {
    const state now = tx.read(states_[page]);
    tx.wait_until(now != state::loading);
    if (now == state::present) return {now, tx.read(bodies_[page])};
    tx.write(states_[page], state::loading);
    return {state::absent, nullptr};
  }
  /// Keeps it, and lets go of others, in turn, until it fits.
  void keep(transaction& tx, std::size_t page, const content& body) {
    std::size_t used = tx.read(bytes_) + body->size(), hand = tx.read(hand_);
    while (used > bytes_max) {
      if (tx.read(states_[hand]) == state::present) {
        used -= tx.read(bodies_[hand])->size();
        tx.write(states_[hand], state::absent);
        tx.write(bodies_[hand], nullptr);
      }
      hand = (hand + 1) % pages;
    }
    tx.write(hand_, hand);
    tx.write(bytes_, used);
    tx.write(states_[page], state::present);
    tx.write(bodies_[page], body);
  }
  /// What is kept, counted one by one; and whether it is what the cache says.
  bool adds_up(transaction& tx) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < pages; ++i)
      if (tx.read(states_[i]) == state::present) sum += tx.read(bodies_[i])->size();
    return sum == tx.read(bytes_) && sum <= bytes_max;
  }

 private:
  std::array<tvar<state>, pages> states_;
  std::array<tvar<content>, pages> bodies_;
  tvar<std::size_t> bytes_ = std::size_t{0}, hand_ = std::size_t{0};
};

struct counts {
  std::atomic<int> hits = 0, loads = 0, wrong = 0;
};

content load(std::size_t page) {  // stands for reading a file
  return std::make_shared<const std::string>(500 + 50 * (page % 20), 'a' + page % 26);
}

task<> client(page_cache& cache, counts& c, std::size_t self) {
  std::size_t page = self;
  for (int i = 0; i < 2000; ++i) {
    page = (page * 13 + 7 + i % 3) % page_cache::pages;
    page_cache::look found = co_await atomically(
        [](transaction& tx, page_cache& in, std::size_t p) { return in.find_or_claim(tx, p); },
        std::ref(cache), page);
    if (found.found == page_cache::state::present) {
      ++c.hits;
    } else {
      ++c.loads;
      found.body = load(page);
      co_await yield();  // others run while the disk is busy
      co_await atomically([](transaction& tx, page_cache& in, std::size_t p,
                             const content& body) { in.keep(tx, p, body); },
                          std::ref(cache), page, found.body);
    }
    c.wrong += found.body->front() != static_cast<char>('a' + page % 26);
    if (i % 50 == 0)
      c.wrong += !co_await atomically(
          [](transaction& tx, page_cache& in) { return in.adds_up(tx); }, std::ref(cache));
  }
}

void serve(page_cache& cache, counts& c, std::size_t first) {
  runtime rt;
  for (std::size_t i = 0; i < 8; ++i) rt.spawn(client(cache, c, first + i));
  rt.run();
}

int main() {
  page_cache cache;
  counts c;
  std::thread other([&] { serve(cache, c, 8); });
  serve(cache, c, 0);
  other.join();
  std::printf("%d requests answered, %s from the cache, %d wrong\n", c.hits + c.loads,
              c.hits > c.loads ? "most" : "some", c.wrong.load());
  return c.wrong;
}
