// SPDX-License-Identifier: MIT
// Transactions with a version for each variable, and a count of commits for each worker
// (sync/stm_seat.hh). A transaction reads versions that its worker has seen; a newer one moves its
// view forward, if all reads so far still hold. To commit it locks the variables to write, checks
// its reads, takes the next number of its own seat, stores, and unlocks with that as the version.
#include <algorithm>
#include <exception>

#include "heddle/sync/atomically.hh"
#include "sync/stm_seat.hh"
#include "sync/stm_turn.hh"
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
// After a failure a thread pauses for some microseconds, and twice as long each time, also when its
// last failure was few commits ago. Two threads on one variable hinder each other at every
// transaction that overlaps; so one of them does some hundreds in a row meanwhile, as it would with
// a lock that the other sleeps on.
constexpr unsigned back_off_rounds = 256;
constexpr unsigned back_off_doublings_max = 3;

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

void transaction::begin() {
  worker* const w = worker::current();
  if (attempts_ != 0 || w == nullptr || w->transactions == nullptr || stm_seat::of(*w).in_use)
      [[unlikely]]
    return begin_slowly();
  attempts_ = 1;
  take_seat(stm_seat::of(*w));
}

inline void transaction::take_seat(stm_seat& seat) noexcept {
  seat.in_use = true;
  seat_ = &seat;
  log_ = &seat.log;
}

void transaction::begin_slowly() {
  if (attempts_++ != 0) {
    log_->clear();
    ends_ = ending::none;
    return;
  }
  worker* const w = worker::current();
  if (w != nullptr && !stm_seat::of(*w).in_use) return take_seat(stm_seat::of(*w));
  log_ = new stm_log;  // inside of another transaction, whose view is not ours to move
}

void transaction::finish() noexcept {
  if (first_ || seat_ == nullptr || log_->unusual()) [[unlikely]]
    return finish_slowly();
  log_->clear_usual();
  seat_->in_use = false;
}

void transaction::finish_slowly() noexcept {
  yield_turn();
  if (seat_ == nullptr) {
    delete log_;
    return;
  }
  log_->clear();
  seat_->in_use = false;
}

void transaction::retry() {
  if (ends_ == ending::none) ends_ = ending::retry;
  throw stm_signal();
}

std::uint64_t transaction::unlocked_version(const tvar_base& v) noexcept {
  const std::atomic<std::uint64_t>& lock = stm_access::lock(v);
  // acquire: pairs with the release that stored this version
  std::uint64_t word = lock.load(std::memory_order_acquire);
  if (is_locked(word)) [[unlikely]] {
    stm_pause pause;
    do {
      pause();  // the commit that holds the lock waits for no reader
      word = lock.load(std::memory_order_acquire);
    } while (is_locked(word));
  }
  return word;
}

/// Whether the value that was read belongs to this version, and the transaction may see it.
bool transaction::still_holds(const tvar_base& v, std::uint64_t version) noexcept {
  const bool known = seat_ != nullptr && seat_->has_seen(version);
  if (!known && !extend(version)) [[unlikely]] {
    ends_ = ending::conflict;
    return false;
  }
  return stm_access::lock(v).load(std::memory_order_relaxed) == version;
}

std::uint64_t transaction::read_word(const tvar_base& v, const stm_cell& cell) {
  // The fast path of nearly every read; read_word_slowly() checks again and handles all else.
  if (ends_ == ending::none && seat_ != nullptr && log_->surely_unwritten(v) && !log_->reads.full())
      [[likely]] {
    const std::atomic<std::uint64_t>& lock = stm_access::lock(v);
    // acquire: as in unlocked_version(), and as below
    const std::uint64_t version = lock.load(std::memory_order_acquire);
    const std::uint64_t word = cell.load(std::memory_order_acquire);
    if (!is_locked(version) && seat_->has_seen(version) &&
        lock.load(std::memory_order_relaxed) == version) [[likely]] {
      log_->note_read_in_place(v, version);
      return word;
    }
  }
  return read_word_slowly(v, cell);
}

std::uint64_t transaction::read_word_slowly(const tvar_base& v, const stm_cell& cell) {
  if (ends_ != ending::none) [[unlikely]]
    throw stm_signal();  // the program caught the signal and goes on
  if (const stm_write* const own = log_->find(v); own != nullptr) return own->words[0];
  for (;;) {
    const std::uint64_t version = unlocked_version(v);
    // acquire: the read of the lock in still_holds() comes after
    const std::uint64_t word = cell.load(std::memory_order_acquire);
    if (still_holds(v, version)) [[likely]] {
      log_->note_read(v, version);
      return word;
    }
    if (ends_ == ending::conflict) throw stm_signal();
  }
}

