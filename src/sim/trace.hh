// SPDX-License-Identifier: MIT
// The trace of a simulated run: compact records, all of them in one running hash, the last ones
// in a ring that can be printed. No address of memory enters a record, so two runs can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/sched/operation.hh"

namespace heddle::sim {

enum class trace_kind : std::uint8_t {
  submit,    ///< number, code, fd, value = length
  done,      ///< the submitted request was answered inside submit(): value = result
  complete,  ///< a completion delivered: value = result
  cancel,    ///< a request to cancel
  jump,      ///< value = nanoseconds jumped
  fault,     ///< value = the error or limit injected
  opened,    ///< a call made descriptor fd
  closed,
  arrival,  ///< fd's object got value bytes; number = their hash
  signal,   ///< value = the signal's number
  random,   ///< the program drew value
  note,     ///< number = the text's hash; of its text further records have more: value = 1, 2, ...
  start,    ///< a process begins; value = how many ran on its computer before
  death,    ///< a process ends; value = 1 at a power failure
  cut,      ///< packets to computer number `value` are lost from now on
  heal,     ///< packets to computer number `value` arrive again
  pause,    ///< a process makes no turns for value nanoseconds
  clock,    ///< the wall clock jumps; value = nanoseconds
};

[[nodiscard]] const char* to_string(op_code code) noexcept;

/// FNV-1a over bytes, for records that stand for content.
[[nodiscard]] std::uint64_t hash_bytes(const void* bytes, std::size_t len,
                                       std::uint64_t from = 0xcbf29ce484222325u) noexcept;

/// When a record is made, and for which computer: 0 in a world of one, and for the world itself.
struct stamp {
  time_point when;
  unsigned computer = 0;
};

class trace {
 public:
  trace(std::size_t lines_max) : lines_max_(lines_max) {}

  void add(stamp at, trace_kind kind, std::uint64_t number, op_code code, int fd,
           std::int64_t value) noexcept;
  void note(stamp at, std::string_view text) noexcept;

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// The last records, one a line: of all computers, or of one.
  [[nodiscard]] std::string text(std::optional<unsigned> computer = std::nullopt) const;

  std::vector<std::string> names;  ///< computers; empty in a world of one

 private:
  struct record {
    std::int64_t when_ns;
    std::uint64_t number;
    std::int64_t value;
    std::int32_t fd;
    std::uint16_t computer;
    trace_kind kind;
    op_code code;
    char remark[20];
  };
  void keep(const record& r) noexcept;
  void store(const record& r) noexcept;
  /// The whole text of the remark that begins with record `i`, whose further parts follow it.
  [[nodiscard]] std::string remark_at(std::uint64_t i) const;

  std::vector<record> ring_;
  std::size_t lines_max_;
  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace heddle::sim
