// SPDX-License-Identifier: MIT
// Decides whether received bytes stay in the driver's block or are copied.
#include "web/http1_input.hh"

namespace heddle::http {

/// Holds the bytes of a block until the next part. A slow client may hold memory of its own, but
/// not the blocks that all connections share.
std::string_view http1_input::hold(received& slot, received&& in, std::string& copy) {
  if (in.empty()) [[unlikely]]
    return {};
  if (!in.on_loan()) [[unlikely]] {  // the driver had no block left and copied the bytes
    ++shared_.counters.block_copies;
    slot = std::move(in);
    return slot.text();
  }
  if (shared_.blocks_held < shared_.blocks_max) [[likely]] {
    ++shared_.blocks_held;
    slot = std::move(in);
    return slot.text();
  }
  ++shared_.counters.block_copies;
  copy.assign(in.text());
  in.release();
  return copy;
}

void http1_input::keep_partial_head() {
  if (!head_copy_.empty() && rest.data() == head_copy_.data()) return;
  std::string kept(rest);
  head_copy_ = std::move(kept);
  rest = head_copy_;
  drop_blocks();
  body_copy_.clear();
}

void http1_input::append(const received& in) {
  head_copy_.append(in.text());
  rest = head_copy_;
}

}  // namespace heddle::http
