// SPDX-License-Identifier: MIT
// The built-in operations: those of connections, buffers and channels, and the
// functions of net, fs, time, log, rand and os. One table for the checker, the interpreter, the
// back end and the reference page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "draft/types.hh"

namespace heddle::draft {

/// The word before the dot of an operation: a built-in module, or the type of the receiver.
enum class receiver : std::uint8_t {
  none,  ///< a constructor like buffer(4K), and what has no operations
  net,
  fs,
  time,
  log,
  rand,
  conn,
  listener,
  file,
  buffer,
  view,
  bytes,
  text,
  channel,
  broadcast,
  subscription,
  semaphore,
  rendezvous,
  event,
  signal,  ///< event<>
  job,
  os,
  udp,
  descriptor,
  process,
  pipe,
};
[[nodiscard]] std::string_view spelling(receiver on) noexcept;
/// The built-in module of this name, or none.
[[nodiscard]] receiver module_named(std::string_view name) noexcept;
/// The receiver for values of a type.
[[nodiscard]] receiver receiver_of(kind k) noexcept;

/// The operations that passes treat in a way of their own.
enum class operation_id : std::uint8_t {
  other,
  make_channel,
  make_broadcast,
  make_rendezvous,
  event_of_wait,  ///< event(x) in a `wait`
  join,           ///< waits for a job
  set_text,
  clear_text,
  copy,
  starts_with,
  now,
  address,
};

/// How a parameter or the receiver is passed, and the result is given.
struct operation {
  receiver on = receiver::none;
  std::string_view name;
  operation_id id = operation_id::other;
  std::string_view params;  ///< "cap: int, to: view"; "..." takes any printable values
  std::string_view result;  ///< "", "int", "view", "T"
  bool fallible = false;
  bool waits = false;
  bool changes = false;             ///< the receiver has to be a `var`
  bool consumes = false;            ///< the receiver is gone afterwards
  bool looks_into = false;          ///< the result is a view into the receiver
  std::int8_t looks_into_arg = -1;  ///< or into this argument
  bool property = false;            ///< without parentheses: v.len
  bool may_fault = false;           ///< an argument may be a fault
  std::string_view c_name;
  std::string_view help;
  /// The end of its object that it waits for, or 0: two arms of an `any` never wait for one end.
  std::uint8_t end = 0;

  /// "conn.read", or "buffer" for a constructor.
  [[nodiscard]] std::string full_name() const;
  /// Whether its wait lies in the receiver, so that the frame has no record of it (heddle/abi.h).
  [[nodiscard]] bool waits_in_receiver() const noexcept { return waits && on == receiver::conn; }
};

[[nodiscard]] std::span<const operation> operations() noexcept;
/// The parts of it: connections and files; descriptors, pipes and processes; all that is in memory.
[[nodiscard]] std::span<const operation> io_operations() noexcept;
[[nodiscard]] std::span<const operation> os_operations() noexcept;
[[nodiscard]] std::span<const operation> value_operations() noexcept;
/// The operation `on.name`, or null.
[[nodiscard]] const operation* find_operation(receiver on, std::string_view name) noexcept;
/// An operation that passes make calls of themselves.
[[nodiscard]] const operation& operation_of(operation_id id) noexcept;

/// One parameter of an operation.
struct operation_param {
  std::string_view name;
  std::string_view type;
  passing how = passing::borrow;
  std::string_view fallback;  ///< as written; "" when there is none
};
[[nodiscard]] std::vector<operation_param> params_of(const operation& op);

}  // namespace heddle::draft
