// SPDX-License-Identifier: MIT
// The argument of a function inside atomically(): reads, writes, retry, alternatives, nesting.
// Writes stay in the transaction's log until it commits. Every read is checked against the moment
// as of which the transaction sees the world, so no function ever sees values that do not belong
// together, not even one that will have to run again.
#pragma once

#include <concepts>
#include <functional>
#include <optional>

#include "heddle/sync/detail/stm_log.hh"
#include "heddle/sync/tvar.hh"

namespace heddle {

namespace detail {

class stm_seat;

/// Thrown by retry(), and by a read that makes the transaction run again. Let it pass.
struct stm_signal {};

/// How an attempt ended.
enum class stm_outcome : std::uint8_t { committed, conflict, retry };

/// Access to the insides of variables, for the implementation of transactions.
struct stm_access {
  template <class T>
  [[nodiscard]] static stm_cell* cells(const tvar<T>& v) noexcept {
    return v.cells_.data();
  }
  [[nodiscard]] static std::atomic<std::uint64_t>& lock(const tvar_base& v) noexcept {
    return v.lock_;
  }
  [[nodiscard]] static stm_watch*& watches(const tvar_base& v) noexcept { return v.watches_; }

  // Makes a transaction on the stack; defined below the class.
  struct frame;
  template <class Body>
  [[nodiscard]] static stm_outcome run(transaction& tx, Body&& body);
  [[nodiscard]] static const stm_vector<stm_read, 24>& reads(const transaction& tx) noexcept;
};

}  // namespace detail

/// Thread: the one that runs the function it is given to; valid only there.
/// Fails: an exception that leaves the function undoes all its writes, and goes to the awaiter.
class transaction {
 public:
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  /// The value, as this transaction has written it or as it was when the transaction began. Plain
  /// values of up to 32 bytes are returned; others as a reference that is good until the end.
  template <class T>
  [[nodiscard]] decltype(auto) read(const tvar<T>& v) {
    if constexpr (detail::stm_one_word<T>) {
      return detail::from_word<T>(read_word(v, *detail::stm_access::cells(v)));
    } else {
      return read_wide(v);
    }
  }
  template <class T, class U>
    requires std::convertible_to<U&&, T>
  void write(tvar<T>& v, U&& value) {
    if constexpr (detail::stm_one_word<T>) {
      write_word(v, *detail::stm_access::cells(v), detail::to_word<T>(std::forward<U>(value)));
    } else {
      write_words(v, detail::stm_access::cells(v), detail::stm_cell_count<T>, detail::stm_boxed<T>,
                  detail::to_words<T>(std::forward<U>(value)));
    }
  }
  /// Writes f(value).
  template <class T, class F>
  void update(tvar<T>& v, F&& f) {
    write(v, std::invoke(std::forward<F>(f), read(v)));
  }

  /// Undoes everything, waits until something that was read has changed, and runs again.
  [[noreturn]] void retry();
  /// As retry(), unless the condition holds.
  void wait_until(bool condition) {
    if (!condition) retry();
  }

  /// Runs first(tx). If that retries, its writes are undone and second(tx) runs instead. If that
  /// retries too, the whole transaction waits for what either has read.
  template <class F, class G>
  auto or_else(F&& first, G&& second) -> std::invoke_result_t<F&, transaction&> {
    const detail::stm_mark before = log_->mark();
    try {
      detail::stm_nesting inside(*log_);
      return std::invoke(first, *this);
    } catch (const detail::stm_signal&) {
      if (ends_ != ending::retry) throw;  // a conflict: the whole transaction must run again
    } catch (...) {
      log_->roll_back(before);
      throw;
    }
    ends_ = ending::none;
    log_->roll_back(before);
    return std::invoke(second, *this);
  }
  /// Runs f(tx). An exception that leaves f undoes what f has written, and nothing else, so that
  /// the caller can catch it and the transaction goes on.
  template <class F>
  auto nested(F&& f) -> std::invoke_result_t<F&, transaction&> {
    const detail::stm_mark before = log_->mark();
    try {
      detail::stm_nesting inside(*log_);
      return std::invoke(f, *this);
    } catch (const detail::stm_signal&) {
      throw;
    } catch (...) {
      log_->roll_back(before);
      throw;
    }
  }

  /// How often the transaction has been begun, 1 at first.
  [[nodiscard]] unsigned attempt() const noexcept { return attempts_; }

