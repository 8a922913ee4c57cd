// SPDX-License-Identifier: MIT
// Streams and listeners made of a stack's connections, and the choice between them and sockets.
#include "heddle/net/provider.hh"

#include "heddle/io/layer.hh"
#include "heddle/io/stream_source.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sched/detail/here.hh"
#include "net/provider_parts.hh"

namespace heddle::net {
namespace detail {
namespace {

class user_layer final : public stream_layer {
 public:
  user_layer(std::shared_ptr<host> keep, std::unique_ptr<connection> c,
             const address& peer) noexcept
      : keep_(std::move(keep)), connection_(std::move(c)), peer_(peer) {}

  task<received> pull() override { return connection_->pull(); }
  task<> push(chain out) override { return connection_->push(std::move(out)); }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    return connection_->try_push(head, body);
  }
  void end_pushing() noexcept override { connection_->end_writing(); }
  [[nodiscard]] address peer() const noexcept override { return peer_; }
  [[nodiscard]] unread_input unread() const noexcept override { return connection_->unread(); }
  void reset_on_close() noexcept override { by_reset_ = true; }
  void close() noexcept override { connection_->close(by_reset_); }

 private:
  std::shared_ptr<host> keep_;
  std::unique_ptr<connection> connection_;
  address peer_;
  bool by_reset_ = false;
};

[[nodiscard]] stream stream_of(const std::shared_ptr<host>& h, std::unique_ptr<connection> c) {
  address peer;
  if (const auto info = h->stack().info(c->name())) peer = to_address(info->between.remote);
  return make_stream(std::make_unique<user_layer>(h, std::move(c), peer));
}

class user_source final : public stream_source {
 public:
  user_source(std::shared_ptr<host> keep, std::uint16_t port, std::uint32_t backlog, bool no_delay)
      : keep_(std::move(keep)), port_(port) {
    queue_.no_delay = no_delay;
    keep_->open_port(port, backlog, queue_);
  }
  ~user_source() override { close_port(); }

  task<stream> next() override {
    while (queue_.waiting.empty() && queue_.local.empty()) co_await queue_.arrived.wait();
    if (!queue_.local.empty()) {
      stream first = std::move(queue_.local.front());
      queue_.local.pop_front();
      co_return first;
    }
    std::unique_ptr<connection> first = std::move(queue_.waiting.front());
    queue_.waiting.pop_front();
    keep_->stack().take_accepted(first->name());
    co_return stream_of(keep_, std::move(first));
  }
  void close() noexcept override { close_port(); }

 private:
  void close_port() noexcept {
    if (!open_) return;
    open_ = false;
    keep_->close_port(port_);
    queue_.waiting.clear();
    queue_.local.clear();
  }

  std::shared_ptr<host> keep_;
  port_queue queue_;
  std::uint16_t port_;
  bool open_ = true;
};

}  // namespace

listener listen_on(std::shared_ptr<host> keep, std::uint16_t port, std::uint32_t backlog,
                   bool no_delay) {
  return make_listener(std::make_unique<user_source>(std::move(keep), port, backlog, no_delay));
}

task<stream> connect_from(std::shared_ptr<host> keep, address to) {
  const tcp::endpoint remote = to_endpoint(to);
  if (keep->is_beside_kernel() && (remote.address == keep->own() || remote.address.is_loopback())) {
    stream made = keep->connect_locally(remote.port);
    if (made) co_return made;
    // Another program of this machine may listen there; at the stack's own address there is none.
    if (remote.address.is_loopback()) co_return co_await tcp_connect(to);
    throw failure(std::make_error_code(std::errc::connection_refused),
                  "cannot connect to " + to.to_string());
  }
  auto made = std::make_unique<connection>(*keep);
  const auto name = keep->stack().connect({keep->own(), 0}, remote, pump::now());
  if (!name) throw failure(name.error());
  made->is_named(*name);
  keep->stack().set_nagle(*name, false);
  keep->stir();
  co_await made->opened();
  co_return make_stream(std::make_unique<user_layer>(keep, std::move(made), to.unmapped()));
}

std::array<std::uint64_t, 2> random_key() {
  driver& d = driver_here();
  return {d.random(), d.random()};
}

}  // namespace detail

opened_door provider::listen(const address& on, const listen_options& options) const {
  if (host_ == nullptr) {
    tcp_listener made = tcp_listener::listen(on, options);
    const address at = made.local();
    return {std::move(made), at};
  }
  const std::uint16_t port = on.port() != 0 ? on.port() : host_->free_port();
  const auto backlog = static_cast<std::uint32_t>(std::max(options.backlog, 1));
  return {detail::listen_on(host_, port, backlog, options.no_delay),
          detail::to_address({host_->own(), port})};
}

task<stream> provider::connect(address to) const {
  if (host_ != nullptr) return detail::connect_from(host_, to);
  return [](address a) -> task<stream> { co_return co_await tcp_connect(a); }(to);
}

task<> provider::settled() const {
  if (pump_ == nullptr) co_return;
  const std::shared_ptr<detail::host> keep = host_;
  co_await pump_->settled();
}

namespace {

class source_by_provider final : public tcp_source {
 public:
  explicit source_by_provider(provider p) noexcept : provider_(std::move(p)) {}
  opened_door listen(const address& on, const listen_options& options) override {
    return provider_.listen(on, options);
  }
  task<stream> connect(address to) override { return provider_.connect(to); }
  task<> settled() override { return provider_.settled(); }

 private:
  provider provider_;
};

}  // namespace

std::unique_ptr<tcp_source> source_of(provider from) {
  if (!from.is_user()) return nullptr;
  return std::make_unique<source_by_provider>(std::move(from));
}

tcp::stack* provider::stack() const noexcept {
  return host_ != nullptr ? &host_->stack() : nullptr;
}

}  // namespace heddle::net
