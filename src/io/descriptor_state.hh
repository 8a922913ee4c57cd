// SPDX-License-Identifier: MIT
// The state behind a handle: the number, the counts, the two lanes. It lives while a handle or an
// entry refers to it. `handles` reaching 0 closes the descriptor; with `pins` at 0 too, it is
// freed. A pin is held by each entry, and by a multishot operation from submit() to its last
// completion. The differences between kinds of descriptors are one static table of functions a
// kind, in the kind's own file.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/base/list.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/detail/lane.hh"
#include "heddle/sched/detail/here.hh"

namespace heddle {
class address;
class received;
struct sent_now;
struct unread_input;
}  // namespace heddle

namespace heddle::detail {

// One system call moves at most about 2 GiB; longer buffers go in several steps.
inline constexpr std::size_t step_bytes_max = std::size_t{1} << 30;

/// The color that a driver, or the task of a layer or source, works for ahead of a descriptor's
/// users; no_color in a word of 0. Other colors ask when they close the descriptor, and the word is
/// written only when it changes.
[[nodiscard]] inline std::uint32_t home_in(const std::uint32_t& word) noexcept {
  // relaxed: a color that closes has learned of the first use before
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_relaxed) - 1;
}
inline void set_home(std::uint32_t& word, std::uint32_t place) noexcept {
  if (home_in(word) != place) std::atomic_ref(word).store(place + 1, std::memory_order_relaxed);
}

/// How far a descriptor is closed:
///   open     its users may use it
///   late     closed for its users; the number itself is closed when another worker's driver has
///            ended the descriptor's operations, because until then it must not name another file
///   closed
/// Legal moves: open -> closed -> late -> closed. Builds with sanitizers, and those without NDEBUG,
/// check each move.
enum class closing : std::uint8_t { open, late, closed };
[[nodiscard]] constexpr bool is_legal(closing from, closing to) noexcept {
  return to == closing::closed ? from != to : to == closing::late && from == closing::closed;
}

/// A descriptor's number, and how far it is closed.
class descriptor_number {
 public:
  explicit descriptor_number(int open) noexcept : word_(open) {}

  [[nodiscard]] bool is_open() const noexcept { return word_ >= 0; }
  [[nodiscard]] closing state() const noexcept {
    return is_open() ? closing::open : word_ == closed ? closing::closed : closing::late;
  }
  /// The number of an open descriptor.
  [[nodiscard]] int number() const noexcept { return word_; }
  /// Open -> closed; gives the number.
  [[nodiscard]] int close() noexcept { return move_to(closed); }
  /// Closed -> late.
  void close_later(int number) noexcept { static_cast<void>(move_to(late_0 - number)); }
  /// Late -> closed; gives the number.
  [[nodiscard]] int take_late() noexcept { return late_0 - move_to(closed); }

 private:
  [[nodiscard]] int move_to(int word) noexcept {
    const descriptor_number next(word);
    check_move(state(), next.state());
    return std::exchange(word_, word);
  }

  static constexpr int closed = -1;
  static constexpr int late_0 = -2;  // number n is closed late: -2 - n
  int word_;
};

/// An index into the tables: one byte, because an idle connection is little more than its state.
enum class descriptor_kind : std::uint8_t {
  plain,
  file,
  socket,
  datagram,
  listener,
  layer,   ///< a stream that a stream_layer carries
  source,  ///< a listener that a stream_source feeds
};

/// The functions of one kind. All run in the descriptor's color.
struct descriptor_functions {
  /// Starts e, whose turn has come. Returns true when e is done at once.
  bool (*start)(descriptor_state& s, lane_entry& e, worker& w) noexcept;
  /// Asks an entry's operation to end, which the driver has (or a layer or source in its place).
  void (*cancel)(descriptor_state& s, operation& op, worker& w) noexcept;
  /// Ends pending operations and gives blocks back at close(). `number` is the former fd.
  void (*close)(descriptor_state& s, int number, worker& w) noexcept;
  /// Calls f with each operation that a driver may have, except those of the lanes.
  void (*each_operation)(descriptor_state& s, void (*f)(void*, operation&), void* context) noexcept;
  void (*destroy)(descriptor_state& s, worker& w) noexcept;
  /// The color in which the driver receives or accepts ahead of its users, or a task of a layer or
  /// source works; no_color before the first of these, and after a detach. Null for kinds without
  /// such work. Another color may touch nothing else of the state.
  std::uint32_t (*works_in)(const descriptor_state& s) noexcept;
};

