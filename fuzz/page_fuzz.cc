// SPDX-License-Identifier: MIT
// Texts of pages: sections are closed in order, and whatever value a place gets, the HTML behind it
// stays at the point where it was: no value can open a tag or leave an attribute. The first byte
// chooses the rules.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "web/page_text.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// The beginning of "opening" steps and their ends refer to each other.
void demand_closed(const page_text& read) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i != read.steps.size(); ++i) {
    const page_step& each = read.steps[i];
    switch (each.what) {
      case page_step::kind::section:
      case page_step::kind::inverted:
        ++depth;
        demand(each.other > i && each.other < read.steps.size());
        demand(read.steps[each.other].what == page_step::kind::end);
        demand(read.steps[each.other].other == i);
        break;
      case page_step::kind::end:
        demand(depth-- != 0);
        break;
      case page_step::kind::include:
        demand(each.other < read.includes.size());
        demand(!read.includes[each.other].path.empty());
        break;
      case page_step::kind::place:
      case page_step::kind::text:
        demand(!each.text.empty() || each.what == page_step::kind::text);
        break;
    }
  }
  demand(depth == 0);
}

/// Writes a hostile value in each place that escapes, and follows the HTML.
void demand_contained(const page_text& read) {
  for (const std::string_view hostile :
       {"\"'><script>x</script><!-- --> =", "javascript:alert(1)", " onload=x ", "-", "/\\"}) {
    page_markup at;
    for (const page_step& each : read.steps) {
      if (each.what == page_step::kind::text) at.read(each.text);
      if (each.what != page_step::kind::place) continue;
      if (each.escape == page_escape::none) {
        at.raw_place();
        continue;
      }
      const page_markup before = at;
      std::string out;
      append_escaped_value(out, hostile, each.escape);
      at.read(out);
      demand(at.same_point(before));
      demand(!out.starts_with("javascript:") || each.escape == page_escape::markup);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  page_rules rules;
  rules.files = (data[0] & 1) != 0;
  rules.how = (data[0] & 2) == 0   ? page_rules::escaping::html
              : (data[0] & 4) == 0 ? page_rules::escaping::markup
                                   : page_rules::escaping::none;
  rules.sections_max = 8;
  try {
    const page_text read = read_page(text, rules);
    demand_closed(read);
    demand(rules.files || (read.sources.empty() && read.includes.empty()));
    if (rules.how == page_rules::escaping::html) demand_contained(read);
  } catch (const page_mistake& e) {
    demand(e.line >= 1 && std::string_view(e.what()) != "");
  }
  return 0;
}
