// SPDX-License-Identifier: MIT
// The models of models.hh: the answers of each object in each state, and its operations as text.
#include "heddle/sim/models.hh"

#include <algorithm>
#include <ranges>

namespace heddle::sim {

namespace {

std::string shown_value(const std::string& text) {
  constexpr std::size_t shown_max = 40;
  if (text.size() <= shown_max) return '"' + text + '"';
  return '"' + text.substr(0, shown_max) + "...\" (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

std::optional<cell::state> cell::step(const state& before, const input& asked, const output* got) {
  switch (asked.what) {
    case verb::get:
      if (got != nullptr && got->value != before) return std::nullopt;
      return before;
    case verb::put:
      if (got != nullptr && !got->done) return std::nullopt;
      return asked.value;
    case verb::put_if:
      if (got != nullptr && got->done != (before == asked.expected)) return std::nullopt;
      return before == asked.expected ? asked.value : before;
  }
  return std::nullopt;
}

std::string cell::text(const input& asked, const output* got) {
  const bool failed = got != nullptr && !got->done;
  switch (asked.what) {
    case verb::get:
      return got == nullptr ? "get" : "get: " + shown_value(got->value);
    case verb::put:
      return "put " + shown_value(asked.value) +
             (got == nullptr ? ""
              : failed       ? ": not done"
                             : ": done");
    case verb::put_if:
      return "put " + shown_value(asked.value) + " if it is " + shown_value(asked.expected) +
             (got == nullptr ? ""
              : failed       ? ": it is another"
                             : ": done");
  }
  return "";
}

std::optional<growing_list::state> growing_list::step(const state& before, const input& asked,
                                                      const output* got) {
  if (asked.item.empty()) {
    if (got != nullptr && got->items != before) return std::nullopt;
    return before;
  }
  if (got != nullptr && got->length && *got->length != before.size() + 1) return std::nullopt;
  state after = before;
  after.push_back(asked.item);
  return after;
}

bool growing_list::may_follow(const state& now, const input& asked, const output& got) {
  if (!asked.item.empty()) return !got.length || *got.length > now.size();
  return now.size() <= got.items.size() &&
         std::ranges::equal(now, got.items | std::views::take(now.size()));
}

std::string growing_list::text(const input& asked, const output* got) {
  if (!asked.item.empty()) {
    std::string all = "add " + shown_value(asked.item);
    if (got == nullptr) return all;
    return all + (got->length ? ": length " + std::to_string(*got->length) : ": done");
  }
  if (got == nullptr) return "get";
  std::string all = "get:";
  for (const std::string& item : got->items) all += ' ' + item;
  return got->items.empty() ? "get: nothing" : all;
}

std::optional<fenced_lock::state> fenced_lock::step(const state& before, const input& asked,
                                                    const output* got) {
  if (asked.number == 0) {
    // Without an answer, the number is not known until a use shows it.
    if (got == nullptr || !got->done) return before;
    if (got->number <= before.given) return std::nullopt;
    return state{got->number, before.used};
  }
  const bool passes = asked.number >= before.used;
  if (got != nullptr && got->done != passes) return std::nullopt;
  if (!passes) return before;
  return state{std::max(before.given, asked.number), asked.number};
}

std::string fenced_lock::text(const input& asked, const output* got) {
  const std::string all = asked.number == 0 ? "acquire" : "use " + std::to_string(asked.number);
  if (got == nullptr) return all;
  if (!got->done) return all + ": refused";
  return asked.number == 0 ? all + ": " + std::to_string(got->number) : all + ": done";
}

}  // namespace heddle::sim