/// The part of a stream's functions that does not wait; null for kinds that are no streams.
struct stream_functions {
  /// Sends what leaves at once: see stream::try_write(). Called only while no write is queued.
  sent_now (*try_write)(descriptor_state& s, byte_view head, const piece& body, worker& w) noexcept;
  /// See stream::flush_due(). Null if it is never due.
  bool (*flush_due)(const descriptor_state& s) noexcept;
  std::int64_t (*send_file)(descriptor_state& s, byte_view head, int file, std::uint64_t at,
                            std::size_t count, worker& w) noexcept;
  /// The size from which send_file() sends a body without copying it.
  std::size_t (*send_file_from)(const descriptor_state& s, worker& w) noexcept;
  received (*take)(descriptor_state& s, worker& w) noexcept;
  /// Calls shutdown() with `how`; returns 0 or -errno.
  int (*shutdown)(descriptor_state& s, int how) noexcept;
  address (*peer)(const descriptor_state& s) noexcept;
  /// See stream::unread().
  unread_input (*unread)(const descriptor_state& s) noexcept;
  void (*end_with_last_write)(descriptor_state& s) noexcept;
  void (*reset_on_close)(descriptor_state& s) noexcept;
  /// Makes the state refuse all writes from here on; the peer must not see an orderly end.
  void (*cut)(descriptor_state& s) noexcept;
};

class descriptor_state;
[[nodiscard]] const descriptor_functions& functions_of(const descriptor_state& s) noexcept;

class descriptor_state {
 public:
  /// Makes a state in the worker's memory. Closes `fd` and throws when there is no memory.
  template <class State, class... Args>
  [[nodiscard]] static State* make(int fd, Args... args);

  descriptor_state(int number, descriptor_kind what) noexcept : fd(number), kind(what) {}
  descriptor_state(const descriptor_state&) = delete;
  descriptor_state& operator=(const descriptor_state&) = delete;

  /// The system's number; -1 when the descriptor is closed for users, or has none.
  [[nodiscard]] int number() const noexcept {
    return open() && fd.number() != no_number ? fd.number() : -1;
  }
  [[nodiscard]] bool open() const noexcept { return fd.is_open(); }
  void close(worker& w) noexcept;
  /// descriptor::close(): from any color, carried out in the color that works_in() names.
  void close_for_user() noexcept;
  /// Calls f(state, worker) in the color that works_in() names: at once if that is the running one,
  /// else later, by a message. The caller's handle keeps the state until then: its drop goes there
  /// too, behind the message.
  using home_function = void (*)(descriptor_state& s, worker& w) noexcept;
  void do_at_home(home_function f) noexcept;
  /// Whether the multishot operation still runs in another color, which has not detached it.
  [[nodiscard]] bool taken_elsewhere(const worker& w) const noexcept;
  void unpin_one() noexcept {
    if (--pins != 0) return;
    if (fd.state() == closing::late) [[unlikely]]
      close_late();
    if (handles == 0) destroy();
  }
  void drop_handle() noexcept;

  [[nodiscard]] lane& lane_of(const lane_entry& e) noexcept { return e.write ? writes : reads; }
  /// Starts entries from the head of a lane until one has to wait.
  void advance(lane& line, worker& w) noexcept;
  /// Ends a queued entry with e.outcome: wakes its frame, and starts the next entry.
  void finish(lane_entry& e, worker& w) noexcept;
  /// Starts e, whose turn has come. Returns true when e is done at once.
  [[nodiscard]] bool start(lane_entry& e, worker& w) noexcept {
    if (cut) [[unlikely]] {  // tested alone, because each use of a stream tests it
      if (e.write) {
        refuse(e, w);
        return true;
      }
    }
    return functions_of(*this).start(*this, e, w);
  }
  /// Keeps what a failed entry that had its turn means for later ones: see `broken`, and a write
  /// without a counter cuts the stream.
  void note_end(const lane_entry& e) noexcept {
    if (e.outcome < 0) [[unlikely]]
      note_failure(e.outcome, e.uncounted);
  }
  /// Notes that the connection broke, if this is such a result of a driver's: 0 or more, or -errno.
  void note_result(std::int64_t result) noexcept {
    if (result < 0) [[unlikely]]
      note_failure(result, false);
  }
  /// The outcome of a read where the system says that the input has ended: 0, or -errno.
  [[nodiscard]] std::int32_t outcome_of_end() const noexcept { return broken ? -ECONNRESET : 0; }
  /// Refuses all writes from here on, and makes close() reset: see stream::cut().
  [[gnu::cold]] void cut_writes() noexcept;

