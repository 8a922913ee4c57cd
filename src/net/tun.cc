// SPDX-License-Identifier: MIT
// Reading and writing a TUN queue, and joining segments of one connection.
#include "net/tun.hh"

#include <cerrno>
#include <cstring>

#include "heddle/base/error.hh"
#include "heddle/tcp/segment.hh"

namespace heddle::net::detail {
namespace {

constexpr std::uint8_t sum_is_partial = 1;
constexpr std::uint8_t sum_is_verified = 2;
constexpr std::uint8_t joined_v4 = 1;
constexpr std::uint8_t joined_v6 = 4;
constexpr std::size_t flags_at = 13;
constexpr std::size_t sum_place = 16;

std::size_t ip_bytes(const std::byte* p) noexcept {
  return (std::to_integer<unsigned>(p[0]) >> 4) == 4 ? 20 : 40;
}

/// Whether the packet is TCP's; the stack sends answers to pings, too.
bool is_tcp(const std::byte* p) noexcept {
  return p[ip_bytes(p) == 20 ? 9 : 6] == std::byte{tcp::protocol_tcp};
}

}  // namespace

bool tun_queue::read_into(tcp::stack& s, tcp::instant now) {
  block* const b = take_block();
  offload_header offload;
  ::iovec parts[2] = {{&offload, sizeof offload}, {b->bytes.data(), b->bytes.size()}};
  const ::ssize_t got = ::readv(fd_, parts, 2);
  if (got <= static_cast<::ssize_t>(sizeof offload)) {
    free_.push_back(b);
    if (got >= 0 || errno == EINTR) return true;
    if (errno == EAGAIN) return false;
    throw failure({errno, std::generic_category()}, "the TUN device is gone");
  }
  ++counters_.reads;
  const std::size_t bytes = static_cast<std::size_t>(got) - sizeof offload;
  // A small packet that the stack keeps must not keep the block, so it gets the block's size.
  b->view = tcp::packet({b->bytes.data(), bytes}, *this, b->bytes.size());
  b->view.sums_verified = (offload.flags & (sum_is_partial | sum_is_verified)) != 0;
  if (trace_ != nullptr) trace_->received(now, b->view.bytes());
  s.input(b->view, now);
  b->view.release();
  return true;
}

tun_queue::block* tun_queue::take_block() {
  if (free_.empty()) {
    free_.reserve(blocks_.size() + 1);
    blocks_.push_back(std::make_unique_for_overwrite<block>());
    free_.push_back(blocks_.back().get());
  }
  block* const b = free_.back();
  free_.pop_back();
  return b;
}

void tun_queue::take_back(tcp::packet& p) noexcept {
  free_.push_back(reinterpret_cast<block*>(&p));
}

bool tun_queue::joins(const tcp::outgoing& p) const noexcept {
  if (header_bytes_ == 0 || p.header.size() != header_bytes_ || p.payload_bytes == 0 ||
      last_is_short_ || p.payload_bytes > segment_bytes_ ||
      header_bytes_ + held_bytes_ + p.payload_bytes > packet_bytes_max ||
      span_count_ + p.payload.size() > spans_max)
    return false;
  const std::byte* const was = header_.data();
  const std::byte* const is = p.header.data();
  const std::size_t ip = ip_bytes(was);
  if (ip_bytes(is) != ip || !is_tcp(was) || !is_tcp(is)) return false;
  // Segments are joined if they follow one another and have the same addresses, ports,
  // acknowledgement, window and options.
  const std::size_t addresses = ip == 20 ? 12 : 8;
  constexpr std::byte plain = std::byte{tcp::flag_ack};
  const std::byte flags = is[ip + flags_at] & ~std::byte{tcp::flag_psh | tcp::flag_fin};
  return was[ip + flags_at] == plain && flags == plain &&
         std::memcmp(was + addresses, is + addresses, ip - addresses + 4) == 0 &&
         tcp::get32(is + ip + 4) == tcp::get32(was + ip + 4) + held_bytes_ &&
         std::memcmp(was + ip + 8, is + ip + 8, 5) == 0 &&
         std::memcmp(was + ip + 14, is + ip + 14, 2) == 0 &&
         std::memcmp(was + ip + 18, is + ip + 18, header_bytes_ - ip - 18) == 0;
}

void tun_queue::hold(const tcp::outgoing& p) noexcept {
  std::memcpy(header_.data(), p.header.data(), p.header.size());
  header_bytes_ = p.header.size();
  held_bytes_ = 0;
  held_segments_ = 0;
  segment_bytes_ = p.payload_bytes;
  last_is_short_ = false;
  span_count_ = 2;
}

void tun_queue::transmit(const tcp::outgoing& p) noexcept {
  if (trace_ != nullptr) trace_->sent(p);
  if (joins(p)) {
    ++counters_.segments_joined;
    const std::size_t at = ip_bytes(header_.data()) + flags_at;
    header_[at] |= p.header[at];
    last_is_short_ = p.payload_bytes < segment_bytes_ || header_[at] != std::byte{tcp::flag_ack};
  } else {
    send_held();
    hold(p);
  }
  for (const auto& piece : p.payload)
    spans_[span_count_++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  held_bytes_ += p.payload_bytes;
  ++held_segments_;
  if (!joining_) send_held();
}

void tun_queue::end_joining() noexcept {
  send_held();
  joining_ = false;
}

void tun_queue::send_held() noexcept {
  if (header_bytes_ == 0) return;
  std::byte* const p = header_.data();
  const std::size_t ip = ip_bytes(p);
  offload_header offload;
  if (offloads_ && is_tcp(p)) {
    offload.flags = sum_is_partial;
    offload.sum_from = static_cast<std::uint16_t>(ip);
    offload.sum_at = sum_place;
    offload.header_bytes = static_cast<std::uint16_t>(header_bytes_);
  }
  if (held_segments_ > 1) {
    offload.kind = ip == 20 ? joined_v4 : joined_v6;
    offload.segment_bytes = static_cast<std::uint16_t>(segment_bytes_);
    const auto tcp_bytes = static_cast<std::uint32_t>(header_bytes_ - ip + held_bytes_);
    tcp::checksum sum;  // the pseudo-header's sum
    if (ip == 20) {
      tcp::put16(p + 2, 20 + tcp_bytes);
      tcp::put16(p + 10, 0);
      tcp::checksum head;
      head.add({p, 20});
      tcp::put16(p + 10, head.value());
      sum.add({p + 12, 8});
    } else {
      tcp::put16(p + 4, tcp_bytes);
      sum.add({p + 8, 32});
    }
    sum.add16(tcp::protocol_tcp);
    sum.add16(static_cast<std::uint16_t>(tcp_bytes));
    tcp::put16(p + ip + sum_place, sum.partial());
  }
  write_held(offload);
  header_bytes_ = 0;
}

void tun_queue::write_held(const offload_header& offload) noexcept {
  spans_[0] = {const_cast<offload_header*>(&offload), sizeof offload};
  spans_[1] = {header_.data(), header_bytes_};
  ++counters_.writes;
  while (::writev(fd_, spans_.data(), static_cast<int>(span_count_)) < 0) {
    if (errno == EINTR) continue;
    ++counters_.refused;  // TCP sends the segments again
    return;
  }
}

}  // namespace heddle::net::detail
