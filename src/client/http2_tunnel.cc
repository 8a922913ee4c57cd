// SPDX-License-Identifier: MIT
// Bytes of a tunnel in both directions, within the windows of its stream.
#include "client/http2_tunnel.hh"

#include "heddle/core/expected.hh"

namespace heddle::http::detail {

void http2_client_tunnel::fail() const {
  if (stream_->trouble) throw failure(stream_->trouble->code, stream_->trouble->text);
  throw failure(std::make_error_code(std::errc::broken_pipe), "the server takes no more");
}

task<std::string_view> http2_client_tunnel::read() {
  while (stream_->arrived.empty() && !stream_->is_over()) co_await stream_->news.wait();
  if (stream_->arrived.empty() && stream_->trouble) fail();
  stream_->part.clear();
  std::swap(stream_->part, stream_->arrived);
  link_->give_back(*stream_, stream_->part.size());
  co_return stream_->part;
}

task<> http2_client_tunnel::write(std::string_view bytes) {
  const bool sent = co_await link_->send(*stream_, bytes, false);
  if (!sent) fail();
}

std::size_t http2_client_tunnel::write_now(std::string_view bytes) {
  const std::size_t before = bytes.size();
  static_cast<void>(link_->send_now(*stream_, bytes, false));
  return before - bytes.size();
}

void http2_client_tunnel::end() noexcept {
  std::string_view nothing;
  static_cast<void>(link_->send_now(*stream_, nothing, true));
}

void http2_client_tunnel::close(bool reset) noexcept {
  if (std::exchange(closed_, true)) return;
  if (!reset) end();
  link_->release(*stream_);
}

}  // namespace heddle::http::detail
