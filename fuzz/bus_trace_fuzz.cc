// SPDX-License-Identifier: MIT
// A trace of a bus from anywhere: it is refused with its line, or it becomes a profile that can be
// written and read back; then the picture ends, and small limits hold.
#include <string_view>

#include "fuzz/require.hh"
#include "heddle/optimizer/bus_trace.hh"
#include "heddle/optimizer/profile_graph.hh"

using heddle::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = profile_of_trace(text);
  if (!read) {
    require(read.error().line > 0 && !read.error().what.empty(), "a problem without a place");
    return 0;
  }
  const auto again = parse_profile(to_text(*read));
  require(again && *again == *read, "a profile that cannot be read back");
  require(profile_graph(*read, {.handlers = true}).ends_with("}\n"), "a picture that does not end");

  const profile_limits few{.topics_max = 2,
                           .handlers_max = 2,
                           .sequences_max = 2,
                           .sequence_len_max = 2,
                           .edges_max = 2};
  if (const auto part = profile_of_trace(text, {.buses_max = 2, .bindings_max = 4, .profile = few}))
    require(part->topics.size() <= 2 && part->handlers.size() <= 2 && part->edges.size() <= 2,
            "more than the limits allow");
  return 0;
}
