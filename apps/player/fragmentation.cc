// SPDX-License-Identifier: MIT
// Cuts messages into segments; smaller ones while much is lost, because a lost one then costs less.
#include <algorithm>

#include "endpoint.hh"

namespace player {
namespace {

class fragmentation final : public micro_protocol {
 public:
  explicit fragmentation(endpoint& e) : here_(e), segment_bytes_(e.options.segment_bytes) {
    e.bus.bind<message_from_user, &fragmentation::cut>(this, 50);
    e.bus.bind<adapt, &fragmentation::resize>(this, 20);
  }

 private:
  void cut(const message& m) {
    const std::size_t total = m.bytes.size();
    std::size_t at = 0;
    do {  // a message without bytes is one segment without payload
      const std::size_t size = std::min<std::size_t>(segment_bytes_, total - at);
      const kept s = here_.segments.make();
      s->last = m.last;
      s->frame = m.number;
      s->offset = static_cast<std::uint32_t>(at);
      s->total = static_cast<std::uint32_t>(total);
      s->payload = m.bytes.subspan(at, size);
      at += size;
      here_.bus.raise<segment_from_user>(*s);
    } while (at < total);
  }

  void resize(const network_report& r) {
    const std::uint32_t full = here_.options.segment_bytes;
    segment_bytes_ = r.loss > 0.2 ? std::max(full / 2, 64u) : full;
  }

  endpoint& here_;
  std::uint32_t segment_bytes_;
};

}  // namespace

part make_fragmentation(endpoint& e) { return std::make_unique<fragmentation>(e); }

}  // namespace player
