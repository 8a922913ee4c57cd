// SPDX-License-Identifier: MIT
// Writes the trace of one bus: a line for each raise and each change of its bindings. The recorder
// calls it, so that programs without a trace pay nothing. docs/reference/bus.md has the format.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/worker.hh"

namespace heddle::detail {

/// A name as one word of a trace: in quotes if it has spaces or quotes. Several handlers with one
/// name have different numbers.
[[nodiscard]] std::string trace_word(std::string_view name, std::uint32_t number = 0);

/// Thread: the bus's.
/// Owns: at most 64 KiB of lines that are not in the file yet; finish() writes the last ones.
/// Several buses and processes may add to one file: each writes whole blocks of lines.
/// Fails: the constructor throws failure if the file is not a trace or cannot be written, and
///   finish() if lines were lost.
class trace_writer {
 public:
  static constexpr std::string_view first_line = "heddle-bus-trace 1";

  trace_writer(std::string path, std::uint64_t bytes_max);

  // One line each; `by` is empty or " by HANDLER of TOPIC".
  void raised(std::string_view topic, std::string_view by);
  void requested(std::string_view topic, nanoseconds span, std::string_view by);
  void bound(std::string_view topic, bool haltable, std::string_view order,
             std::string_view handler);
  void unbound(std::string_view topic, std::string_view order, std::string_view handler);
  void finish();

 private:
  void line(std::string text);
  void flush();
  [[nodiscard]] std::string time() const;

  std::string path_;
  std::uint64_t bytes_max_;
  std::string buffer_;
  std::string bus_;    // the line that begins each block; empty before the first
  bool full_ = false;  // the file has reached its limit
  bool simulated_ = false;
  int error_ = 0;  // errno of the first failure
  std::chrono::nanoseconds began_;
};

}  // namespace heddle::detail
