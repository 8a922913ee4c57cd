// SPDX-License-Identifier: MIT
// Looking up built-in operations.
#include "draft/operations.hh"

#include <algorithm>
#include <iterator>
#include <vector>

namespace heddle::draft {

std::span<const operation> operations() noexcept {
  static const std::vector<operation> all = [] {
    std::vector<operation> list(io_operations().begin(), io_operations().end());
    list.insert(list.end(), os_operations().begin(), os_operations().end());
    list.insert(list.end(), value_operations().begin(), value_operations().end());
    return list;
  }();
  return all;
}

const operation* find_operation(receiver on, std::string_view name) noexcept {
  for (const operation& op : operations())
    if (op.on == on && op.name == name) return &op;
  // A text and bytes have all that a view has.
  if (on == receiver::text || on == receiver::bytes) return find_operation(receiver::view, name);
  return nullptr;
}

const operation& operation_of(operation_id id) noexcept {
  return *std::ranges::find(operations(), id, &operation::id);
}

std::string operation::full_name() const {
  return std::string(spelling(on)) + (on == receiver::none ? "" : ".") + std::string(name);
}

std::string_view spelling(receiver on) noexcept {
  static constexpr std::string_view words[] = {
      "",          "net",          "fs",         "time",       "log",   "rand",    "conn",
      "listener",  "file",         "buffer",     "view",       "bytes", "text",    "channel",
      "broadcast", "subscription", "semaphore",  "rendezvous", "event", "event<>", "job",
      "os",        "udp",          "descriptor", "process",    "pipe"};
  static_assert(std::size(words) == static_cast<std::size_t>(receiver::pipe) + 1);
  return words[static_cast<std::size_t>(on)];
}

receiver module_named(std::string_view name) noexcept {
  for (const receiver on :
       {receiver::net, receiver::fs, receiver::time, receiver::log, receiver::rand, receiver::os})
    if (spelling(on) == name) return on;
  return receiver::none;
}

receiver receiver_of(kind k) noexcept {
  switch (k) {
    case kind::conn:
      return receiver::conn;
    case kind::listener:
      return receiver::listener;
    case kind::file:
      return receiver::file;
    case kind::buffer:
      return receiver::buffer;
    case kind::view:
      return receiver::view;
    case kind::bytes:
      return receiver::bytes;
    case kind::text:
      return receiver::text;
    case kind::channel:
      return receiver::channel;
    case kind::broadcast:
      return receiver::broadcast;
    case kind::subscription:
      return receiver::subscription;
    case kind::semaphore:
      return receiver::semaphore;
    case kind::rendezvous:
      return receiver::rendezvous;
    case kind::event:
      return receiver::event;
    case kind::signal:
      return receiver::signal;
    case kind::job:
      return receiver::job;
    case kind::udp:
      return receiver::udp;
    case kind::descriptor:
      return receiver::descriptor;
    case kind::process:
      return receiver::process;
    case kind::pipe:
      return receiver::pipe;
    default:
      return receiver::none;
  }
}

std::vector<operation_param> params_of(const operation& op) {
  std::vector<operation_param> list;
  std::string_view rest = op.params;
  if (rest == "...") return list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(", ");
    std::string_view one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
    operation_param p;
    if (one.starts_with("var ")) p.how = passing::change;
    if (one.starts_with("take ")) p.how = passing::take;
    if (p.how != passing::borrow) one.remove_prefix(one.find(' ') + 1);
    const std::size_t colon = one.find(": ");
    p.name = one.substr(0, colon);
    one.remove_prefix(colon + 2);
    const std::size_t set = one.find(" = ");
    p.type = one.substr(0, set);
    if (set != std::string_view::npos) p.fallback = one.substr(set + 3);
    list.push_back(p);
  }
  return list;
}

}  // namespace heddle::draft
