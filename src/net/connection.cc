// SPDX-License-Identifier: MIT
// Reading and writing a connection of a stack. Pieces that keep their bytes are referenced until
// they are acknowledged; bytes that are only named are copied, because a write must not last until
// the peer acknowledges it.
#include "net/connection.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "heddle/base/error.hh"
#include "net/host.hh"

namespace heddle::net::detail {
namespace {

// A smaller piece is copied together with its neighbour: that costs less than a record of its own.
constexpr std::size_t shared_bytes_min = 1024;
// The most bytes of one copy. Half of a copy is acknowledged before the next one is made.
constexpr std::size_t copy_bytes_max = 64 * 1024;
constexpr std::uint32_t first_capacity = 512;

}  // namespace

std::error_code code_of(tcp::ending how) noexcept {
  switch (how) {
    case tcp::ending::reset:
      return std::make_error_code(std::errc::connection_reset);
    case tcp::ending::refused:
      return std::make_error_code(std::errc::connection_refused);
    case tcp::ending::unreachable:
      return std::make_error_code(std::errc::host_unreachable);
    case tcp::ending::timed_out:
      return std::make_error_code(std::errc::timed_out);
    case tcp::ending::aborted:
      return std::make_error_code(std::errc::connection_aborted);
    case tcp::ending::finished:
      break;
  }
  return std::make_error_code(std::errc::broken_pipe);
}

connection::~connection() {
  close(true);
  if (wants_memory_) host_.forget(*this);
  std::free(in_);
}

void connection::is_named(tcp::connection name) noexcept {
  name_ = name;
  move_to(connection_state::opening);
  host_.stack().set_user(name, reinterpret_cast<std::uintptr_t>(this));
}

task<> connection::opened() {
  while (state_ == connection_state::opening) co_await readable_.wait();
  if (state_ == connection_state::failed) throw failure(code_of(ending_));
}

task<received> connection::pull() {
  while (in_bytes_ == 0) {
    if (peer_finished_) co_return received();
    if (over()) throw failure(code_of(ending_));
    co_await readable_.wait();
  }
  const std::uint32_t bytes = std::exchange(in_bytes_, 0);
  in_capacity_ = 0;
  if (named()) {
    host_.stack().consumed(name_, bytes);
    host_.stir();
  }
  co_return received::owned(std::exchange(in_, nullptr), 0, bytes);
}

std::size_t connection::own_room() const noexcept {
  const std::uint32_t limit = host_.stack().send_queue_limit(name_);
  return queued_ < limit ? limit - queued_ : 0;
}

std::size_t connection::room() {
  if (own_room() == 0 || !named()) return own_room();
  const std::size_t there = host_.stack().room(name_);
  if (there == 0) wait_for_memory();
  return std::min(there, own_room());
}

void connection::wait_for_memory() {
  if (!std::exchange(wants_memory_, true)) host_.wait_for_memory(*this);
  host_.stir();  // the stack has a new deadline: when it looks for memory again
}

std::size_t connection::hand_over(held_piece* h, byte_view bytes) {
  if (!host_.stack().write(name_, {bytes, &host_, reinterpret_cast<std::uintptr_t>(h)})) {
    // room() found memory, but another stack of the process has taken it since.
    held_piece::destroy(h);
    wait_for_memory();
    return 0;
  }
  queued_ += static_cast<std::uint32_t>(bytes.size());
  return bytes.size();
}

void connection::has_memory() noexcept {
  wants_memory_ = false;
  writable_.notify_all();
}

void connection::check_writable() const {
  if (over()) throw failure(code_of(ending_));
  if (finished_) throw failure(std::make_error_code(std::errc::broken_pipe));
}

std::size_t connection::queue_copy(byte_view first, byte_view second) {
  const std::size_t bytes =
      std::min({first.size() + second.size(), room(), std::size_t{copy_bytes_max}});
  if (bytes == 0) return 0;
  held_piece* const h = held_piece::make(bytes);
  const std::size_t of_first = std::min(bytes, first.size());
  if (of_first != 0) std::memcpy(h->copied(), first.data(), of_first);
  if (bytes != of_first) std::memcpy(h->copied() + of_first, second.data(), bytes - of_first);
  return hand_over(h, {h->copied(), bytes});
}

std::size_t connection::queue_shared(const piece& whole) {
  const std::size_t bytes = std::min(whole.size(), room());
  if (bytes == 0) return 0;
  held_piece* const h = held_piece::make(0);
  h->shared = whole;
  return hand_over(h, whole.bytes().first(bytes));
}

std::size_t connection::queue(byte_view head, const piece& body) {
  std::size_t done = 0;
  if (body.keeps_bytes() && body.size() >= shared_bytes_min) {
    if (!head.empty()) done = queue_copy(head, {});
    if (done == head.size()) done += queue_shared(body);
  } else {
    done = queue_copy(head, body.bytes());
  }
  if (done != 0) host_.stir();
  return done;
}

sent_now connection::try_push(byte_view head, const piece& body) noexcept {
  if (over() || finished_) return {};
  try {
    return {queue(head, body)};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

task<> connection::push(chain out) {
  if (out.empty()) {
    while (!over() && room() == 0) co_await writable_.wait();
    check_writable();
    co_return;
  }
  bool began = false;
  try {
    for (;;) {
      check_writable();
      while (!out.empty()) {
        const std::size_t sent = queue({}, out.piece_at(0));
        if (sent == 0) break;
        began = true;
        out.remove_prefix(sent);
      }
      if (out.empty()) co_return;
      co_await writable_.wait();
    }
  } catch (...) {
    if (began) close(true);
    throw;
  }
}

void connection::end_writing() noexcept {
  if (std::exchange(finished_, true) || !named()) return;
  host_.stack().finish(name_);
  host_.stir();
}

void connection::close(bool by_reset) noexcept {
  if (!named()) return;
  move_to_end(tcp::ending::aborted);
  tcp::stack& s = host_.stack();
  s.set_user(name_, 0);
  if (by_reset) {
    s.abort(name_);
  } else {
    s.close(name_);
  }
  host_.stir();
  readable_.notify_all();
  writable_.notify_all();
}

void connection::move_to_end(tcp::ending how) noexcept {
  move_to(state_ == connection_state::open ? connection_state::ended : connection_state::failed);
  ending_ = how;
}

void connection::arrived(std::span<const std::byte> bytes) noexcept {
  const auto more = static_cast<std::uint32_t>(bytes.size());
  if (in_capacity_ - in_bytes_ < more) {
    const std::uint32_t wanted =
        in_bytes_ == 0 ? std::max(more, first_capacity) : std::max(in_bytes_ + more, 2 * in_bytes_);
    void* const wider = std::realloc(in_, wanted);
    if (wider == nullptr) {  // the stack has acknowledged these bytes already
      close(true);
      return;
    }
    in_ = static_cast<std::byte*>(wider);
    in_capacity_ = wanted;
  }
  std::memcpy(in_ + in_bytes_, bytes.data(), more);
  in_bytes_ += more;
  readable_.notify_one();
}

void connection::acknowledged(std::uint32_t bytes) noexcept {
  queued_ -= bytes;
  if (own_room() >= host_.stack().send_queue_limit(name_) / 2) writable_.notify_one();
}

void connection::peer_finished() noexcept {
  peer_finished_ = true;
  readable_.notify_one();
}

void connection::is_open() noexcept {
  move_to(connection_state::open);
  readable_.notify_one();
}

void connection::has_ended(tcp::ending how) noexcept {
  move_to_end(how);
  readable_.notify_all();
  writable_.notify_all();
}

}  // namespace heddle::net::detail
