// SPDX-License-Identifier: MIT
// The receiver's user: what it is shown it counts and adds to a digest, so that a test can tell
// whether the video arrived whole.
#include "digest.hh"
#include "endpoint.hh"

namespace player {
namespace {

class display final : public micro_protocol {
 public:
  explicit display(endpoint& e) : here_(e) {
    e.bus.bind<frame_shown, &display::show>(this, 50);
    e.bus.bind<session_closed, &display::stop>(this, 90);
  }

 private:
  void show(const shown_frame& f) {
    if (f.lost) return;
    ++here_.count.frames;
    here_.count.bytes += f.bytes.size();
    here_.count.digest = digest_of(f.bytes, here_.count.digest);
  }

  void stop() {
    if (here_.closed.count() > 0) here_.closed.count_down();
  }

  endpoint& here_;
};

}  // namespace

part make_display(endpoint& e) { return std::make_unique<display>(e); }

}  // namespace player
