// SPDX-License-Identifier: MIT
// Finds a topic's record. The low bits of the topic's hash index a table, which grows until no two
// topics share an entry, so that a raise reads one entry. If 16 entries a topic do not suffice,
// topics without an entry are found by a search.
#include "heddle/bus/bus.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace heddle {

namespace {

const char* variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

/// HEDDLE_BUS_GENERIC: hashes of topics with commas between, or "all". With it `heddle optimize`
/// measures what merging gains. Other words are reported, and name no topic.
void read_generic(detail::merged_memory& m) {
  const char* const text = variable("HEDDLE_BUS_GENERIC");
  if (text == nullptr) return;
  m.all_generic = std::string_view(text) == "all";
  if (m.all_generic) return;
  for (const char* at = text;; ++at) {
    char* end = nullptr;
    const std::uint64_t hash = std::strtoull(at, &end, 16);
    if (end != at && (*end == ',' || *end == '\0')) {
      m.generic.push_back(hash);
      if (*end == '\0') return;
      at = end;
      continue;
    }
    [[maybe_unused]] static const int said = std::fprintf(
        stderr,
        "heddle: HEDDLE_BUS_GENERIC is '%s': it may be \"all\", or hashes of topics in "
        "hexadecimal with commas between; the rest is ignored\n",
        text);
    return;
  }
}

/// A recorder for the files that bus_options and the environment name, or none. A file that a
/// variable names is the user's choice; an error there costs what would be recorded, but must not
/// stop the program. It is reported once, not for each bus.
std::unique_ptr<detail::recorder> recorder_for(const bus_options& o) {
  std::unique_ptr<detail::trace_writer> trace;
  if (!o.trace.empty()) {
    trace = std::make_unique<detail::trace_writer>(o.trace, o.trace_bytes_max);
  } else if (const char* const path = variable("HEDDLE_BUS_TRACE")) {
    try {
      trace = std::make_unique<detail::trace_writer>(path, o.trace_bytes_max);
    } catch (const std::exception& e) {
      [[maybe_unused]] static const int said =
          std::fprintf(stderr, "heddle: no trace of this run: %s\n", e.what());
    }
  }
  auto made = std::make_unique<detail::recorder>(std::move(trace));
  if (!o.profile.empty()) {
    made->profile_into(o.profile);
  } else if (const char* const path = variable("HEDDLE_PROFILE")) {
    try {
      made->profile_into(path);
    } catch (const std::exception& e) {
      [[maybe_unused]] static const int said =
          std::fprintf(stderr, "heddle: no profile of this run: %s\n", e.what());
    }
  }
  return made->records() ? std::move(made) : nullptr;
}

}  // namespace

bus::bus(bus_options options)
    : entries_(1),
      self_(std::make_shared<detail::bus_address>(this)),
      home_(worker::current() == nullptr ? nullptr : &worker::current()->sched),
      home_color_(worker::current() == nullptr ? 0 : worker::current()->color),
      options_(std::move(options)) {
  table_ = entries_.data();
  recorder_ = recorder_for(options_);
}

bus::~bus() {
  HEDDLE_ASSERT(!in_raise(), "a bus ends inside one of its own raises; end it from a task");
  self_->at = nullptr;
  for (const auto& r : records_)
    while (!r->waiters.empty()) r->waiters.front().closed(r->waiters.front());
  // The destructors of closures and arguments may bind and post.
  do {
    unbind_everything();
    while (detail::delivery* d = delivered_later_.pop_front()) d->cancel();
  } while (handler_count_ != 0);
  if (recorder_ == nullptr) return;
  // The program has done its work; only the record is lost.
  try {
    recorder_->finish_profile();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "heddle: the profile of this run is lost\n  %s\n", e.what());
  }
  try {
    recorder_->finish_trace();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "heddle: the end of the trace of this run is lost\n  %s\n", e.what());
  }
}

detail::topic_record* bus::look_up(const detail::topic_info& topic) const noexcept {
  const entry& e = table_[topic.hash & table_mask_];
  if (e.key == &topic) return e.record;
  for (const auto& r : records_)
    if (r->topic == &topic) return r.get();
  return nullptr;
}

detail::topic_record& bus::find_slow(detail::topic_info& topic) noexcept {
  detail::topic_record* const found = look_up(topic);
  return found != nullptr ? *found : without_handlers_;
}

detail::topic_record& bus::obtain(detail::topic_info& topic, detail::make_topic_calls calls) {
  const detail::topic_calls known = calls();
  take_plan(known.variants);
  if (detail::topic_record* const found = look_up(topic)) {
    // A part of the program built without the plan may have bound first.
    if (found->calls.variants.count == 0) found->calls.variants = known.variants;
    return *found;
  }
  auto made = std::make_unique<detail::topic_record>();
  made->topic = &topic;
  made->owner = this;
  made->calls = known;
  made->recording = recorder_.get();
  made->whole.self = made.get();
  records_.push_back(std::move(made));
  rebuild_table();
  return *records_.back();
}

void bus::take_plan(const detail::variant_table& table) {
  if (table.count == 0 || merged_.plan != nullptr) return;  // the first plan is the bus's plan
  const bool is_near = table.size.chains <= detail::merged_block::near_chains &&
                       table.size.objects <= detail::merged_block::near_objects;
  merged_memory_.chains.resize(table.size.chains);
  merged_memory_.topics.resize(table.size.topics);
  read_generic(merged_memory_);
  if (!is_near) {
    merged_memory_.far_states.resize(table.size.chains);
    merged_memory_.far_objects.resize(table.size.objects);
  }
  merged_.states = is_near ? merged_.near_states : merged_memory_.far_states.data();
  merged_.objects = is_near ? merged_.near_objects_of : merged_memory_.far_objects.data();
  merged_.topics = merged_memory_.topics.data();
  merged_.plan = table.plan;
}

void bus::rebuild_table() {
  std::size_t size = std::bit_ceil(2 * records_.size());
  for (const std::size_t most = 16 * size;; size *= 2) {
    std::vector<entry> entries(size);
    bool clash = false;
    for (const auto& r : records_) {
      entry& e = entries[r->topic->hash & (size - 1)];
      clash = clash || e.key != nullptr;
      if (e.key == nullptr) e = {r->topic, r.get()};
    }
    if (clash && size < most) continue;
    entries_ = std::move(entries);
    table_ = entries_.data();
    table_mask_ = size - 1;
    return;
  }
}

std::size_t bus::count_handlers(const detail::topic_info& topic) const noexcept {
  const detail::topic_record* const r = look_up(topic);
  if (r == nullptr) return 0;
  const auto counts = [](const detail::slot_info& info) {
    return info.serial != 0 && info.kind == detail::slot_kind::handler;
  };
  const auto bound = std::ranges::count_if(r->infos, counts);
  const auto waiting = std::ranges::count_if(
      pending_, [&](const pending_bind& p) { return p.record == r && counts(p.info); });
  return static_cast<std::size_t>(bound + waiting);
}

std::size_t bus::count_merged(const detail::topic_info& topic) const noexcept {
  const detail::topic_record* const r = look_up(topic);
  if (r == nullptr || r->active == nullptr) return 0;
  const bool whole =
      merged_memory_.chains[r->calls.variants.chain].idle != detail::chain_state::differs;
  return whole ? r->active->len : 0;
}

}  // namespace heddle
