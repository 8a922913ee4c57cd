// SPDX-License-Identifier: MIT
// What a NATS server sends: read whole and in pieces, it gives the same items or the same refusal,
// and no item is larger than its limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/error.hh"
#include "nats/wire.hh"

namespace {

using namespace heddle::nats::detail;

void demand(bool condition) {
  if (!condition) std::abort();
}

constexpr wire_limits bounds{.control_line_max = 64, .info_max = 128, .payload_max = 256};

struct outcome {
  std::vector<std::string> items;
  bool refused = false;
  friend bool operator==(const outcome&, const outcome&) = default;
};

std::string text_of(const wire_item& item) {
  std::string made(1, static_cast<char>('0' + static_cast<int>(item.what)));
  const heddle::nats::message& m = item.content;
  demand(heddle::nats::detail::payload_size({}, m.body) <= bounds.payload_max);
  made += item.text + '|' + m.subject + '|' + m.reply + '|' + m.body + '|' +
          std::to_string(item.subscription) + '|' + std::to_string(m.status) + m.status_text;
  for (const heddle::nats::field& each : m.fields) made += '|' + each.name + ':' + each.value;
  return made;
}

outcome read_in_steps(std::string_view text, std::size_t step) {
  outcome got;
  wire_reader reader(bounds);
  try {
    for (std::size_t at = 0; at < text.size(); at += step) {
      reader.feed(text.substr(at, step));
      while (auto item = reader.next()) got.items.push_back(text_of(*item));
    }
  } catch (const heddle::failure& e) {
    demand(e.code() == std::errc::bad_message);
    got.refused = true;
  }
  return got;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const outcome whole = read_in_steps(text, size);
  demand(read_in_steps(text, 1) == whole);
  demand(read_in_steps(text, 1 + data[0] % 16u) == whole);
  return 0;
}
