// SPDX-License-Identifier: MIT
// Collecting packets, and writing them.
#include "net/packet_trace.hh"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "heddle/base/error.hh"
#include "net/pump.hh"

namespace heddle::net::detail {
namespace {

constexpr std::size_t kept_max = 128;  // headers with all options
constexpr std::size_t collected_bytes = 64 * 1024;
constexpr tcp::instant write_us = 1'000'000;

}  // namespace

packet_trace::packet_trace(const std::string& path, std::uint64_t bytes_max)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)), left_(bytes_max) {
  if (fd_ < 0)
    throw failure({errno, std::generic_category()}, path + ": the packet trace cannot be written");
  bytes_.resize(collected_bytes);
  tcp::write_pcap_head(
      std::span<std::byte, tcp::pcap_file_head_bytes>(bytes_.data(), tcp::pcap_file_head_bytes));
  used_ = tcp::pcap_file_head_bytes;
  const auto calendar = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  now_ = written_at_ = pump::now();
  offset_ = calendar.count() - now_;
}

packet_trace::~packet_trace() {
  write_out();
  if (fd_ >= 0) ::close(fd_);
}

void packet_trace::at(tcp::instant now) noexcept {
  now_ = now;
  if (now - written_at_ < write_us) return;
  written_at_ = now;
  write_out();
}

std::byte* packet_trace::add(std::size_t kept, std::size_t length) noexcept {
  const std::size_t bytes = tcp::pcap_packet_head_bytes + kept;
  if (fd_ < 0 || left_ < bytes) return nullptr;
  left_ -= bytes;
  if (bytes_.size() - used_ < bytes) write_out();
  std::byte* const head = bytes_.data() + used_;
  tcp::write_pcap_packet_head(
      std::span<std::byte, tcp::pcap_packet_head_bytes>(head, tcp::pcap_packet_head_bytes),
      now_ + offset_, kept, length);
  used_ += bytes;
  return head + tcp::pcap_packet_head_bytes;
}

void packet_trace::received(tcp::instant now, std::span<const std::byte> packet) noexcept {
  now_ = now;
  const std::size_t kept = std::min(packet.size(), kept_max);
  if (std::byte* const to = add(kept, packet.size())) std::memcpy(to, packet.data(), kept);
}

void packet_trace::sent(const tcp::outgoing& p) noexcept {
  if (std::byte* const to = add(p.header.size(), p.header.size() + p.payload_bytes))
    std::memcpy(to, p.header.data(), p.header.size());
}

void packet_trace::note(void* trace, const tcp::connection_info& i, tcp::instant) {
  std::byte bytes[tcp::note_bytes_max];
  const std::size_t n = tcp::write_note(tcp::note_of(i), bytes);
  if (std::byte* const to = static_cast<packet_trace*>(trace)->add(n, n)) std::memcpy(to, bytes, n);
}

void packet_trace::write_out() noexcept {
  std::size_t done = 0;
  while (fd_ >= 0 && done != used_) {
    const ::ssize_t n = ::write(fd_, bytes_.data() + done, used_ - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // a full disk: the file stays readable but for its last packet
      ::close(fd_);
      fd_ = -1;
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  used_ = 0;
}

}  // namespace heddle::net::detail
