// SPDX-License-Identifier: MIT
// Recording a profile, in any build: where one is wanted, a topic's raises see a single handler
// instead of the bound ones, and that one runs them with the recorder looking on. So a raise tests
// nothing for it, and costs nothing where no profile is made.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "heddle/bus/dispatch.hh"
#include "heddle/bus/profile.hh"

namespace heddle::detail {

/// One a bus. Thread: the bus's.
class recorder {
 public:
  /// Throws failure when a profile cannot be kept in this file.
  explicit recorder(const std::string& path);
  /// Adds what was recorded to the file.
  void finish();

  /// What is recorded of a topic's bindings; made anew after they have changed.
  struct topic_notes {
    std::uint32_t topic = profile_edge::none;
    bool current = false;
    std::size_t sequence = 0;  // of the topic's; beyond its end: not kept
    std::vector<std::uint32_t> handlers;
  };

  /// A raise begins, a handler returns, a raise ends.
  using moment = std::chrono::steady_clock::time_point;
  struct place {
    std::uint32_t topic = profile_edge::none;    // none beyond the limits, too
    std::uint32_t handler = profile_edge::none;  // likewise
    bool in_handler = false;
    [[nodiscard]] bool kept() const noexcept {
      return !in_handler || (topic != profile_edge::none && handler != profile_edge::none);
    }
  };
  topic_notes& begin_raise(const topic_record& r);
  void end_raise(const topic_notes& notes, const place& outer, moment began);
  void begin_handler(const topic_notes& notes, std::size_t index) noexcept {
    here_ = {notes.topic, notes.handlers[index], true};
  }
  void end_handler(const topic_notes& notes, std::size_t index, moment began, moment ended);
  void asked_for(const topic_record& r);
  void forget_bindings(const topic_record& r);

  [[nodiscard]] place here() const noexcept { return here_; }
  [[nodiscard]] const profile_data& data() const noexcept { return data_; }

 private:
  std::uint32_t number_of(const topic_record& r);
  std::uint32_t number_of(const handler_info& h);
  void bring_up_to_date(topic_notes& notes, const topic_record& r);
  void count_edge(edge_kind kind, place from, std::uint32_t to);

  std::string path_;
  profile_data data_;
  profile_limits limits_;
  place here_;
  std::uint32_t last_raised_ = profile_edge::none;
  std::unordered_map<const topic_record*, topic_notes> notes_;
  std::map<std::uint64_t, std::uint32_t> topic_numbers_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> handler_numbers_;
  std::map<std::tuple<edge_kind, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t>
      edge_numbers_;
};

/// One raise that is recorded.
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

/// What a topic's raises run while a profile is made.
template <class R, class... Args>
R run_recorded(void* self, pass_t<Args>... args) {
  auto& r = *static_cast<topic_record*>(self);
  recorded_raise raise(r);
  for (std::size_t i = 0; i < r.bound.size(); ++i) {
    if (r.infos[i].serial == 0) continue;  // unbound in this raise
    raise.before(i);
    if constexpr (std::is_void_v<R>) {
      call_slot<R, Args...>(r.bound[i], static_cast<pass_t<Args>>(args)...);
      raise.after(i);
    } else {
      const R answer = call_slot<R, Args...>(r.bound[i], static_cast<pass_t<Args>>(args)...);
      raise.after(i);
      if (answer == flow::halt) return answer;
    }
  }
  if constexpr (!std::is_void_v<R>) return flow::go_on;
}

}  // namespace heddle::detail