stm_words transaction::read_words(const tvar_base& v, stm_cell* cells, std::size_t count,
                                  bool boxed) {
  if (ends_ != ending::none) [[unlikely]]
    throw stm_signal();
  if (const stm_write* const own = log_->find(v); own != nullptr) return own->words;
  for (;;) {
    const std::uint64_t version = unlocked_version(v);
    stm_words words{};
    if (boxed) {
      words[0] = reinterpret_cast<std::uintptr_t>(hold_box(*cells));
    } else {
      // acquire: as in read_word()
      for (std::size_t i = 0; i < count; ++i) words[i] = cells[i].load(std::memory_order_acquire);
    }
    const bool good = still_holds(v, version);
    if (boxed && good) log_->pin(box_in(words[0]));
    if (boxed && !good) box_in(words[0])->release();
    if (good) {
      log_->note_read(v, version);
      return words;
    }
    if (ends_ == ending::conflict) throw stm_signal();
  }
}

void transaction::write_word(tvar_base& v, stm_cell& cell, std::uint64_t word) {
  if (ends_ == ending::none && log_->write_in_place(v, cell, word)) [[likely]]
    return;
  write_word_slowly(v, cell, word);
}

void transaction::write_word_slowly(tvar_base& v, stm_cell& cell, std::uint64_t word) {
  if (ends_ != ending::none) throw stm_signal();
  log_->write(v, cell, word);
}

void transaction::write_words(tvar_base& v, stm_cell* cells, std::size_t count, bool boxed,
                              const stm_words& words) {
  if (ends_ != ending::none) [[unlikely]] {
    if (boxed) box_in(words[0])->release();
    throw stm_signal();
  }
  log_->write(v, cells, count, boxed, words);
}

bool transaction::reads_hold() const noexcept {
  const std::uint64_t own = lock_word(*this);
  for (const stm_read& r : log_->reads) {
    // seq_cst: of two commits that each read what the other writes, one sees the other's lock
    const std::uint64_t word = stm_access::lock(*r.var).load(std::memory_order_seq_cst);
    if (word == r.version) [[likely]]
      continue;
    if (word != own) return false;
    // This commit holds the lock: compare the version from before that.
    const stm_write* const w = log_->find(*r.var);
    if (w->version != r.version) return false;
  }
  return true;
}

/// Moves the view forward so that it includes a stamp. All reads must still hold after the seat's
/// number was read. The caller checks the variable itself once more.
bool transaction::extend(std::uint64_t stamp) noexcept {
  if (log_->reads.empty()) {
    if (seat_ != nullptr) seat_->note(stamp);
    return true;
  }
  const std::uint64_t newest = seat_ != nullptr ? stm_seat::newest_like(stamp) : stamp;
  if (!reads_hold()) return false;
  if (seat_ != nullptr) seat_->note(newest);
  return true;
}

bool transaction::lock_write(stm_write& w) noexcept {
  std::atomic<std::uint64_t>& lock = stm_access::lock(*w.var);
  // seq_cst: with reads_hold(); and this commit's stores come after
  w.version = lock.load(std::memory_order_relaxed);
  if (!is_locked(w.version) &&
      lock.compare_exchange_strong(w.version, lock_word(*this), std::memory_order_seq_cst,
                                   std::memory_order_relaxed)) [[likely]]
    return true;
  return lock_slowly(w);
}

bool transaction::lock_slowly(stm_write& w) noexcept {
  std::atomic<std::uint64_t>& lock = stm_access::lock(*w.var);
  stm_pause pause;
  for (;;) {
    w.version = lock.load(std::memory_order_relaxed);
    if (!is_locked(w.version) &&
        lock.compare_exchange_weak(w.version, lock_word(*this), std::memory_order_seq_cst,
                                   std::memory_order_relaxed))
      return true;
    if (!first_ && pause.rounds() > lock_rounds_max) return false;
    pause();
  }
}

bool transaction::lock_writes() noexcept {
  for (std::size_t i = 0; i < log_->writes.size(); ++i)
    if (!lock_write(log_->writes[i])) {
      unlock_writes(i);
      return false;
    }
  return true;
}

void transaction::unlock_writes(std::size_t locked) noexcept {
  for (std::size_t i = 0; i < locked; ++i) {
    const stm_write& w = log_->writes[i];
    stm_access::lock(*w.var).store(w.version, std::memory_order_release);  // nothing has changed
  }
}

