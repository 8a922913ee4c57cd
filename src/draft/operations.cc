// SPDX-License-Identifier: MIT
// Looking up built-in operations.
#include "draft/operations.hh"

#include <vector>

namespace heddle::draft {

std::span<const operation> operations() noexcept {
  static const std::vector<operation> all = [] {
    std::vector<operation> list(io_operations().begin(), io_operations().end());
    list.insert(list.end(), value_operations().begin(), value_operations().end());
    return list;
  }();
  return all;
}

const operation* find_operation(std::string_view on, std::string_view name) noexcept {
  for (const operation& op : operations())
    if (op.on == on && op.name == name) return &op;
  // A text and bytes have all that a view has.
  if (on == "text" || on == "bytes") return find_operation("view", name);
  return nullptr;
}

std::string_view word_of(kind k) noexcept {
  switch (k) {
    case kind::conn:
      return "conn";
    case kind::listener:
      return "listener";
    case kind::file:
      return "file";
    case kind::buffer:
      return "buffer";
    case kind::view:
      return "view";
    case kind::bytes:
      return "bytes";
    case kind::text:
      return "text";
    case kind::channel:
      return "channel";
    case kind::broadcast:
      return "broadcast";
    case kind::subscription:
      return "subscription";
    case kind::semaphore:
      return "semaphore";
    case kind::rendezvous:
      return "rendezvous";
    case kind::event:
      return "event";
    case kind::signal:
      return "event<>";
    case kind::job:
      return "job";
    default:
      return {};
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
