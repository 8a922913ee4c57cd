// SPDX-License-Identifier: MIT
// The layer that reads a connection's header of the PROXY protocol before its first bytes.
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/http/proxy_protocol.hh"
#include "heddle/io/layer.hh"
#include "heddle/io/stream_source.hh"

namespace heddle::http {
namespace {

class headed_layer final : public stream_layer {
 public:
  headed_layer(stream below, const proxy_protocol_options& options)
      : below_(std::move(below)),
        peer_(below_.peer()),
        due_(add_saturated(clock::now(), options.timeout)),
        bytes_max_(options.header_bytes_max) {}

  task<received> pull() override {
    if (read_) co_return co_await below_.receive();
    std::string bytes;
    proxy_header header;
    for (;;) {
      received in = co_await with_deadline(below_.receive(), due_);
      if (in.empty() && bytes.empty()) co_return in;  // the client has asked for nothing
      const std::size_t before = bytes.size();
      bytes += in.text();
      const proxy_header_state now = parse_proxy_header(bytes, header, bytes_max_);
      if (now == proxy_header_state::failed || in.empty())
        throw failure(std::make_error_code(std::errc::bad_message),
                      "the connection of " + peer_.to_string() +
                          " does not begin with a header of the PROXY protocol");
      if (now == proxy_header_state::need_more) continue;
      read_ = true;
      if (header.client) peer_ = header.client;
      if (header.size == bytes.size()) co_return co_await below_.receive();
      in.remove_prefix(header.size - before);
      co_return in;
    }
  }
  task<> push(chain out) override {
    sent_ = 0;
    if (out.empty()) {
      co_await below_.writable();
    } else {
      co_await below_.write(std::move(out), sent_);
    }
  }
  [[nodiscard]] std::size_t kept() const noexcept override { return sent_; }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    return below_.try_write(head, body);
  }
  task<bool> flush() override {
    co_await below_.write_some(byte_view());
    co_return !below_.flush_due();
  }
  void end_pushing() noexcept override {
    try {
      below_.shutdown_write();
    } catch (const std::system_error&) {
      // The peer is gone; the next read says so.
    }
  }
  [[nodiscard]] address peer() const noexcept override { return peer_; }
  [[nodiscard]] unread_input unread() const noexcept override {
    unread_input below = below_.unread();
    if (!read_) below.bytes.reset();  // the header is among them
    return below;
  }
  void end_with_last_write() noexcept override { below_.end_with_last_write(); }
  void reset_on_close() noexcept override { below_.reset_on_close(); }
  void cut() noexcept override { below_.cut(); }
  void close() noexcept override { below_.close(); }

 private:
  stream below_;
  address peer_;
  time_point due_;
  std::size_t bytes_max_;
  std::size_t sent_ = 0;  // bytes of the last push() that have left
  bool read_ = false;
};

class headed_source final : public stream_source {
 public:
  headed_source(listener over, proxy_protocol_options options)
      : door_(std::move(over)), options_(std::move(options)) {}

  task<stream> next() override {
    stream on = co_await door_.accept();
    const address peer = on.peer();
    for (const network& n : options_.trusted) {
      if (!n.contains(peer)) continue;
      auto layer = std::make_unique<headed_layer>(std::move(on), options_);
      co_return make_stream(std::move(layer));
    }
    co_return on;
  }
  void close() noexcept override { door_.close(); }

 private:
  listener door_;
  proxy_protocol_options options_;
};

}  // namespace

listener listen_for_proxies(listener over, proxy_protocol_options options) {
  return make_listener(std::make_unique<headed_source>(std::move(over), std::move(options)));
}

}  // namespace heddle::http