  // Entries done in a row without waiting before the frame queues behind others: a peer that
  // always has data must not keep the worker. 32 small transfers are about 30 us.
  static constexpr std::uint8_t burst_max = 32;

  /// The fd of an open descriptor without a number of the system's.
  static constexpr int no_number = std::numeric_limits<int>::max();

  descriptor_number fd;
  std::uint32_t handles = 1;
  std::uint32_t pins = 0;
  descriptor_kind kind;
  std::uint8_t cut : 1 = 0;          ///< a write ended early: every later write is refused
  std::uint8_t never_waits : 1 = 0;  ///< an accepted socket: drivers make those non-blocking
  std::uint8_t burst : 6 = 0;        ///< entries in a row that were done without waiting; the high
                                     ///< bits, because counting needs no mask then
  std::uint8_t window : 7 = 0;       ///< sockets: blocks that may be untaken
  /// The connection broke, as an operation was told. The system tells one operation only, and
  /// shows the next reader an orderly end.
  std::uint8_t broken : 1 = 0;
  std::uint8_t error = 0;  ///< sockets: why nothing more will come, errno or at_end
  lane reads;
  lane writes;

 private:
  [[gnu::cold]] void note_failure(std::int64_t result, bool cuts) noexcept;
  [[gnu::cold]] static void refuse(lane_entry& e, worker& w) noexcept;
  friend void close_number(descriptor_state& s, int number, worker& w) noexcept;
  void destroy() noexcept;
  /// The color that works_in() names if it is not the running one; else no_color.
  [[nodiscard, gnu::noinline]] std::uint32_t home_elsewhere(const worker& w) const noexcept;
  [[gnu::cold]] void close_late() noexcept;
  /// Calls f with each operation on the descriptor that a driver may have.
  template <class F>
  void each_operation(F&& f) noexcept;
  /// If another worker's driver has any of its operations: asks all of them to end.
  [[nodiscard]] bool cancel_elsewhere(worker& w) noexcept;
};

/// The functions of a listener; null for other kinds.
struct listener_functions {
  /// The connection that an accept entry was given, by the entry's outcome (>= 0). The caller owns
  /// one handle. Throws when there is no memory.
  descriptor_state* (*take)(descriptor_state& s, std::int32_t outcome);
  /// Called if an accept entry ends without take(): its connection is closed, or kept for the next
  /// accept.
  void (*drop)(descriptor_state& s, std::int32_t outcome) noexcept;
  void (*finish)(descriptor_state& s, worker& w) noexcept;
  std::uint64_t (*pauses)(const descriptor_state& s) noexcept;
};

/// The tables, by kind.
[[nodiscard]] const descriptor_functions& functions_of(const descriptor_state& s) noexcept;
[[nodiscard]] const stream_functions* stream_functions_of(const descriptor_state& s) noexcept;
[[nodiscard]] const listener_functions* listener_functions_of(const descriptor_state& s) noexcept;

/// The outcome that kernel_error() turns into this error; EIO for one that is not the system's.
[[nodiscard]] inline std::int32_t negative_errno(const std::error_code& e) noexcept {
  return e.category() == std::system_category() || e.category() == std::generic_category()
             ? -e.value()
             : -EIO;
}

