// SPDX-License-Identifier: MIT
// Counts recorded raises.
#include "heddle/bus/detail/recorder.hh"

#include <algorithm>
#include <filesystem>

namespace heddle::detail {

namespace {

std::uint64_t ns_between(recorder::moment from, recorder::moment to) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

std::string bounded(const char* name, const profile_limits& limits) {
  return std::string(std::string_view(name).substr(0, limits.name_len_max));
}

}  // namespace

void recorder::profile_into(const std::string& path) {
  const std::string whole =
      std::filesystem::absolute(path);  // the program may change its directory
  add_profile_to_file(whole, {});       // fails now, not at the program's end
  path_ = whole;
}

void recorder::finish_profile() {
  if (!path_.empty() && !data_.topics.empty()) add_profile_to_file(path_, data_);
}

void recorder::finish_trace() {
  if (trace_ != nullptr) trace_->finish();
}

std::string recorder::handler_word(std::uint32_t number) const {
  return trace_word(data_.handlers[number].name, namesakes_[number]);
}

/// The handler that runs now, as a line's end; empty outside of raises.
std::string recorder::caller() const {
  if (!here_.in_handler || !here_.kept()) return {};
  return " by " + handler_word(here_.handler) + " of " + trace_word(data_.topics[here_.topic].name);
}

void recorder::trace_binding(const topic_record& r, const slot_info& info, bool bound) {
  if (trace_ == nullptr) return;
  const std::uint32_t number = number_of(*info.handler);
  if (number == profile_edge::none) return;
  const std::string topic = bounded(r.topic->name, limits_);
  const std::string order = info.kind == slot_kind::waiters ? "last"
                            : info.kind == slot_kind::filter
                                ? std::to_string(info.order - slot_info::filter_order(0))
                                : std::to_string(info.order);
  if (bound) {
    trace_->bound(topic, r.topic->haltable, order, handler_word(number));
  } else {
    trace_->unbound(topic, order, handler_word(number));
  }
}

std::uint32_t recorder::number_of(const topic_record& r) {
  const auto known = topic_numbers_.find(r.topic->hash);
  if (known != topic_numbers_.end()) return known->second;
  if (data_.topics.size() >= limits_.topics_max) return profile_edge::none;
  const auto number = static_cast<std::uint32_t>(data_.topics.size());
  data_.topics.push_back(
      {r.topic->hash, 0, 0, r.topic->haltable, bounded(r.topic->name, limits_), {}});
  topic_numbers_.emplace(r.topic->hash, number);
  data_.compiler = r.calls.compiler;
  return number;
}

std::uint32_t recorder::number_of(const handler_info& h) {
  int occurrence = h.occurrence;
  const auto find = [&] { return handler_numbers_.find({h.hash, occurrence}); };
  for (auto known = find(); known != handler_numbers_.end(); known = find()) {
    if (known->second.info == &h) return known->second.number;
    // Two files that the compiler names alike have handlers of equal names, which no plan can
    // distinguish.
    occurrence = std::max(occurrence, profile_handler::confused - 1) + 1;
  }
  if (data_.handlers.size() >= limits_.handlers_max) return profile_edge::none;
  const auto number = static_cast<std::uint32_t>(data_.handlers.size());
  data_.handlers.push_back(
      {h.hash, static_cast<std::uint32_t>(occurrence), 0, 0, bounded(h.name, limits_)});
  const std::string& name = data_.handlers.back().name;
  namesakes_.push_back(static_cast<std::uint32_t>(std::ranges::count(
      data_.handlers.begin(), data_.handlers.end() - 1, name, &profile_handler::name)));
  handler_numbers_.emplace(std::pair(h.hash, occurrence), known_handler{&h, number});
  return number;
}

void recorder::bring_up_to_date(topic_notes& notes, const topic_record& r) {
  notes.current = true;
  notes.topic = number_of(r);
  notes.handlers.clear();
  for (const slot_info& info : r.infos) notes.handlers.push_back(number_of(*info.handler));
  notes.sequence = ~std::size_t{0};
  std::vector<std::uint32_t> bound;  // without those that were unbound in the raise in progress
  for (std::size_t i = 0; i < r.infos.size(); ++i)
    if (r.infos[i].serial != 0) bound.push_back(notes.handlers[i]);
  const bool whole = std::ranges::find(bound, profile_edge::none) == bound.end();
  if (notes.topic == profile_edge::none || !whole || bound.size() > limits_.sequence_len_max)
    return;
  auto& sequences = data_.topics[notes.topic].sequences;
  const auto known = std::ranges::find(sequences, bound, &profile_sequence::handlers);
  if (known == sequences.end() && sequences.size() >= limits_.sequences_max) return;
  notes.sequence = static_cast<std::size_t>(known - sequences.begin());
  if (known == sequences.end()) sequences.push_back({0, std::move(bound)});
}

void recorder::count_edge(edge_kind kind, place from, std::uint32_t to) {
  if (to == profile_edge::none || !from.kept()) {
    ++data_.dropped;
    return;
  }
  const auto key = std::tuple(kind, from.topic, from.handler, to);
  const auto known = edge_numbers_.find(key);
  if (known != edge_numbers_.end()) {
    ++data_.edges[known->second].count;
  } else if (data_.edges.size() >= limits_.edges_max) {
    ++data_.dropped;
  } else {
    edge_numbers_.emplace(key, data_.edges.size());
    data_.edges.push_back({kind, from.topic, from.handler, to, 1});
  }
}

recorder::topic_notes& recorder::begin_raise(const topic_record& r) {
  topic_notes& notes = notes_[&r];
  if (!notes.current) bring_up_to_date(notes, r);
  if (notes.topic == profile_edge::none) {
    ++data_.dropped;
    return notes;
  }
  if (trace_ != nullptr) trace_->raised(data_.topics[notes.topic].name, caller());
  ++data_.topics[notes.topic].raises;
  if (notes.sequence < data_.topics[notes.topic].sequences.size()) {
    ++data_.topics[notes.topic].sequences[notes.sequence].count;
  } else {
    ++data_.dropped;
  }
  if (here_.in_handler) count_edge(edge_kind::nested, here_, notes.topic);
  if (last_raised_ != profile_edge::none)
    count_edge(edge_kind::follows, {last_raised_, profile_edge::none}, notes.topic);
  last_raised_ = notes.topic;
  return notes;
}

void recorder::end_raise(const topic_notes& notes, const place& outer, moment began) {
  here_ = outer;
  if (notes.topic != profile_edge::none)
    data_.topics[notes.topic].ns += ns_between(began, std::chrono::steady_clock::now());
}

void recorder::end_handler(const topic_notes& notes, std::size_t index, moment began,
                           moment ended) {
  const std::uint32_t number = notes.handlers[index];
  if (number == profile_edge::none) return;
  ++data_.handlers[number].calls;
  data_.handlers[number].ns += ns_between(began, ended);
}

void recorder::asked_for(const topic_record& r, nanoseconds span) {
  const std::uint32_t topic = number_of(r);
  if (trace_ != nullptr && topic != profile_edge::none)
    trace_->requested(data_.topics[topic].name, span, caller());
  count_edge(edge_kind::posted, here_, topic);
}

void recorder::forget_bindings(const topic_record& r) {
  const auto known = notes_.find(&r);
  if (known != notes_.end()) known->second.current = false;
}

recorded_raise::recorded_raise(topic_record& r)
    : to_(*r.recording),
      outer_(to_.here()),
      notes_(to_.begin_raise(r)),
      began_(std::chrono::steady_clock::now()),
      last_(began_) {}

recorded_raise::~recorded_raise() { to_.end_raise(notes_, outer_, began_); }

void recorded_raise::after(std::size_t index) {
  const recorder::moment now = std::chrono::steady_clock::now();
  to_.end_handler(notes_, index, last_, now);
  last_ = now;
}

}  // namespace heddle::detail
