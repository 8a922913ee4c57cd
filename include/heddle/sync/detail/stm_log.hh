// SPDX-License-Identifier: MIT
// A transaction's log: its reads with their versions, its writes, and the entries of the log that
// nested parts have overwritten, so that they can be undone. A worker has one log and reuses it
// (sync/stm_seat.hh), so that a small transaction constructs and destroys nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "heddle/sync/tvar.hh"

namespace heddle::detail {

/// A vector of plain records, the first N of them in place.
template <class E, std::size_t N>
class stm_vector {
 public:
  stm_vector() noexcept {}
  stm_vector(const stm_vector&) = delete;
  stm_vector& operator=(const stm_vector&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] E& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const E& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] E& back() noexcept { return data_[size_ - 1]; }
  [[nodiscard]] E* begin() noexcept { return data_; }
  [[nodiscard]] E* end() noexcept { return data_ + size_; }
  [[nodiscard]] const E* begin() const noexcept { return data_; }
  [[nodiscard]] const E* end() const noexcept { return data_ + size_; }
  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  void push(const E& e) {
    if (full()) [[unlikely]]
      grow();
    add() = e;
  }
  /// A record to fill in, of a vector that is not full.
  [[nodiscard]] E& add() noexcept { return data_[size_++]; }
  void truncate(std::size_t size) noexcept { size_ = size; }
  [[gnu::cold, gnu::noinline]] void grow() {
    auto larger = std::make_unique_for_overwrite<E[]>(capacity_ * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = data_[i];
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ *= 2;
  }
  /// Empties it, and gives back memory beyond this many bytes.
  void clear(std::size_t bytes_kept) noexcept {
    size_ = 0;
    if (capacity_ * sizeof(E) <= bytes_kept || heap_ == nullptr) return;
    heap_.reset();
    data_ = inline_;
    capacity_ = N;
  }

 private:
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<E[]> heap_;
  union {
    E inline_[N];  // written as it is used
  };
  E* data_ = inline_;
};

struct stm_read {
  const tvar_base* var;
  std::uint64_t version;
};

struct stm_write {
  tvar_base* var;
  stm_cell* cells;
  stm_words words;
  std::uint64_t version;  ///< the variable's version before this commit locked it
  std::uint8_t count;
  bool boxed;
};

/// An entry of the write log as it was before a nested part wrote over it.
struct stm_undo {
  std::size_t index;
  stm_words words;
};

struct stm_mark {
  std::size_t writes;
  std::size_t undos;
};

class stm_log {
 public:
  stm_log() noexcept = default;
  ~stm_log() { clear(); }
  stm_log(const stm_log&) = delete;
  stm_log& operator=(const stm_log&) = delete;

  stm_vector<stm_read, 24> reads;
  stm_vector<stm_write, 6> writes;

  /// The entry of a variable, or null. For most variables that were not written, one bit saves the
  /// search.
  [[nodiscard]] stm_write* find(const tvar_base& v) noexcept {
    if (surely_unwritten(v)) [[likely]]
      return nullptr;
    return find_written(v);
  }
  /// Whether the log surely has no write to this variable; false may also mean that it has none.
  [[nodiscard]] bool surely_unwritten(const tvar_base& v) const noexcept {
    return (written_bits_ & bit_of(v)) == 0;
  }
  /// Notes that a variable was read and had this version.
  void note_read(const tvar_base& v, std::uint64_t version) {
    if (reads.full()) [[unlikely]]
      grow_reads();
    note_read_in_place(v, version);
  }
  /// As note_read(), if `reads` is not full.
  void note_read_in_place(const tvar_base& v, std::uint64_t version) noexcept {
    stm_read& r = reads.add();
    r.var = &v;
    r.version = version;
  }
  /// Notes the first write to a variable of one plain cell, if that needs no more room; else false.
  [[nodiscard]] bool write_in_place(tvar_base& v, stm_cell& cell, std::uint64_t word) noexcept {
    const std::uint64_t bit = bit_of(v);
    if ((written_bits_ & bit) != 0 || writes.full() || index_ != nullptr) [[unlikely]]
      return false;
    written_bits_ |= bit;
    stm_write& w = writes.add();
    w.var = &v;
    w.cells = &cell;
    w.words[0] = word;
    w.count = 1;
    w.boxed = false;
    return true;
  }
  /// Notes a write, and takes its words over (a box with its reference).
  void write(tvar_base& v, stm_cell* cells, std::size_t count, bool boxed, const stm_words& words) {
    if (find(v) != nullptr) return write_again(v, boxed, words);
    new_entry(v, cells, count, boxed).words = words;
  }
  /// As above, for a variable of one plain cell: most are, and a register is faster than an array.
  void write(tvar_base& v, stm_cell& cell, std::uint64_t word) {
    if (find(v) != nullptr) return write_again(v, false, {word});
    new_entry(v, &cell, 1, false).words[0] = word;
  }
  /// Keeps a box until the log is cleared.
  void pin(stm_box* box) {
    holds_boxes_ = unusual_ = true;
    pins_.push(box);
  }

