// SPDX-License-Identifier: MIT
// The handles that programs hold.
#include "heddle/nats/connection.hh"

#include "nats/core.hh"

namespace heddle::nats {

subscription& subscription::operator=(subscription&& other) noexcept {
  if (this != &other) {
    unsubscribe();
    core_ = std::move(other.core_);
  }
  return *this;
}

subscription::~subscription() { unsubscribe(); }

namespace {
task<std::optional<message>> next_of(std::shared_ptr<detail::subscription_core> core) {
  for (;;) {
    if (auto first = core->pop()) co_return first;
    if (core->closed) co_return std::nullopt;
    co_await core->changed.wait();
  }
}
}  // namespace

task<std::optional<message>> subscription::next() const { return next_of(core_); }

void subscription::unsubscribe() noexcept {
  if (core_) core_->leave();
}

std::uint64_t subscription::dropped() const noexcept { return core_ ? core_->dropped : 0; }

connection::connection(connection_options options)
    : core_(std::make_shared<detail::connection_core>(std::move(options))) {}

connection::~connection() { core_->close(); }

task<> connection::run() { return core_->run(); }
task<> connection::ready() { return core_->ready(); }
bool connection::connected() const noexcept { return core_->connected(); }

task<> connection::publish(std::string subject, std::string body, std::vector<field> fields) {
  return core_->publish(
      {.subject = std::move(subject), .fields = std::move(fields), .body = std::move(body)});
}
task<> connection::publish_message(message m) { return core_->publish(std::move(m)); }

task<message> connection::request(std::string subject, std::string body,
                                  std::vector<field> fields) {
  return core_->request(
      {.subject = std::move(subject), .fields = std::move(fields), .body = std::move(body)});
}

task<> connection::flush() { return core_->flush(); }

subscription connection::subscribe(std::string pattern, subscribe_options with) {
  return subscription(core_->subscribe(std::move(pattern), std::move(with)));
}

std::string connection::new_inbox() { return core_->new_inbox(); }

const connection_counters& connection::counters() const noexcept { return core_->counters; }
const std::string& connection::server() const noexcept { return core_->server; }

}  // namespace heddle::nats