 private:
  friend struct detail::stm_access;

  /// Why the transaction cannot commit, if so.
  enum class ending : std::uint8_t {
    none,
    conflict,  ///< a read found a conflict: the transaction must run again
    retry,     ///< the function called retry()
  };

  transaction() noexcept = default;
  ~transaction() { finish(); }

  template <class Body>
  [[nodiscard, gnu::always_inline]] inline detail::stm_outcome run(Body&& body) {
    begin();
    try {
      body(*this);
    } catch (const detail::stm_signal&) {
    } catch (...) {
      if (ends_ != ending::conflict) {
        yield_turn();
        throw;
      }
    }
    if (ends_ == ending::retry) [[unlikely]]
      return detail::stm_outcome::retry;
    if (ends_ == ending::none && commit()) [[likely]]
      return detail::stm_outcome::committed;
    return give_up();
  }

  void begin();
  void begin_slowly();
  void take_seat(detail::stm_seat& seat) noexcept;
  void finish() noexcept;
  void finish_slowly() noexcept;
  [[nodiscard]] bool commit() noexcept;
  /// After a conflict: waits a little, and asks for the right to go first after too many.
  [[nodiscard, gnu::cold]] detail::stm_outcome give_up() noexcept;
  void yield_turn() noexcept {
    if (first_) [[unlikely]]
      end_turn();
  }
  void end_turn() noexcept;
  void take_turn() noexcept;

  template <class T>
  [[nodiscard]] decltype(auto) read_wide(const tvar<T>& v) {
    const detail::stm_words words = read_words(v, detail::stm_access::cells(v),
                                               detail::stm_cell_count<T>, detail::stm_boxed<T>);
    if constexpr (detail::stm_boxed<T>) {
      const auto* box = static_cast<const detail::stm_box_of<T>*>(detail::box_in(words[0]));
      return (box->value);
    } else {
      return detail::from_words<T>(words);
    }
  }
  [[nodiscard]] std::uint64_t read_word(const detail::tvar_base& v, const detail::stm_cell& cell);
  void write_word(detail::tvar_base& v, detail::stm_cell& cell, std::uint64_t word);
  [[nodiscard]] detail::stm_words read_words(const detail::tvar_base& v, detail::stm_cell* cells,
                                             std::size_t count, bool boxed);
  void write_word_slowly(detail::tvar_base& v, detail::stm_cell& cell, std::uint64_t word);
  void write_words(detail::tvar_base& v, detail::stm_cell* cells, std::size_t count, bool boxed,
                   const detail::stm_words& words);
  [[nodiscard]] std::uint64_t unlocked_version(const detail::tvar_base& v) noexcept;
  [[nodiscard]] bool still_holds(const detail::tvar_base& v, std::uint64_t version) noexcept;
  [[nodiscard]] bool extend(std::uint64_t stamp) noexcept;
  [[nodiscard]] std::uint64_t take_stamp() noexcept;
  [[nodiscard]] std::uint64_t read_word_slowly(const detail::tvar_base& v,
                                               const detail::stm_cell& cell);
  [[nodiscard]] bool commit_slowly() noexcept;
  [[nodiscard]] bool reads_hold() const noexcept;
  [[nodiscard]] bool commit_many() noexcept;
  void committed(std::uint64_t version) noexcept;
  [[nodiscard]] bool lock_write(detail::stm_write& w) noexcept;
  [[nodiscard, gnu::cold]] bool lock_slowly(detail::stm_write& w) noexcept;
  [[nodiscard]] bool lock_writes() noexcept;
  void unlock_writes(std::size_t locked) noexcept;

  detail::stm_seat* seat_ = nullptr;  ///< the worker's seat; null: the transaction uses no notes
  detail::stm_log* log_ = nullptr;    ///< the seat's log; without a seat, its own
  unsigned attempts_ = 0;
  ending ends_ = ending::none;
  bool first_ = false;  ///< the transaction has the right to go first
};

namespace detail {

/// A transaction on the stack.
struct stm_access::frame {
  frame() noexcept {}
  transaction tx;
};
template <class Body>
[[gnu::always_inline]] inline stm_outcome stm_access::run(transaction& tx, Body&& body) {
  return tx.run(std::forward<Body>(body));
}
inline const stm_vector<stm_read, 24>& stm_access::reads(const transaction& tx) noexcept {
  return tx.log_->reads;
}

}  // namespace detail
}  // namespace heddle
