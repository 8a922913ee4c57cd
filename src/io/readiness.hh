// SPDX-License-Identifier: MIT
// A driver on top of "this descriptor may be ready": tries the call first, queues what would block,
// and tries again when the kernel says so. epoll.cc and poll.cc supply the watching.
//
// Each descriptor has two queues, of readers and writers. Only the first is tried, so they end
// in the order of the calls; polls are kept apart, because they take nothing and one may wait for
// both directions. A short transfer on a stream means "not ready": the stream is not tried again
// until the next report.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/io/detail/connection_bytes.hh"
#include "io/fd_epochs.hh"
#include "io/fd_table.hh"
#include "io/kernel_driver.hh"
#include "io/op_queue.hh"

namespace heddle {

/// The driver's knowledge of a descriptor's input:
///   unwatched  the kernel does not report on it
///   drained    the same, and it was empty when it was read last
///   open       the kernel reports on it, and it may be readable
///   waiting    the kernel reports on it, and it was not readable at the last try
/// Legal moves: unwatched -> drained, open; drained -> unwatched, open; open -> waiting;
/// waiting -> open. Builds with sanitizers, and those without NDEBUG, check each move.
enum class input_state : std::uint8_t { unwatched, drained, open, waiting };
[[nodiscard]] constexpr bool is_legal(input_state from, input_state to) noexcept {
  switch (to) {
    case input_state::unwatched:
      return from == input_state::drained;
    case input_state::drained:
      return from == input_state::unwatched;
    case input_state::open:
      return from != input_state::open;
    case input_state::waiting:
      return from == input_state::open;
  }
  return false;
}

/// As input_state, of its output:
///   open     it may be writable
///   waiting  the kernel reports on it, and it was not writable at the last try
/// Either may follow the other.
enum class output_state : std::uint8_t { open, waiting };

class readiness_driver : public kernel_driver {
 public:
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override;
  void cancel(operation& op, worker& w) noexcept override;
  void turn(worker& w, time_point until) noexcept override;
  void close(int fd, worker& w) noexcept override;
  [[nodiscard]] std::int64_t send_now(int fd, const ::iovec* pieces,
                                      std::size_t count) noexcept override;
  [[nodiscard]] std::int64_t send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count, bool never_waits) noexcept override;
  void adopt(int fd) noexcept override {
    begin(fd, fd_kind::unknown).origin = fd_origin::elsewhere;
  }

  [[nodiscard]] int socket(int domain, int type, int protocol) noexcept override;
  [[nodiscard]] bool unsent() const noexcept override { return !kicked_.empty(); }
  [[nodiscard]] int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept override;
  [[nodiscard]] int socket_pair(int (&ends)[2]) noexcept override;
  [[nodiscard]] int pipe(int (&ends)[2]) noexcept override;

 protected:
  explicit readiness_driver(driver_place& place) : kernel_driver(place), epochs_(shared_epochs()) {}

  /// The kind of an open file. `stream`: bytes without borders (TCP and pipes), where a short
  /// transfer says that there is no more. `packets`: everything else that can be waited for, Unix
  /// sockets among it: there a read ends early where a descriptor was passed. `uncached`: a file
  /// opened past the page cache, where even a try that is not to wait sleeps until the disk has
  /// answered.
  enum class fd_kind : std::uint8_t { unknown, stream, packets, file, uncached };
  /// Where a descriptor comes from; each origin is one of the origin before.
  enum class fd_origin : std::uint8_t {
    elsewhere,
    made_here,  // by this driver, so it is non-blocking
    accepted,   // by this driver: no other process has it open
    peer_known  // accepted by this driver, and the peer may still be in known_peers_
  };
  struct fd_state {
    op_queue readers;
    op_queue writers;
    std::uint32_t epoch = 0;          // with several workers: when this was noted
    std::uint8_t read_lines : 7 = 0;  // cache lines read last after a report, at most a page
    bool ended : 1 = false;  // the peer has ended, or marked a byte as urgent: a short read
                             // is not the last
    std::uint8_t write_lines : 7 = 0;  // cache lines written last after a report, at most a page
    output_state output : 1 = output_state::open;
    fd_kind kind : 3 = fd_kind::unknown;
    fd_origin origin : 2 = fd_origin::elsewhere;
    bool kicked : 1 = false;                     // listed in kicked_
    bool starved : 1 = false;                    // listed in starved_
    bool polled : 1 = false;                     // listed in polls_, now or before
    input_state input = input_state::unwatched;  // a whole byte, because every try asks

    [[nodiscard]] bool watched() const noexcept { return input >= input_state::open; }
    [[nodiscard]] bool read_waits() const noexcept { return input == input_state::waiting; }
    [[nodiscard]] bool write_waits() const noexcept { return output == output_state::waiting; }
    void move_to(input_state next) noexcept {
      if constexpr (checks_moves)
        if (input != next) check_move(input, next);
      input = next;
    }
  };
  static_assert(sizeof(fd_state) == detail::bytes_of_number_epoll, "one for each connection");

