// SPDX-License-Identifier: MIT
// The sender's user: cuts the file into frames and sends one at each tick of the frame clock. It
// sends smaller frames while much is lost, and none while the transport holds too much back.
#include <algorithm>

#include "endpoint.hh"

namespace player {
namespace {

class source final : public micro_protocol {
 public:
  source(endpoint& e, std::span<const std::byte> file)
      : here_(e), file_(file), frame_bytes_(e.options.frame_bytes) {
    e.bus.bind<session_opened, &source::start>(this, 50);
    e.bus.bind<frame_clock, &source::send_frame>(this, 10);
    e.bus.bind<frame_clock, &source::plan_next>(this, 90);
    e.bus.bind<adapt, &source::resize>(this, 50);
    e.bus.bind<session_closed, &source::stop>(this, 90);
  }

 private:
  void start() {
    interval_ = std::chrono::nanoseconds(std::chrono::seconds(1)) / here_.options.frames_per_s;
    due_ = heddle::clock::now();
    here_.post<frame_clock>();
  }

  void send_frame() {
    if (sent_all_ || here_.held > here_.options.held_max / 2) return;
    const std::size_t size = std::min<std::size_t>(frame_bytes_, file_.size() - at_);
    const message m{
        .number = number_++, .last = at_ + size == file_.size(), .bytes = file_.subspan(at_, size)};
    at_ += size;
    sent_all_ = m.last;
    ++here_.count.frames;
    here_.count.bytes += size;
    here_.bus.raise<message_from_user>(m);
    if (sent_all_) sent_all_at_ = heddle::clock::now();
  }

  void plan_next() {
    const heddle::time_point now = heddle::clock::now();
    if (!sent_all_) {
      due_ += interval_;
      if (due_ < now - 8 * interval_) due_ = now;  // too far behind to catch up
      next_ = here_.after<frame_clock>(due_ - now);
      return;
    }
    // What may be missing on the other side is sent again first.
    if (here_.unacked + here_.held > 0 && now - sent_all_at_ < here_.options.silence_max) {
      next_ = here_.after<frame_clock>(here_.options.control_interval);
    } else {
      here_.post<session_closed>();
    }
  }

  void resize(const network_report& r) {
    const std::uint32_t full = here_.options.frame_bytes;
    if (r.loss > 0.2) {
      frame_bytes_ = std::max(frame_bytes_ / 2, std::max(full / 4, 64u));
    } else if (r.loss < 0.1) {
      frame_bytes_ = std::min(frame_bytes_ + full / 8, full);
    }
  }

  void stop() {
    next_.cancel();
    if (here_.closed.count() > 0) here_.closed.count_down();
  }

  endpoint& here_;
  std::span<const std::byte> file_;
  std::uint32_t frame_bytes_;
  std::uint32_t number_ = 0;
  std::size_t at_ = 0;
  bool sent_all_ = false;
  heddle::nanoseconds interval_{};
  heddle::time_point due_;
  heddle::time_point sent_all_at_;
  heddle::delayed next_;
};

}  // namespace

part make_source(endpoint& e, std::span<const std::byte> file) {
  return std::make_unique<source>(e, file);
}

}  // namespace player
