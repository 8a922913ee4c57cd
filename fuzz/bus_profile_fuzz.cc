// SPDX-License-Identifier: MIT
// A profile from anywhere: it is refused, or it is exactly what the writer would write; and then
// adding it to itself, planning, the plan's source and the picture hold their limits and say
// nothing that the program did not.
#include <string_view>

#include "fuzz/require.hh"
#include "heddle/optimizer/planner.hh"
#include "heddle/optimizer/profile_graph.hh"

using heddle::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = parse_profile(text);
  if (!read) {
    require(read.error().line > 0 && !read.error().what.empty(), "a problem without a place");
    return 0;
  }
  require(to_text(*read) == text, "accepted what the writer would not write");

  profile_data sum = *read;
  add_profile(sum, *read, {.topics_max = 8, .handlers_max = 8, .edges_max = 8});
  const auto again = parse_profile(to_text(sum));
  require(again && *again == sum, "a sum that cannot be read back");

  const plan p = make_plan(*read, {.theta = 1, .compiler = {}});
  for (const plan_topic& t : p.topics) {
    require(t.variants.size() <= 3, "more variants than a raise looks at");
    for (const plan_variant& v : t.variants)
      for (const std::int32_t n : v.numbers)
        require(n >= -1 && n < static_cast<std::int32_t>(p.handlers.size()), "a wild number");
  }
  const std::string header = plan_header(p, *read);
  for (std::size_t at = header.find("//"); at != header.npos; at = header.find("//", at + 1)) {
    const std::size_t end = header.find('\n', at);
    require(end != header.npos && header[end - 1] != '\\', "a comment that goes on");
  }
  require(!plan_table(p, *read).empty() && !plan_fallback(p).empty(), "no text");
  require(missing_handlers(p, *read, "").size() == p.handlers.size(), "found in nothing");
  require(profile_graph(*read, {.handlers = true}).ends_with("}\n"), "a picture that does not end");
  return 0;
}
