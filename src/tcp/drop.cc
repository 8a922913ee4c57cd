// SPDX-License-Identifier: MIT
// The names of reasons to drop.
#include "heddle/tcp/drop.hh"

namespace heddle::tcp {

std::string_view name_of(drop reason) noexcept {
  static constexpr std::array<std::string_view, drop_count> names = {"none",
                                                                     "truncated",
                                                                     "ip_version",
                                                                     "ip_header",
                                                                     "ip_checksum",
                                                                     "fragment",
                                                                     "ip_protocol",
                                                                     "address",
                                                                     "tcp_header",
                                                                     "tcp_options",
                                                                     "tcp_checksum",
                                                                     "tcp_ports",
                                                                     "tcp_flags",
                                                                     "filtered",
                                                                     "no_listener",
                                                                     "no_connection",
                                                                     "cookie",
                                                                     "backlog_full",
                                                                     "memory",
                                                                     "old_timestamp",
                                                                     "missing_timestamp",
                                                                     "outside_window",
                                                                     "no_ack",
                                                                     "bad_ack",
                                                                     "blind_reset",
                                                                     "blind_syn",
                                                                     "after_close",
                                                                     "reassembly_full",
                                                                     "icmp_malformed",
                                                                     "icmp_unrelated",
                                                                     "time_wait"};
  const auto at = static_cast<std::size_t>(reason);
  return at < names.size() ? names[at] : "unknown";
}

}  // namespace heddle::tcp
