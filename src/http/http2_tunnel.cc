// SPDX-License-Identifier: MIT
// The layer between a tunnel and the stream that its users see.
#include "heddle/http/detail/http2_tunnel.hh"

#include <utility>

#include "heddle/io/layer.hh"

namespace heddle::http {
namespace {

class tunnel_layer final : public stream_layer {
 public:
  explicit tunnel_layer(std::shared_ptr<http2_tunnel> of) noexcept : tunnel_(std::move(of)) {}

  task<received> pull() override {
    const std::string_view bytes = co_await tunnel_->read();
    co_return bytes.empty() ? received() : received::copy_of(bytes);
  }
  task<> push(chain out) override {
    if (out.empty()) {
      co_await tunnel_->writable();
      co_return;
    }
    try {
      for (std::size_t i = 0; i < out.piece_count(); ++i)
        co_await tunnel_->write(out.piece_at(i).bytes().text());
    } catch (...) {
      reset_ = true;  // a part may have left, which the peer must not take for the whole
      throw;
    }
  }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    sent_now sent;
    try {
      if (!head.empty()) sent.bytes = tunnel_->write_now(head.text());
      if (sent.bytes == head.size() && !body.empty())
        sent.bytes += tunnel_->write_now(body.bytes().text());
    } catch (const std::bad_alloc&) {
      // The bytes before are on their way.
    }
    return sent;
  }
  void end_pushing() noexcept override {
    if (!reset_) tunnel_->end();
  }
  [[nodiscard]] address peer() const noexcept override { return tunnel_->peer(); }
  void reset_on_close() noexcept override { reset_ = true; }
  void close() noexcept override { std::exchange(tunnel_, nullptr)->close(reset_); }

 private:
  std::shared_ptr<http2_tunnel> tunnel_;
  bool reset_ = false;
};

}  // namespace

stream make_http2_stream(std::shared_ptr<http2_tunnel> tunnel) {
  return make_stream(std::make_unique<tunnel_layer>(std::move(tunnel)));
}

}  // namespace heddle::http
