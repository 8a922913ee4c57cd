// SPDX-License-Identifier: MIT
// The layout of a frame as text, for `--emit plan`: the bytes of each part, the place of each
// variable, and what a connection takes besides.
#include <algorithm>
#include <string>

#include "draft/print_flow.hh"
#include "heddle/draft.h"
#include "heddle/io/detail/connection_bytes.hh"

namespace heddle::draft {
namespace {

/// A row: the bytes in a column, then what has them.
std::string part_line(std::size_t bytes, const std::string& what) {
  const std::string digits = std::to_string(bytes);
  return "  " + std::string(digits.size() < 6 ? 6 - digits.size() : 0, ' ') + digits + "  " + what +
         "\n";
}

/// The bytes of one frame, by part, and of a connection that it holds.
std::string table_of_bytes(const flow& f) {
  const std::size_t wait = f.has_wait ? sizeof(heddle_wait) : 0;
  const std::size_t arms = f.arms_max * sizeof(heddle_arm);
  const std::size_t frame = sizeof(heddle_thread) + wait + arms + f.frame_size;
  std::string out =
      "  bytes of a frame:\n" +
      part_line(sizeof(heddle_thread), "head: where it goes on, its kind, its owner") +
      part_line(wait, f.has_wait ? "record of a wait"
                                 : "no record of a wait: each lies in "
                                   "its connection, or needs none");
  if (arms != 0) out += part_line(arms, "arms of `any`: " + std::to_string(f.arms_max));
  out += part_line(f.frame_size, "variables") + part_line(frame, "in all");
  const bool holds = std::any_of(f.slots.begin(), f.slots.end(), [](const slot& s) {
    return s.in_frame && !s.by_reference && s.type->is(kind::conn);
  });
  if (!holds) return out;
  const std::size_t uring = detail::bytes_of_number_io_uring, epoll = detail::bytes_of_number_epoll;
  out += "  and of an open connection:\n" + part_line(detail::bytes_of_socket, "socket") +
         part_line(uring, "in the table of io_uring, by descriptor (epoll, poll: " +
                              std::to_string(epoll) + ")") +
         part_line(frame + detail::bytes_of_socket + uring,
                   "with one frame that waits (epoll, poll: " +
                       std::to_string(frame + detail::bytes_of_socket + epoll) + ")");
  return out;
}

}  // namespace

std::string print_plan(const flow& f) {
  static constexpr const char* forms[] = {"plain", "merged", "apart", "thread", "foreign"};
  std::string out = f.fn->c_name + ": " + forms[static_cast<int>(f.fn->form)];
  if (!f.fn->why.empty()) out += " (" + f.fn->why + ")";
  if (!f.has_frame) return out + "\n\n";
  out += ", " + std::to_string(f.waits) + (f.waits == 1 ? " wait, " : " waits, ") +
         std::to_string(f.frame_size) + " bytes of variables (" +
         std::to_string(f.frame_size_least) + " live at once, ";
  const std::vector<std::uint32_t> bytes = bytes_at_waits(f);
  const std::uint32_t result = f.result != no_id ? f.slots[f.result].size : 0;
  out += std::to_string(std::max(*std::max_element(bytes.begin(), bytes.end()), result)) +
         " at one wait)\n";
  std::vector<const slot*> list;
  for (const slot& s : f.slots)
    if (s.in_frame) list.push_back(&s);
  std::sort(list.begin(), list.end(), [](const slot* a, const slot* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->name < b->name;
  });
  for (const slot* s : list) {
    out += "  " + std::to_string(s->offset) + ".." + std::to_string(s->offset + s->size) + "  " +
           s->name + ": " + (s->by_reference ? "&" : "") + s->type->name;
    std::string partners;
    for (const slot* o : list)
      if (o != s && o->offset < s->offset + s->size && s->offset < o->offset + o->size)
        partners += (partners.empty() ? "" : ", ") + o->name;
    if (!partners.empty()) out += "  (shares bytes with " + partners + ")";
    out += "\n";
  }
  out += "  start: " + std::to_string(bytes[0]) + " bytes in use\n";
  for (const flow_block& b : f.blocks)
    if (b.tail.waits())
      out += "  wait " + std::to_string(b.wait_number) + ", " + b.name + ": " +
             std::to_string(bytes[b.wait_number]) + " bytes in use\n";
  return out + table_of_bytes(f) + "\n";
}

}  // namespace heddle::draft
