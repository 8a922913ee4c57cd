// SPDX-License-Identifier: MIT
//
// What the web servers made of threads share (suite knot): a folder of small files in memory, the
// answer to a head, and a listening socket.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace rival {

struct answered {
  std::string text;
  bool keep = false;
};

class files {
 public:
  // False when the folder cannot be read.
  bool load(const char* folder) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream all;
      all << in.rdbuf();
      by_path_["/" + entry.path().filename().string()] = all.str();
    }
    return !failed;
  }

  // `head` ends in an empty line. The connection is kept, unless its client asks for the end.
  answered answer(std::string_view head) const {
    const std::size_t begin = head.find(' ');
    const std::size_t end = head.find(' ', begin + 1);
    const bool get = head.starts_with("GET ") && end != std::string_view::npos;
    const auto found =
        get ? by_path_.find(head.substr(begin + 1, end - begin - 1)) : by_path_.end();
    std::string_view body = "not found\n";
    if (found != by_path_.end()) body = found->second;
    answered out;
    out.keep = head.find("\r\nConnection: close\r\n") == std::string_view::npos;
    out.text = found == by_path_.end() ? "HTTP/1.1 404 Not Found" : "HTTP/1.1 200 OK";
    out.text += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    out.text += out.keep ? "\r\n" : "Connection: close\r\n\r\n";
    out.text += body;
    return out;
  }

 private:
  std::map<std::string, std::string, std::less<>> by_path_;
};

// A listening socket of 127.0.0.1, or -1; `flags` are more of socket()'s.
inline int listen_loopback(int port, int flags) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(fd, 4096) != 0)
    return -1;
  return fd;
}

}  // namespace rival