  [[nodiscard]] stm_mark mark() const noexcept { return {writes.size(), undos_.size()}; }
  void roll_back(const stm_mark& to) noexcept;
  void clear() noexcept {
    if (unusual_) clear_unusual();
    clear_usual();
  }
  /// Whether there is more to clear than reads and writes in place.
  [[nodiscard]] bool unusual() const noexcept { return unusual_; }
  void clear_usual() noexcept {
    reads.truncate(0);
    writes.truncate(0);
    written_bits_ = 0;
  }

  unsigned depth = 0;  ///< how many nested parts are running

 private:
  [[nodiscard]] static std::uint64_t bit_of(const tvar_base& v) noexcept {
    // Variables lie at least 24 bytes apart; the multiplication spreads the other bits.
    return std::uint64_t{1} << ((reinterpret_cast<std::uintptr_t>(&v) * 0x9E3779B97F4A7C15u) >> 58);
  }
  [[nodiscard]] stm_write* find_written(const tvar_base& v) noexcept;
  void write_again(tvar_base& v, bool boxed, const stm_words& words);
  [[gnu::cold]] void index_writes();
  void release_boxes() noexcept;
  void clear_unusual() noexcept;
  [[gnu::cold]] void grow_reads();
  [[gnu::cold]] void grow_writes();

  /// Makes an entry, all but its words.
  [[nodiscard]] stm_write& new_entry(tvar_base& v, stm_cell* cells, std::size_t count, bool boxed) {
    if (writes.full()) [[unlikely]]
      grow_writes();
    stm_write& w = writes.add();
    w.var = &v;
    w.cells = cells;
    w.count = static_cast<std::uint8_t>(count);
    w.boxed = boxed;
    if (boxed) holds_boxes_ = unusual_ = true;
    written_bits_ |= bit_of(v);
    if (writes.size() >= index_from) [[unlikely]]
      index_writes();
    return w;
  }

  // From this many writes on, a table finds them.
  static constexpr std::size_t index_from = 16;
  // The most memory that each vector of the log keeps between transactions.
  static constexpr std::size_t bytes_kept = 1024 * 1024;

  std::uint64_t written_bits_ = 0;
  bool holds_boxes_ = false;
  bool unusual_ = false;
  stm_vector<stm_undo, 2> undos_;
  stm_vector<stm_box*, 4> pins_;
  std::unique_ptr<std::unordered_map<const tvar_base*, std::size_t>> index_;
};

/// One nested part, while it runs.
class stm_nesting {
 public:
  explicit stm_nesting(stm_log& log) noexcept : log_(log) { ++log_.depth; }
  stm_nesting(const stm_nesting&) = delete;
  stm_nesting& operator=(const stm_nesting&) = delete;
  ~stm_nesting() { --log_.depth; }

 private:
  stm_log& log_;
};

}  // namespace heddle::detail