/// The parts of a table that most kinds have in common.
[[nodiscard]] bool start_steps(descriptor_state& s, lane_entry& e, worker& w) noexcept;
void cancel_in_driver(descriptor_state& s, operation& op, worker& w) noexcept;
void close_number(descriptor_state& s, int number, worker& w) noexcept;
inline void no_operation(descriptor_state&, void (*)(void*, operation&), void*) noexcept {}
template <class State>
void destroy_state(descriptor_state& s, worker& w) noexcept {
  auto* self = static_cast<State*>(&s);
  self->~State();
  w.memory.release(self, sizeof(State));
}

/// The bytes that have arrived on a stream, as the roles of the read lane see them.
class arrived_bytes {
 public:
  /// The first block; empty if nothing is there.
  [[nodiscard]] virtual byte_view front() const noexcept = 0;
  /// Gives the first block away.
  [[nodiscard]] virtual received lend() noexcept = 0;
  /// Forgets the first bytes of the first block.
  virtual void drop(std::size_t bytes) noexcept = 0;
  /// For stream::detach(): ends receiving ahead. False if that takes time: the entry is then served
  /// again. Sets e.outcome if it fails.
  [[nodiscard]] virtual bool stop(lane_entry& e) noexcept = 0;

 protected:
  ~arrived_bytes() = default;
};

/// A reader's state after it was served.
enum class served : std::uint8_t {
  done,
  wants_more,  ///< the reader needs bytes that have not arrived, or the end
  waits,       ///< the reader waits for the end of receiving ahead
};

/// The functions of one role of lane entries; the table of a role is in its awaiter's file.
struct entry_functions {
  wait& (*wait_of)(lane_entry& e) noexcept;
  /// Returns the operation of a role that has its own; null for others.
  operation* (*operation_of)(lane_entry& e) noexcept = nullptr;
  /// As operation_of: takes steps until the driver keeps the operation (false) or all is done
  /// (true).
  bool (*run)(lane_entry& e, worker& w) noexcept = nullptr;
  /// For readers of a stream: takes the bytes that the entry needs from the arrived bytes.
  served (*serve)(lane_entry& e, arrived_bytes& from) noexcept = nullptr;
  /// For writers to a stream: returns whether the entry needs no further step.
  bool (*satisfied)(const lane_entry& e) noexcept = nullptr;
  /// For writers to a stream: appends the bytes that are still to be sent. Throws std::bad_alloc.
  void (*add_left)(const lane_entry& e, chain& to) = nullptr;
  /// For writers to a stream: takes the result of a step; returns whether the entry is done.
  bool (*step)(lane_entry& e, std::int64_t got) noexcept = nullptr;
};
[[nodiscard]] const entry_functions& functions_of(const lane_entry& e) noexcept;

// The parts of a table that most roles have in common.
template <class Awaiter>
wait& wait_in(lane_entry& e) noexcept {
  return static_cast<Awaiter&>(e);
}
template <class Awaiter>
operation* operation_in(lane_entry& e) noexcept {
  return &static_cast<Awaiter&>(e);
}
/// The function for wait_kind::cancel.
template <class Awaiter>
void cancel_entry(wait& x, worker& w) noexcept {
  static_cast<Awaiter&>(x).cancel(x, w);
}
/// entry_functions::run for an awaiter of one operation in steps.
template <class Awaiter>
bool run_steps(lane_entry& entry, worker& w) noexcept {
  auto& e = static_cast<Awaiter&>(entry);
  for (;;) {
    e.prepare();
    completion now;
    if (!driver_here().submit(e, w, now)) return false;
    if (e.step(now.result)) return true;
  }
}
/// operation::complete of the same. The entry is done, or its turn starts again with the rest; that
/// may be done at once.
template <class Awaiter>
bool step_completed(operation& op, worker& w, const completion& c) noexcept {
  auto& e = static_cast<Awaiter&>(op);
  if (e.step(c.result) || e.state->start(e, w)) e.state->finish(e, w);
  return false;
}

template <class State, class... Args>
State* descriptor_state::make(int fd, Args... args) {
  worker& w = worker::here();
  try {
    return new (w.memory.allocate(sizeof(State))) State(fd, args...);
  } catch (...) {
    driver_here().close(fd, w);
    throw;
  }
}

}  // namespace heddle::detail
