// SPDX-License-Identifier: MIT
// Handles: counting, closing, and what is sent without a wait.
#include "heddle/io/stream.hh"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

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

int descriptor::number() const noexcept { return state_ != nullptr ? state_->number() : -1; }

detail::descriptor_state& detail::open_state(const descriptor& d) {
  if (!d.is_open()) throw_failure(kernel_error(-EBADF));
  return *d.state_;
}

namespace {
void shut_down(int fd, int how) {
  detail::check_outcome(fd < 0 ? -EBADF : driver_here().shutdown(fd, how));
}
}  // namespace

chain_transfer stream::write(const text_list& texts) const {
  chain out;
  for (std::string_view text : texts) out.append_view(text);
  return write(std::move(out));
}

received stream::take() const noexcept {
  if (state_ == nullptr || state_->kind != detail::descriptor_kind::socket) return {};
  return static_cast<detail::socket_state*>(state_)->take(worker::here());
}

namespace {
/// The driver to send with, or null where nothing may leave now.
driver* sender(const detail::descriptor_state* to) noexcept {
  if (to == nullptr || to->kind != detail::descriptor_kind::socket) return nullptr;
  const worker& w = worker::here();
  if (to->writes.tail != nullptr || to->fd < 0 || w.current_context().canceled()) return nullptr;
  // write() has a pause for those that only ever send.
  return to->burst + 1 < detail::descriptor_state::burst_max ? w.io : nullptr;
}

::iovec entry_of(byte_view bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}
}  // namespace

std::size_t stream::try_write(byte_view bytes) const noexcept {
  driver* const io = bytes.empty() ? nullptr : sender(state_);
  if (io == nullptr) return 0;
  const ::iovec only = entry_of(bytes);
  const std::size_t sent = io->send_now(state_->fd, &only, 1);
  if (sent != 0) ++state_->burst;
  return sent;
}

std::size_t stream::try_write(byte_view head, const piece& body) const noexcept {
  if (body.empty()) return try_write(head);
  driver* const io = sender(state_);
  if (io == nullptr) return 0;
  const ::iovec both[] = {entry_of(head), entry_of(body.bytes())};
  std::size_t sent = 0;
  if (const file_place from = body.place(); from && body.size() >= io->send_file_from()) {
    const std::int64_t left =
        io->send_file_now(state_->fd, both[0], from.file, from.at, body.size());
    if (left > 0) sent = static_cast<std::size_t>(left);
  } else {
    const bool headless = head.empty();
    sent = io->send_now(state_->fd, both + headless, headless ? 1 : 2);
  }
  if (sent != 0) ++state_->burst;
  return sent;
}

bool stream::sends_uncopied(const piece& body) const noexcept {
  return state_ != nullptr && state_->kind == detail::descriptor_kind::socket && body.place() &&
         body.size() >= worker::here().io->send_file_from();
}

void stream::shutdown_write() const { shut_down(number(), SHUT_WR); }
void stream::shutdown_read() const { shut_down(number(), SHUT_RD); }

}  // namespace heddle