std::uint64_t transaction::take_stamp() noexcept {
  // Inside of another transaction the number is the seat's, too; only its notes are not touched.
  return (seat_ != nullptr ? *seat_ : stm_seat::of(worker::here())).next_stamp();
}

/// The fast path of nearly every commit: one plain word, without waiters or other commits to it. In
/// all other cases it does nothing, and commit_slowly() starts from the beginning.
bool transaction::commit() noexcept {
  stm_log& log = *log_;
  if (log.writes.size() != 1 || seat_ == nullptr || first_ ||
      stm.first.load(std::memory_order_acquire) != nullptr) [[unlikely]]
    return commit_slowly();
  stm_write& w = log.writes[0];
  std::atomic<std::uint64_t>& lock = stm_access::lock(*w.var);
  std::uint64_t before = lock.load(std::memory_order_relaxed);
  if (w.boxed || w.count != 1 || is_locked(before)) [[unlikely]]
    return commit_slowly();
  // seq_cst: as in lock_write()
  if (!lock.compare_exchange_strong(before, lock_word(*this), std::memory_order_seq_cst,
                                    std::memory_order_relaxed)) [[unlikely]]
    return commit_slowly();
  const bool only_itself = log.reads.size() == 1 && log.reads[0].var == w.var;
  w.version = before;
  if (!(only_itself ? log.reads[0].version == before : reads_hold()) ||
      stm_access::watches(*w.var) != nullptr) [[unlikely]] {
    lock.store(before, std::memory_order_release);
    return commit_slowly();
  }
  const std::uint64_t version = seat_->next_stamp();
  w.cells->store(w.words[0], std::memory_order_release);  // release: as in commit_many()
  lock.store(version, std::memory_order_release);         // release: as in commit_many()
  seat_->note_own(version);
  return true;
}

bool transaction::commit_slowly() noexcept {
  if (log_->writes.empty()) {
    yield_turn();
    return true;  // every read was checked when it was made
  }
  if (!first_ && stm.first.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
    stm_pause pause;
    while (stm.first.load(std::memory_order_acquire) != nullptr) pause();
  }
  return commit_many();
}

bool transaction::commit_many() noexcept {
  if (!lock_writes()) return false;
  if (!reads_hold()) {
    unlock_writes(log_->writes.size());
    return false;
  }
  const std::uint64_t version = take_stamp();
  stm_wake_list woken;
  for (stm_write& w : log_->writes) {
    if (w.boxed) {
      w.words[0] = swap_box(*w.cells, w.words[0]);  // the log releases the old box
    } else {
      // release: a reader that sees the new word sees the lock, too
      for (std::size_t i = 0; i < w.count; ++i)
        w.cells[i].store(w.words[i], std::memory_order_release);
    }
    if (stm_access::watches(*w.var) != nullptr) [[unlikely]]
      woken.take_from(*w.var);
    // release: pairs with the acquire of unlocked_version(), lock_write()
    stm_access::lock(*w.var).store(version, std::memory_order_release);
  }
  committed(version);
  woken.wake();
  return true;
}

void transaction::committed(std::uint64_t version) noexcept {
  if (seat_ != nullptr) [[likely]]
    seat_->note(version);
  yield_turn();
}

/// Waits, while it holds no lock, for the right to go first: without it, another run may fail too.
void transaction::take_turn() noexcept {
  stm_pause pause;
  for (;; pause()) {
    const transaction* nobody = nullptr;
    // acq_rel: pairs with the acquire in commit() and the release below
    first_ = stm.first.compare_exchange_strong(nobody, this, std::memory_order_acq_rel);
    // A transaction inside of another one must not wait, because the outer one may have the right.
    if (first_ || seat_ == nullptr) return;
  }
}

stm_outcome transaction::give_up() noexcept {
  if (attempts_ >= failures_before_first && !first_) take_turn();
  const unsigned crowded = seat_ != nullptr ? seat_->note_failure() : 0;
  const unsigned doublings = std::min(attempts_ - 1 + crowded, back_off_doublings_max);
  for (unsigned i = 0; i < back_off_rounds << doublings && !first_; ++i) stm_relax();
  if (attempts_ > back_off_doublings_max) std::this_thread::yield();
  return stm_outcome::conflict;
}

void transaction::end_turn() noexcept {
  first_ = false;
  stm.first.store(nullptr, std::memory_order_release);  // release: pairs with commit()
}

}  // namespace heddle