  /// Begins to watch: 0 when reports come from now on, also of readiness that exists already; else
  /// -errno.
  [[nodiscard]] virtual int watch(int fd, fd_state& state) noexcept = 0;
  /// As watch(), for a number that is noted as watched, but may name another file since: other code
  /// opened it, and so may have closed it without telling this driver.
  [[nodiscard]] virtual int watch_again(int fd, fd_state& state) noexcept = 0;
  /// Sleeps until `until` (not at all when it is in the past), then calls ready() for each report.
  virtual void wait_reports(worker& w, time_point until) noexcept = 0;
  /// Ends watching. `shared`: the file may be open elsewhere too, and so live on.
  virtual void unwatch(int fd, bool shared) noexcept = 0;
  /// Handles a report: the descriptor may be readable or writable, or the peer has ended, broken
  /// off, or marked a byte as urgent. All bytes before that end were reported together with it, so
  /// reading goes on to the end.
  void ready(fd_state& state, bool readable, bool writable, bool ended, worker& w) noexcept {
    if (ended) state.ended = true;
    if (readable && state.read_waits()) state.move_to(input_state::open);
    if (writable) state.output = output_state::open;
    if (state.polled) [[unlikely]]
      run_polls(state, w);
    if (readable) run_queue<true, false>(state, w);
    if (writable) run_queue<false, false>(state, w);
  }
  // Prefetch for reports to come, whose memory is cold by now. First the record that has the
  // operations; then the operation, the reader or else the writer; then the bytes that the kernel
  // will move, as many as it moved the last time.
  static void expect_third(const fd_state& state) noexcept { __builtin_prefetch(&state); }
  static void expect_second(const fd_state& state) noexcept {
    const void* op = first_of(state);
    if (op == nullptr) op = &state;  // prefetching a null address is slow
    __builtin_prefetch(op);
    __builtin_prefetch(static_cast<const std::byte*>(op) + line_bytes);
  }
  static void expect_next(const fd_state& state) noexcept {
    const std::uint32_t lines = state.readers.empty() ? state.write_lines : state.read_lines;
    if (lines == 0) return;
    const operation* const op = first_of(state);
    if (op == nullptr) return;
    const auto* const begin = static_cast<const std::byte*>(op->data);
    const auto* const end = begin + std::min(lines * line_bytes, op->len);
    for (const std::byte* line = begin; line < end; line += line_bytes) __builtin_prefetch(line);
  }

  fd_table<fd_state> states_;
  std::unordered_map<const fd_state*, op_queue> polls_;  // few descriptors are ever polled

 private:
  enum class attempt_result : std::uint8_t {
    done,
    would_block,
    later,   // a later call will try again: ask the kernel nothing now
    drained  // as would_block, for a descriptor that is not watched yet
  };

  /// operation::driver_state of a poll whose descriptor was closed.
  static constexpr std::uint8_t poll_outlived = 3;
  static constexpr std::uint32_t line_bytes = 64;  // a cache line
  static constexpr std::uint32_t page_bytes = 4096;
  [[nodiscard]] static const operation* first_of(const fd_state& state) noexcept {
    return state.readers.empty() ? state.writers.first : state.readers.first;
  }
  [[nodiscard]] fd_state& state_of(int fd) noexcept {
    fd_state& state = states_.at(fd);
    if (epochs_ != nullptr) [[unlikely]]
      forget_old(fd, state);
    return state;
  }
  void forget_old(int fd, fd_state& state) noexcept;
  /// The kind of a descriptor; the first call asks the system.
  [[nodiscard]] static fd_kind kind_of(fd_state& state, int fd) noexcept {
    return state.kind != fd_kind::unknown ? state.kind : ask_kind(state, fd);
  }
  [[nodiscard, gnu::cold]] static fd_kind ask_kind(fd_state& state, int fd) noexcept;
  fd_state& begin(int fd, fd_kind kind) noexcept;
  [[nodiscard]] std::int64_t accept_one(int listener) noexcept;
  [[nodiscard]] op_queue& queue_of(fd_state& state, const operation& op) noexcept;
  /// One call that does not block: its result, or -errno.
  [[nodiscard]] std::int64_t try_once(operation& op) noexcept;
  [[nodiscard]] std::int64_t try_other(operation& op) noexcept;
  /// Whether this result means that the call would have blocked.
  [[nodiscard]] static bool would_block(const operation& op, std::int64_t result) noexcept;
  /// Notes after a short transfer on a stream that the next try would block.
  void learn(fd_state& state, const operation& op) noexcept;
  /// Asks for a report after a try that would have blocked. 0, or -errno when none will come.
  [[nodiscard]] int await_report(fd_state& state, const op_queue& queue,
                                 const operation& op) noexcept;
  template <bool Noted>
  [[nodiscard]] attempt_result run_multishot(operation& op, fd_state& state, worker& w) noexcept;
  /// Tries the readers (or writers) in order, until one of them would block.
  /// `Noted`: counts completions in delivered_, so that the turn does not sleep after them.
  template <bool Readers, bool Noted>
  void run_queue(fd_state& state, worker& w) noexcept;
  bool run_polls(fd_state& state, worker& w) noexcept;  // true if a poll ended
  void finish(op_queue& queue, operation& op, worker& w, std::int64_t result) noexcept;
  void kick(fd_state& state) noexcept;
  void run_kicked(worker& w) noexcept;
  void feed_starved(worker& w) noexcept;

  /// accept4() gives the peer's address; a call of peer_name() soon after needs no system call.
  struct known_peer {
    int fd = -1;
    unsigned len = 0;
    alignas(8) std::byte address[28] = {};  // version 4 or 6
  };
  std::array<known_peer, 64>
      known_peers_;  // the place of fd is fd % 64: as many as are accepted in a turn

  fd_epochs* const epochs_;        // null if there is one worker
  std::vector<fd_state*> kicked_;  // descriptors to be tried at the next turn
  std::vector<fd_state*> kicking_;
  std::vector<fd_state*> starved_;  // descriptors whose receive_all waits for a block
  std::uint32_t delivered_ = 0;     // completions in this turn; after one, it does not sleep
  operation* current_ = nullptr;    // the operation whose completion runs; null when it ended there
};

}  // namespace heddle
