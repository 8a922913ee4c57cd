// SPDX-License-Identifier: MIT
// Operations whose arguments are types of room io itself: names of hosts and lists of directories.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "heddle/io/detail/resolve_request.hh"
#include "sim/process.hh"

namespace heddle::sim {

namespace {

/// The port that a service means; -1 when it means none.
int port_of(const std::string& service) {
  static constexpr std::pair<const char*, int> known[] = {
      {"", 0}, {"domain", 53}, {"http", 80}, {"https", 443}};
  for (const auto& [name, port] : known)
    if (service == name) return port;
  int port = -1;
  const char* end = service.data() + service.size();
  const auto read = std::from_chars(service.data(), end, port);
  return read.ec == std::errc{} && read.ptr == end && port >= 0 && port <= 65535 ? port : -1;
}

/// Appends a numeric address; false when the text is none, or of a family not asked for.
bool append(resolve_request& ask, const std::string& text, int port) {
  ::sockaddr_in four{};
  ::sockaddr_in6 six{};
  resolve_request::found_address a;
  if (ask.family != AF_INET6 && ::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    a.len = sizeof four;
    std::memcpy(a.bytes.data(), &four, sizeof four);
  } else if (ask.family != AF_INET && ::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    a.len = sizeof six;
    std::memcpy(a.bytes.data(), &six, sizeof six);
  } else {
    return false;
  }
  ask.found.push_back(a);
  return true;
}

}  // namespace

nanoseconds process::resolve_delay(const void* asked) {
  const auto found = home.net.hosts.find(static_cast<const resolve_request*>(asked)->host);
  return found == home.net.hosts.end() ? nanoseconds{0} : found->second.delay;
}

std::int64_t process::resolve(void* asked) {
  auto& ask = *static_cast<resolve_request*>(asked);
  const int port = port_of(ask.service);
  if (port < 0) {
    ask.error = EAI_SERVICE;
    return 0;
  }
  std::vector<std::string> texts{ask.host};
  const auto found = home.net.hosts.find(ask.host);
  if (found != home.net.hosts.end())
    texts = found->second.addresses;
  else if (ask.host.empty() && ask.passive)
    texts = {"0.0.0.0", "::"};
  else if (ask.host.empty() || ask.host == "localhost")
    texts = {"127.0.0.1", "::1"};
  for (const std::string& text : texts) append(ask, text, port);
  ask.error = ask.found.empty() ? EAI_NONAME : 0;
  return 0;
}

std::int64_t process::list_directory(const inode& directory,
                                     std::vector<directory_entry>& entries) {
  if (directory.what != inode::kind::directory) return -ENOTDIR;
  static constexpr entry_type types[] = {entry_type::file, entry_type::directory, entry_type::link,
                                         entry_type::other};
  const auto first = static_cast<std::ptrdiff_t>(entries.size());
  for (const auto& [name, child] : directory.names)
    entries.push_back({name, types[static_cast<std::size_t>(child->what)]});
  // No file system promises an order, so a program must not lean on one.
  for (std::size_t n = entries.size() - static_cast<std::size_t>(first); n > 1; --n)
    std::swap(entries[static_cast<std::size_t>(first) + n - 1],
              entries[static_cast<std::size_t>(first) + chance.below(n)]);
  return static_cast<std::int64_t>(entries.size());
}

}  // namespace heddle::sim
