// SPDX-License-Identifier: MIT
// Ranges, entity tags and lists of field values: every range lies inside the representation, and
// one that is asked for again in its plain form is answered the same. The first eight bytes are
// the size.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "heddle/http/etag.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/range.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

void ranges(std::string_view value, std::uint64_t size) {
  range_set set = parse_ranges(value, size);
  std::size_t count = set.ranges().size();
  switch (set.answer()) {
    case range_answer::whole:
    case range_answer::unsatisfiable:
      demand(count == 0);
      break;
    case range_answer::single:
      demand(count == 1);
      break;
    case range_answer::multiple:
      demand(count > 1 && count <= range_count_max);
      break;
  }
  for (const byte_range& range : set.ranges()) {
    demand(range.first <= range.last && range.last < size);
    std::string plain = "bytes=" + std::to_string(range.first) + "-" + std::to_string(range.last);
    range_set again = parse_ranges(plain, size);
    demand(again.answer() == range_answer::single);
    demand(again.front().first == range.first && again.front().last == range.last);
    std::string written = "bytes " + plain.substr(6) + "/" + std::to_string(size);
    demand(content_range(range, size).text() == written);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t number = 0;
  if (size < sizeof number) return 0;
  std::memcpy(&number, data, sizeof number);
  std::string_view text{reinterpret_cast<const char*>(data) + 8, size - 8};
  ranges(text, number);
  ranges(text, number % 1000);

  std::string_view rest = text;
  entity_tag tag;
  while (take_entity_tag(rest, tag)) {
    std::string own = (tag.weak ? "W/" : "") + std::string(tag.opaque);
    demand(etag_listed(text, own, etag_comparison::weak));
    demand(tag.weak || etag_listed(text, own, etag_comparison::strong));
  }
  std::string_view element;
  rest = text;
  std::size_t before = rest.size();
  while (take_list_element(rest, element)) {
    demand(!element.empty() && rest.size() < before);
    before = rest.size();
  }
  return 0;
}
