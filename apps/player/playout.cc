// SPDX-License-Identifier: MIT
// Shows frames in order, each at its time: so long after the first one came as its place in the
// video says, and a buffer's length more. A frame that is missing then is waited for where the
// transport sends again, and skipped otherwise.
#include <map>

#include "endpoint.hh"

namespace player {
namespace {

class playout final : public micro_protocol {
 public:
  explicit playout(endpoint& e) : here_(e) {
    e.bus.bind<message_to_user, &playout::keep>(this, 50);
    e.bus.bind<play_clock, &playout::show_due>(this, 50);
    e.bus.bind<control_clock, &playout::notice_silence>(this, 80);
    e.bus.bind<session_closed, &playout::stop>(this, 10);
  }

 private:
  struct ready {
    std::vector<std::byte> bytes;
    heddle::time_point since;
    bool last;
  };

  void keep(whole_message& m) {
    const heddle::time_point now = heddle::clock::now();
    if (!started_) {
      started_ = true;
      interval_ = std::chrono::nanoseconds(std::chrono::seconds(1)) / here_.options.frames_per_s;
      due_ = now + here_.options.buffer;
      next_clock_ = here_.after<play_clock>(here_.options.buffer);
    }
    if (m.number < next_) return;
    frames_.try_emplace(m.number, std::move(m.bytes), now, m.last);
  }

  void show_due() {
    const heddle::time_point now = heddle::clock::now();
    while (due_ <= now) {
      const auto at = frames_.find(next_);
      if (at == frames_.end()) {
        const bool may_come = here_.sends_again && !here_.peer_ended;
        if (may_come && now - due_ < here_.options.patience) {
          next_clock_ = here_.after<play_clock>(interval_);
          return;
        }
        if (frames_.empty()) {
          if (!here_.peer_ended) break;  // the sender may pause
          here_.post<session_closed>();
          return;
        }
        skip();
        continue;
      }
      const ready frame = std::move(at->second);
      frames_.erase(at);
      if (frame.since > due_) ++here_.count.frames_late;
      here_.bus.raise<frame_shown>(shown_frame{next_, frame.last, false, frame.bytes});
      step();
      if (frame.last) {
        here_.post<session_closed>();
        return;
      }
    }
    next_clock_ = here_.after<play_clock>(std::max(due_ - now, interval_ / 4));
  }

  void skip() {
    ++here_.count.frames_lost;
    here_.bus.raise<frame_shown>(shown_frame{next_, false, true, {}});
    step();
  }

  void step() {
    ++next_;
    due_ += interval_;
  }

  void notice_silence() {
    if (here_.count.segments > 0) return;  // who sends need not hear anything
    const heddle::time_point now = heddle::clock::now();
    if (here_.count.received != received_ || heard_at_ == heddle::time_point()) {
      received_ = here_.count.received;
      heard_at_ = now;
    } else if (now - heard_at_ > here_.options.silence_max) {
      here_.post<session_closed>();
      heard_at_ = heddle::never;  // once
    }
  }

  void stop() {
    next_clock_.cancel();
    frames_.clear();
  }

  endpoint& here_;
  bool started_ = false;
  std::uint32_t next_ = 0;  // the frame to show
  heddle::time_point due_;  // and when
  heddle::nanoseconds interval_{};
  heddle::delayed next_clock_;
  std::uint64_t received_ = 0;
  heddle::time_point heard_at_;
  std::map<std::uint32_t, ready> frames_;
};

}  // namespace

part make_playout(endpoint& e) { return std::make_unique<playout>(e); }

}  // namespace player
