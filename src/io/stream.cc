// SPDX-License-Identifier: MIT
// Handles: counting, closing, and the awaiters that streams hand out.
#include "heddle/io/stream.hh"

#include <sys/socket.h>

#include "heddle/sched/driver.hh"
#include "io/descriptor_state.hh"

namespace heddle {

descriptor::descriptor(const descriptor& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) ++state_->handles;
}

void descriptor::drop() noexcept { state_->drop_handle(); }

void descriptor::close() noexcept {
  if (state_ != nullptr) state_->close(worker::here());
}

int descriptor::number() const noexcept { return state_ != nullptr ? state_->fd : -1; }

namespace {
byte_span unconst(byte_view bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

void shut_down(int fd, int how) {
  detail::check_outcome(fd < 0 ? -EBADF : driver_here().shutdown(fd, how));
}
}  // namespace

transfer stream::read(byte_span into) const noexcept {
  return {state_, false, into, false, nullptr};
}
transfer stream::read(byte_span into, std::size_t& count) const noexcept {
  return {state_, false, into, false, &count};
}
transfer stream::read_some(byte_span into) const noexcept {
  return {state_, false, into, true, nullptr};
}
transfer stream::write(byte_view bytes) const noexcept {
  return {state_, true, unconst(bytes), false, nullptr};
}
transfer stream::write(byte_view bytes, std::size_t& count) const noexcept {
  return {state_, true, unconst(bytes), false, &count};
}
transfer stream::write_some(byte_view bytes) const noexcept {
  return {state_, true, unconst(bytes), true, nullptr};
}
chain_transfer stream::write(chain&& out) const noexcept {
  return {state_, std::move(out), nullptr};
}
chain_transfer stream::write(chain&& out, std::size_t& count) const noexcept {
  return {state_, std::move(out), &count};
}
chain_transfer stream::write(const text_list& texts) const {
  chain out;
  for (std::string_view text : texts) out.append_view(text);
  return {state_, std::move(out), nullptr};
}

received stream::take() const noexcept {
  if (state_ == nullptr || state_->kind != detail::descriptor_kind::socket) return {};
  return static_cast<detail::socket_state*>(state_)->take(worker::here());
}

std::size_t stream::try_write(byte_view bytes) const noexcept {
  if (state_ == nullptr || state_->kind != detail::descriptor_kind::socket) return 0;
  worker& w = worker::here();
  if (state_->writes.tail != nullptr || state_->fd < 0 || w.current_context().canceled()) return 0;
  if (state_->burst + 1 >= detail::descriptor_state::burst_max) return 0;  // write() has its pause
  const std::size_t sent = w.io->send_now(state_->fd, bytes.data(), bytes.size());
  if (sent != 0) ++state_->burst;
  return sent;
}

void stream::shutdown_write() const { shut_down(number(), SHUT_WR); }
void stream::shutdown_read() const { shut_down(number(), SHUT_RD); }

}  // namespace heddle
