// SPDX-License-Identifier: MIT
// The layer and the source that users get as a stream and as a listener.
#include "heddle/tls/stream.hh"

#include "heddle/core/expected.hh"
#include "heddle/io/layer.hh"
#include "heddle/io/stream_source.hh"
#include "tls/connection.hh"

namespace heddle::tls {
namespace {

using detail::connection;

class tls_layer final : public stream_layer {
 public:
  explicit tls_layer(std::shared_ptr<connection> c) noexcept : connection_(std::move(c)) {}

  task<received> pull() override { return connection_->pull(); }
  stream* waits_for() noexcept override { return connection_->waits_for(); }
  task<> push(chain out) override { return connection_->push(std::move(out)); }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    return connection_->try_push(head, body);
  }
  task<bool> flush() override { return connection_->flush_some(); }
  [[nodiscard]] std::size_t kept() const noexcept override { return connection_->kept(); }
  void end_pushing() noexcept override { connection_->end(false); }
  [[nodiscard]] address peer() const noexcept override { return connection_->below().peer(); }
  /// The number of bytes is unknown: some are opened and some are not.
  [[nodiscard]] unread_input unread() const noexcept override {
    const unread_input below = connection_->below().unread();
    return {.ended = below.ended, .over = below.over};
  }
  [[nodiscard]] std::string_view application_protocol() const noexcept override {
    return connection_->alpn();
  }
  void end_with_last_write() noexcept override { connection_->below().end_with_last_write(); }
  void reset_on_close() noexcept override { connection_->reset_on_close(); }
  void cut() noexcept override { connection_->cut(); }
  void close() noexcept override { connection_->end(true); }

  [[nodiscard]] session agreed() const { return connection_->agreed(); }

 private:
  std::shared_ptr<connection> connection_;
};

class tls_source final : public stream_source {
 public:
  tls_source(listener over, server_context site)
      : door_(std::move(over)),
        site_(std::move(site)),
        turns_(std::make_shared<detail::handshake_turns>(
            static_cast<std::uint32_t>(site_.options().handshakes_max))) {}

  task<stream> next() override {
    stream raw = co_await door_.accept();
    auto made = std::make_shared<connection>(std::move(raw), site_.state(), turns_);
    co_return make_stream(std::make_unique<tls_layer>(std::move(made)));
  }
  void close() noexcept override { door_.close(); }

 private:
  listener door_;
  server_context site_;
  std::shared_ptr<detail::handshake_turns> turns_;
};

/// The stream, after its handshake. A failure closes the stream below.
task<stream> ready(std::shared_ptr<connection> c) {
  try {
    co_await c->handshake();
    co_return make_stream(std::make_unique<tls_layer>(c));
  } catch (...) {
    c->below().close();
    throw;
  }
}

}  // namespace

listener listen(listener over, server_context site) {
  return make_listener(std::make_unique<tls_source>(std::move(over), std::move(site)));
}

task<stream> accept(stream over, server_context site) {
  return ready(std::make_shared<connection>(std::move(over), site.state(), nullptr));
}

task<stream> connect(stream over, std::string host, client_context tls) {
  return ready(std::make_shared<connection>(std::move(over), tls.state(), std::move(host)));
}

task<stream> connect(stream over, std::string host) {
  return connect(std::move(over), std::move(host), client_context());
}

std::optional<session> session_of(const stream& s) {
  const auto* layer = dynamic_cast<const tls_layer*>(layer_of(s));
  if (layer == nullptr) return std::nullopt;
  return layer->agreed();
}

}  // namespace heddle::tls
