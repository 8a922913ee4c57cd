// SPDX-License-Identifier: MIT
// Transactions with a version for each variable and one clock for all. A transaction sees the world
// as of the clock's value when it began (moved forward when everything read so far still holds). To
// commit it locks what it wrote, takes the next value of the clock, checks what it read, stores
// and unlocks with that value as the new version.
#include <exception>

#include "heddle/sync/atomically.hh"
#include "sync/stm_clock.hh"
#include "sync/stm_wait.hh"

namespace heddle {

using namespace detail;

constinit stm_shared detail::stm;

namespace {

// Failures before a transaction goes first. Few, because each has cost a whole run; more than
// one, because the right stops all other commits.
constexpr unsigned failures_before_first = 8;
// Rounds of waiting for a variable's lock while holding others: then it is a conflict, so that two
// commits cannot wait for each other for ever.
constexpr unsigned lock_rounds_max = 128;

std::uint64_t lock_word(const transaction& tx) noexcept {
  return reinterpret_cast<std::uintptr_t>(&tx) | 1;
}

}  // namespace

std::uint64_t detail::tvar_base::version() const noexcept {
  stm_pause pause;
  for (;;) {
    const std::uint64_t word = lock_.load(std::memory_order_acquire);
    if (!is_locked(word)) return word;
    pause();
  }
}

stm_box* detail::hold_box(stm_cell& cell) noexcept {
  stm_pause pause;
  for (;; pause()) {
    std::uint64_t word = cell.load(std::memory_order_relaxed);
    // acquire: pairs with the release in swap_box(), so that the box is seen whole
    if (is_locked(word) || !cell.compare_exchange_weak(word, word | 1, std::memory_order_acquire,
                                                       std::memory_order_relaxed))
      continue;
    stm_box* const box = box_in(word);
    box->add_ref();
    cell.store(word, std::memory_order_release);  // release: the count is up before others go on
    return box;
  }
}

std::uint64_t detail::swap_box(stm_cell& cell, std::uint64_t box) noexcept {
  stm_pause pause;
  for (;; pause()) {
    std::uint64_t word = cell.load(std::memory_order_relaxed);
    // acq_rel: pairs with hold_box() both ways
    if (!is_locked(word) &&
        cell.compare_exchange_weak(word, box, std::memory_order_acq_rel, std::memory_order_relaxed))
      return word;
  }
}

void transaction::begin() noexcept {
  log_.clear();
  ++attempts_;
  doomed_ = retries_ = false;
  written_ = 0;
  // A view of the past will do: what was read in it and has not changed since is the present, and
  // what is newer moves the view forward. So the first attempt takes what this worker knows, and
  // transactions on different data meet at the clock only once, when they commit.
  if (attempts_ == 1) {
    if (const worker* const w = worker::current()) seen_ = w->commit_seen;
    return;
  }
  // acquire: pairs with the clock's step in commit(): what has that version is stored or locked
  seen_ = stm.clock.load(std::memory_order_acquire);
}

void transaction::know(std::uint64_t version) noexcept {
  if (worker* const w = worker::current(); w != nullptr && w->commit_seen < version)
    w->commit_seen = version;
}

void transaction::conflict() {
  doomed_ = true;
  throw stm_signal();
}

void transaction::retry() {
  retries_ = true;
  throw stm_signal();
}

stm_words transaction::read_words(const tvar_base& v, stm_cell* cells, std::size_t count,
                                  bool boxed) {
  if (doomed_ || retries_) [[unlikely]]
    throw stm_signal();  // somebody caught it and goes on
  if (const stm_write* const own = log_.find(v); own != nullptr) return own->words;
  std::atomic<std::uint64_t>& lock = stm_access::lock(v);
  stm_pause pause;
  for (;;) {
    // acquire: pairs with the release that stored this version
    const std::uint64_t before = lock.load(std::memory_order_acquire);
    if (is_locked(before)) [[unlikely]] {
      pause();  // its commit waits for nobody that reads
      continue;
    }
    stm_words words{};
    if (boxed) {
      stm_box* const box = hold_box(*cells);
      words[0] = reinterpret_cast<std::uintptr_t>(box);
    } else {
      // acquire: the look at the lock below comes after
      for (std::size_t i = 0; i < count; ++i) words[i] = cells[i].load(std::memory_order_acquire);
    }
    if (before > seen_ || lock.load(std::memory_order_relaxed) != before) [[unlikely]] {
      if (boxed) box_in(words[0])->release();
      // Newer than what this transaction sees: it moves forward if it can, and reads again, because
      // the variable may have changed once more before that.
      if (before > seen_ && !extend()) conflict();
      continue;
    }
    if (boxed) log_.pin(box_in(words[0]));
    log_.reads.push({&v, before});
    return words;
  }
}

void transaction::write_words(tvar_base& v, stm_cell* cells, std::size_t count, bool boxed,
                              const stm_words& words) {
  if (doomed_ || retries_) [[unlikely]] {
    if (boxed) box_in(words[0])->release();
    throw stm_signal();
  }
  log_.write(v, cells, count, boxed, words);
}

bool transaction::reads_hold() const noexcept {
  const std::uint64_t own = lock_word(*this);
  for (const stm_read& r : log_.reads) {
    // acquire: as in read_words()
    const std::uint64_t word = stm_access::lock(*r.var).load(std::memory_order_acquire);
    if (word == r.version) [[likely]]
      continue;
    if (word != own) return false;
    // This commit holds it: what counts is the version that it had.
    const stm_write* const w = const_cast<stm_log&>(log_).find(*r.var);
    if (w->version != r.version) return false;
  }
  return true;
}

bool transaction::extend() noexcept {
  const std::uint64_t now = stm.clock.load(std::memory_order_acquire);  // acquire: as in begin()
  if (!reads_hold()) return false;
  seen_ = now;
  know(now);
  return true;
}

bool transaction::lock_writes(std::size_t& locked) noexcept {
  const std::uint64_t own = lock_word(*this);
  for (locked = 0; locked < log_.writes.size(); ++locked) {
    stm_write& w = log_.writes[locked];
    std::atomic<std::uint64_t>& lock = stm_access::lock(*w.var);
    stm_pause pause;
    for (;;) {
      std::uint64_t word = lock.load(std::memory_order_relaxed);
      // acquire: this commit's stores come after
      if (!is_locked(word) && lock.compare_exchange_weak(word, own, std::memory_order_acquire,
                                                         std::memory_order_relaxed)) {
        w.version = word;
        break;
      }
      if (!first_ && pause.rounds() > lock_rounds_max) return false;
      pause();
    }
  }
  return true;
}

void transaction::unlock_writes(std::size_t locked) noexcept {
  for (std::size_t i = 0; i < locked; ++i) {
    const stm_write& w = log_.writes[i];
    stm_access::lock(*w.var).store(w.version, std::memory_order_release);  // nothing has changed
  }
}

bool transaction::commit() noexcept {
  if (log_.writes.empty()) {
    yield_turn();
    return true;  // every read was checked against `seen_` when it was made
  }
  if (!first_) {
    stm_pause pause;
    while (stm.first.load(std::memory_order_acquire) != nullptr) pause();
  }
  std::size_t locked = 0;
  if (!lock_writes(locked)) {
    unlock_writes(locked);
    return false;
  }
  // acq_rel: pairs with begin(): who sees this version sees the locks
  const std::uint64_t version = stm.clock.fetch_add(2, std::memory_order_acq_rel) + 2;
  // When nobody has committed since `seen_`, nothing can have changed.
  if (version != seen_ + 2 && !reads_hold()) {
    unlock_writes(locked);
    return false;
  }
  stm_wake_list woken;
  for (stm_write& w : log_.writes) {
    if (w.boxed) {
      w.words[0] = swap_box(*w.cells, w.words[0]);  // the old one goes with the log
    } else {
      // release: a reader that sees the new word sees the lock, too
      for (std::size_t i = 0; i < w.count; ++i)
        w.cells[i].store(w.words[i], std::memory_order_release);
    }
    if (stm_access::watches(*w.var) != nullptr) [[unlikely]]
      woken.take_from(*w.var);
    // release: pairs with the acquire of read_words(), lock_writes()
    stm_access::lock(*w.var).store(version, std::memory_order_release);
  }
  written_ = version;
  know(version);
  yield_turn();
  woken.wake();
  return true;
}

stm_outcome transaction::give_up() noexcept {
  if (attempts_ >= failures_before_first && !first_) {
    const transaction* nobody = nullptr;
    // acq_rel: pairs with the acquire in commit() and the release below
    first_ = stm.first.compare_exchange_strong(nobody, this, std::memory_order_acq_rel);
  }
  // Others are in the way: let them finish, longer each time up to some microseconds.
  stm_pause pause;
  const unsigned rounds = 1u << (attempts_ < 6 ? attempts_ : 6);
  for (unsigned i = 0; i < rounds; ++i) pause();
  if (attempts_ > 6) std::this_thread::yield();
  return stm_outcome::conflict;
}

void transaction::yield_turn() noexcept {
  if (!first_) return;
  first_ = false;
  stm.first.store(nullptr, std::memory_order_release);  // release: pairs with commit()
}

}  // namespace heddle
