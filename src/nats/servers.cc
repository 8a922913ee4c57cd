// SPDX-License-Identifier: MIT
// Texts of places come from options, and from servers.
#include "nats/servers.hh"

#include <algorithm>
#include <charconv>

#include "heddle/base/error.hh"

namespace heddle::nats::detail {
namespace {

constexpr std::uint16_t usual_port = 4222;

}  // namespace

std::string server_place::text() const {
  const bool v6 = host.find(':') != host.npos;
  return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

server_place place_of(std::string_view text) {
  const auto refuse = [whole = std::string(text)] {
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  '"' + whole + "\" is no server of NATS: write HOST, HOST:PORT or [::1]:PORT");
  };
  constexpr std::string_view scheme = "nats://";
  if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) refuse();
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
  }
  server_place made{std::string(host), usual_port};
  if (!port.empty()) {
    const char* const end = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, end, made.port);
    if (port.front() != ':' || read.ec != std::errc() || read.ptr != end || made.port == 0)
      refuse();
  }
  const bool printable = std::ranges::all_of(host, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != 0x7f && c != '/' && c != '@';
  });
  if (host.empty() || !printable) refuse();
  return made;
}

server_list::server_list(const std::vector<std::string>& texts, std::size_t most) : most_(most) {
  for (const std::string& text : texts) {
    server_place place = place_of(text);
    if (std::ranges::find(all_, place) == all_.end()) all_.push_back(std::move(place));
  }
  if (all_.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a connection to NATS needs a server: set connection_options::servers");
}

server_place server_list::next() noexcept {
  last_ = following();
  return all_[last_];
}

void server_list::learn(std::string_view text) {
  if (all_.size() >= most_) return;
  try {
    server_place place = place_of(text);
    if (std::ranges::find(all_, place) == all_.end()) all_.push_back(std::move(place));
  } catch (const failure&) {
  }
}

}  // namespace heddle::nats::detail
