// SPDX-License-Identifier: MIT
// Records a profile, a trace or both, in any build. If one is wanted, a topic's raises see a single
// handler instead of the bound ones; it runs the bound ones and records them. So raises need no
// test, and cost nothing extra without a recorder.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "heddle/bus/detail/dispatch.hh"
#include "heddle/bus/detail/trace_writer.hh"
#include "heddle/bus/profile.hh"

namespace heddle::detail {

/// The recorder of one bus. Thread: the bus's.
class recorder {
 public:
  /// Null: no trace.
  explicit recorder(std::unique_ptr<trace_writer> trace) noexcept : trace_(std::move(trace)) {}
  /// Makes a profile, too. Throws failure if it cannot be written to this file.
  void profile_into(const std::string& path);
  [[nodiscard]] bool records() const noexcept { return trace_ != nullptr || !path_.empty(); }
  /// Adds the recorded counts to the profile's file, or the last lines to the trace's.
  void finish_profile();
  void finish_trace();

  /// The data to record for a topic's bindings; rebuilt after the bindings change.
  struct topic_notes {
    std::uint32_t topic = profile_edge::none;
    bool current = false;
    std::size_t sequence = 0;  // index in the topic's sequences; beyond them: not recorded
    std::vector<std::uint32_t> handlers;
  };

  /// The time at which a raise or a handler begins or ends.
  using moment = std::chrono::steady_clock::time_point;
  struct place {
    std::uint32_t topic = profile_edge::none;    // `none` if the topic is beyond the limits
    std::uint32_t handler = profile_edge::none;  // `none` if the handler is beyond the limits
    bool in_handler = false;
    [[nodiscard]] bool kept() const noexcept {
      return !in_handler || (topic != profile_edge::none && handler != profile_edge::none);
    }
  };
  // Called when a raise or a handler begins and when it ends.
  topic_notes& begin_raise(const topic_record& r);
  void end_raise(const topic_notes& notes, const place& outer, moment began);
  void begin_handler(const topic_notes& notes, std::size_t index) noexcept {
    here_ = {notes.topic, notes.handlers[index], true};
  }
  void end_handler(const topic_notes& notes, std::size_t index, moment began, moment ended);
  void asked_for(const topic_record& r, nanoseconds span);
  void forget_bindings(const topic_record& r);
  void bound(const topic_record& r, const slot_info& info) { trace_binding(r, info, true); }
  void unbound(const topic_record& r, const slot_info& info) { trace_binding(r, info, false); }

  [[nodiscard]] place here() const noexcept { return here_; }
  [[nodiscard]] const profile_data& data() const noexcept { return data_; }

 private:
  std::uint32_t number_of(const topic_record& r);
  std::uint32_t number_of(const handler_info& h);
  void bring_up_to_date(topic_notes& notes, const topic_record& r);
  void count_edge(edge_kind kind, place from, std::uint32_t to);
  void trace_binding(const topic_record& r, const slot_info& info, bool bound);
  [[nodiscard]] std::string handler_word(std::uint32_t number) const;
  [[nodiscard]] std::string caller() const;

  std::string path_;
  std::unique_ptr<trace_writer> trace_;
  profile_data data_;
  profile_limits limits_;
  place here_;
  std::uint32_t last_raised_ = profile_edge::none;
  std::unordered_map<const topic_record*, topic_notes> notes_;
  std::map<std::uint64_t, std::uint32_t> topic_numbers_;
  struct known_handler {
    const handler_info* info;
    std::uint32_t number;
  };
  std::map<std::pair<std::uint64_t, int>, known_handler> handler_numbers_;
  /// By handler: the number of earlier ones with its name. GCC names all lambdas of a function
  /// alike, so a name alone does not tell which handler a trace means.
  std::vector<std::uint32_t> namesakes_;
  std::map<std::tuple<edge_kind, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t>
      edge_numbers_;
};

/// One raise while it is recorded.
class recorded_raise {
 public:
  explicit recorded_raise(topic_record& r);
  recorded_raise(const recorded_raise&) = delete;
  recorded_raise& operator=(const recorded_raise&) = delete;
  ~recorded_raise();

  void before(std::size_t index) noexcept { to_.begin_handler(notes_, index); }
  void after(std::size_t index);

 private:
  recorder& to_;
  recorder::place outer_;
  recorder::topic_notes& notes_;
  recorder::moment began_;
  recorder::moment last_;
};

/// The single handler of a topic while a profile is recorded.
template <class R, class... Args>
R run_recorded(void* self, pass_t<Args>... args) {
  auto& r = *static_cast<topic_record*>(self);
  recorded_raise raise(r);
  flow answer = flow::go_on;
  for (std::size_t i = 0; i < r.bound.size() && answer == flow::go_on; ++i) {
    if (r.infos[i].serial == 0) continue;  // unbound in this raise
    raise.before(i);
    answer = run_binding<R, Args...>(r, i, static_cast<pass_t<Args>>(args)...);
    raise.after(i);
  }
  if constexpr (!std::is_void_v<R>) return answer;
}

}  // namespace heddle::detail
