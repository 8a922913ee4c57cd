// SPDX-License-Identifier: MIT
//
// What the load clients need of an answer's head: how long the whole answer is. And the one way
// in which they connect.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace load {

// The length of a whole answer, from its head; 0 while the head is incomplete.
inline std::size_t answer_length(std::string_view in) {
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  std::string head(in.substr(0, end + 2));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  const std::size_t at = head.find("\r\ncontent-length:");
  if (at == std::string::npos) {
    std::fprintf(stderr, "load: an answer without Content-Length\n");
    std::exit(1);
  }
  return end + 4 + std::strtoul(head.c_str() + at + 17, nullptr, 10);
}

// A connection to the loopback, where connecting does not wait; ends the program when refused.
inline int connect_loopback(int port, std::uint32_t from = 0) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  if (from != 0) {
    const int late = 1;  // the port is chosen by connect(), so that each server has all of them
    ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + from);
    ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at);
  }
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
    std::perror("load: connect");
    std::exit(1);
  }
  return fd;
}

}  // namespace load
