// SPDX-License-Identifier: MIT
// A file of slower topics from anywhere: it is refused with a line, or each line is a topic, which
// is read again when it is written in the form of the writer, and which no plan merges.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz/require.hh"
#include "heddle/base/error.hh"
#include "heddle/bus/detail/hex.hh"
#include "heddle/optimizer/measure.hh"

using heddle::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<left_out_topic> all;
  try {
    all = parse_slower(text);
  } catch (const failure& e) {
    const std::string_view said = e.what();
    require(said.find("line ") != said.npos && said.find("delete the file") != said.npos,
            "a problem without a place or a way out");
    return 0;
  }
  const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  require(all.size() == ends + (!text.empty() && !text.ends_with('\n') ? 1 : 0),
          "not a topic for each line");
  std::string again;
  for (const left_out_topic& t : all) {
    require(t.reason.find_first_of("\t\n") == t.reason.npos, "a reason of two fields");
    again += detail::hex(t.hash) + '\t' + t.reason + "\tname\n";
  }
  const std::vector<left_out_topic> back = parse_slower(again);
  const auto same = [](const left_out_topic& a, const left_out_topic& b) {
    return a.hash == b.hash && a.reason == b.reason;
  };
  require(std::ranges::equal(all, back, same), "topics written out and read again are others");

  profile_data profile;
  profile.compiler = "clang 19";
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint64_t hash = i == 0 && !all.empty() ? all.front().hash : 0x22;
    profile.topics.push_back({hash, 100, 0, false, "t", {}});
    profile.handlers.push_back({0xa0 + i, 0, 100, 0, "&f"});
    profile.topics[i].sequences = {{100, {i}}};
  }
  for (const plan_topic& t : make_plan(profile, {.left_out = all, .compiler = {}}).topics)
    for (const left_out_topic& out : all)
      require(profile.topics[t.topic].hash != out.hash, "a topic that was left out is merged");
  return 0;
}
