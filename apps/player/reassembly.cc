// SPDX-License-Identifier: MIT
// Puts frames together from their segments, in whatever order those come. Frames too far ahead of
// what is shown are not kept.
#include <algorithm>
#include <map>

#include "endpoint.hh"

namespace player {
namespace {

class reassembly final : public micro_protocol {
 public:
  explicit reassembly(endpoint& e) : here_(e) {
    e.bus.bind<segment_to_user, &reassembly::place>(this, 50);
    e.bus.bind<frame_shown, &reassembly::forget>(this, 90);
    e.bus.bind<session_closed, &reassembly::stop>(this, 20);
  }

 private:
  struct partial {
    std::vector<std::byte> bytes;
    std::size_t missing = 0;
  };

  void place(segment& s) {
    if (s.frame < first_ || s.frame - first_ >= here_.options.frames_ahead_max ||
        s.total > here_.options.frame_bytes_max)
      return;
    auto [at, made] = frames_.try_emplace(s.frame);
    partial& f = at->second;
    if (made) {
      f.bytes.resize(s.total);
      f.missing = s.total;
    }
    if (f.bytes.size() != s.total || s.payload.size() > f.missing) return;  // of another frame
    std::ranges::copy(s.payload, f.bytes.begin() + s.offset);
    f.missing -= s.payload.size();
    if (f.missing > 0) return;
    whole_message m{.number = s.frame, .last = s.last, .bytes = std::move(f.bytes)};
    frames_.erase(at);
    here_.bus.raise<message_to_user>(m);
  }

  void forget(const shown_frame& f) {
    first_ = f.number + 1;
    frames_.erase(frames_.begin(), frames_.lower_bound(first_));
  }

  void stop() { frames_.clear(); }

  endpoint& here_;
  std::uint32_t first_ = 0;  // the next frame that is shown
  std::map<std::uint32_t, partial> frames_;
};

}  // namespace

part make_reassembly(endpoint& e) { return std::make_unique<reassembly>(e); }

}  // namespace player
