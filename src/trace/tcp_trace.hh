// SPDX-License-Identifier: MIT
// The findings of `heddle trace tcp`: connections, each with two directions of data. tcp_flows.cc
// collects them, tcp_svg.cc draws them, tcp_text.cc lists them and writes them as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/tcp/pcap.hh"

namespace heddle::trace {

/// A place in a stream: the number of bytes before it.
using stream_offset = std::int64_t;

struct traced_data {
  tcp::instant at;
  stream_offset begin, end;
  bool again;  ///< some of it had been sent before
};
struct traced_range {
  stream_offset begin, end;
};
/// An acknowledgement by the receiver of a direction.
struct traced_ack {
  tcp::instant at;
  stream_offset upto;
  stream_offset window_end;  ///< -1: not known, because the trace has no SYN
  std::vector<traced_range> sacks;
};
struct traced_flight {
  tcp::instant at;
  std::int64_t bytes;
};
struct traced_window {
  tcp::instant at;
  std::uint32_t window, threshold;
  bool recovering;
};
/// The sender sent nothing, although bytes were in flight.
struct traced_pause {
  tcp::instant from, to;
};

/// The data of one direction.
struct traced_direction {
  tcp::endpoint from, to;
  std::vector<traced_data> data;
  std::vector<traced_ack> acks;
  std::vector<traced_flight> flight;   ///< bytes sent and not acknowledged, after each packet
  std::vector<traced_window> windows;  ///< windows in the sender's notes, if the trace has some
  std::vector<traced_pause> pauses;    ///< the longest first
  std::uint64_t bytes = 0;             ///< bytes without those that were sent again
  std::uint64_t bytes_again = 0;
  std::size_t segments = 0, segments_again = 0;
  std::uint32_t rtt_min_us = 0;  ///< time between a segment sent once and its ACK; 0: not seen
  std::uint32_t rtt_median_us = 0;
};

struct traced_connection {
  traced_direction forth, back;  ///< `forth`: of the side that opened it, as far as that is seen
  tcp::instant first = 0, last = 0;
  bool opened = false;  ///< the trace has its SYN
  bool reset = false;
};

struct tcp_trace {
  std::vector<traced_connection> connections;  ///< in the order of their first packets
  std::size_t packets = 0;
  std::size_t others = 0;  ///< packets that are no TCP, or no IP
  std::string trouble;     ///< the defect of the file, behind the packets above
};

/// Reads a trace. Throws failure if nothing can be read.
[[nodiscard]] tcp_trace read_tcp_trace(std::span<const std::byte> file, const std::string& name);

struct trace_view {
  std::string title;
  double from_s = 0;
  double to_s = -1;  ///< negative: to the end
  int width = 1200;
};
[[nodiscard]] std::string trace_svg(const traced_connection& c, const traced_direction& d,
                                    const trace_view& view);
[[nodiscard]] std::string trace_json(const tcp_trace& t);
/// A line for each connection.
[[nodiscard]] std::string trace_table(const tcp_trace& t);

}  // namespace heddle::trace
