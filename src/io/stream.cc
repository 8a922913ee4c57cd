// SPDX-License-Identifier: MIT
// Handles: counting, closing, and the functions of a stream that do not wait.
#include "heddle/io/stream.hh"

#include <sys/socket.h>

#include <cerrno>

#include "io/descriptor_state.hh"
#include "io/socket_state.hh"

namespace heddle {

descriptor::descriptor(const descriptor& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) ++state_->handles;
}

void descriptor::drop() noexcept { state_->drop_handle(); }

void descriptor::close() noexcept {
  if (state_ != nullptr) state_->close_for_user();
}

bool descriptor::is_open() const noexcept { return state_ != nullptr && state_->open(); }
int descriptor::number() const noexcept { return state_ != nullptr ? state_->number() : -1; }

detail::descriptor_state& detail::open_state(const descriptor& d) {
  if (!d.is_open()) throw_failure(kernel_error(-EBADF));
  return *d.state_;
}

chain_transfer stream::write(const text_list& texts) const {
  chain out;
  for (std::string_view text : texts) out.append_view(text);
  return write(std::move(out));
}

namespace {

using detail::descriptor_state;
using detail::stream_functions;

/// The functions of an open stream; null for a closed one.
const stream_functions* functions(const descriptor_state* of) noexcept {
  return of != nullptr && of->open() ? detail::stream_functions_of(*of) : nullptr;
}

/// The functions by which bytes may leave now; null if they must not.
const stream_functions* sender(const descriptor_state* to, const worker& w) noexcept {
  if (to == nullptr || to->writes.tail != nullptr || !to->open() || to->cut ||
      w.current_context().canceled())
    return nullptr;
  // A frame that only sends must call write() at times, which lets other frames run.
  return to->burst + 1 < descriptor_state::burst_max ? detail::stream_functions_of(*to) : nullptr;
}

void shut_down(descriptor_state* s, int how) {
  const stream_functions* const f = functions(s);
  // Behind a cut write, an orderly end would pass the part that has left for the whole.
  const bool refused = f != nullptr && s->cut && how != SHUT_RD;
  detail::check_outcome(f == nullptr ? -EBADF : refused ? -EPIPE : f->shutdown(*s, how));
}

}  // namespace

received stream::take() const noexcept {
  worker& w = worker::here();
  if (state_ == nullptr || state_->taken_elsewhere(w)) return {};
  const stream_functions* const f = detail::stream_functions_of(*state_);
  return f != nullptr ? f->take(*state_, w) : received();
}

sent_now stream::try_write(byte_view bytes) const noexcept { return try_write(bytes, piece()); }

sent_now stream::try_write(byte_view head, const piece& body) const noexcept {
  worker& w = worker::here();
  const stream_functions* const f = sender(state_, w);
  if (f == nullptr) return {};
  if (head.empty() && body.empty()) return {.flush_due = flush_due()};
  const sent_now sent = f->try_write(*state_, head, body, w);
  if (sent.bytes != 0) ++state_->burst;
  return sent;
}

bool stream::flush_due() const noexcept {
  const stream_functions* const f = functions(state_);
  return f != nullptr && f->flush_due != nullptr && !state_->cut && f->flush_due(*state_);
}

std::int64_t stream::send_file_now(byte_view head, int file, std::uint64_t at,
                                   std::size_t count) const noexcept {
  const stream_functions* const f = functions(state_);
  if (f != nullptr && state_->cut) [[unlikely]]
    return -EPIPE;
  return f != nullptr ? f->send_file(*state_, head, file, at, count, worker::here()) : -EBADF;
}

bool stream::sends_files() const noexcept {
  const stream_functions* const f = functions(state_);
  return f != nullptr && f->send_file_from(*state_, worker::here()) != ~std::size_t{0};
}

bool stream::sends_uncopied(const piece& body) const noexcept {
  const stream_functions* const f = functions(state_);
  return f != nullptr && body.place() && body.size() >= f->send_file_from(*state_, worker::here());
}

address stream::peer() const noexcept {
  const stream_functions* const f = functions(state_);
  return f != nullptr ? f->peer(*state_) : address();
}

unread_input stream::unread() const noexcept {
  if (state_ == nullptr || !state_->open()) return {.ended = true, .over = true};
  const stream_functions* const f = detail::stream_functions_of(*state_);
  if (f == nullptr || state_->taken_elsewhere(worker::here())) return {};
  return f->unread(*state_);
}

void stream::end_with_last_write() const noexcept {
  if (const stream_functions* const f = functions(state_)) f->end_with_last_write(*state_);
}

void stream::reset_on_close() const noexcept {
  if (const stream_functions* const f = functions(state_)) f->reset_on_close(*state_);
}

void stream::cut() const noexcept {
  if (state_ != nullptr) state_->cut_writes();
}
bool stream::is_cut() const noexcept { return state_ != nullptr && state_->cut != 0; }

void stream::shutdown_write() const { shut_down(state_, SHUT_WR); }
void stream::shutdown_read() const { shut_down(state_, SHUT_RD); }

}  // namespace heddle
