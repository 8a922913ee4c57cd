// SPDX-License-Identifier: MIT
// A hostile server's bytes against a client's connection of HTTP/2, in a simulated world: every
// request ends with an answer or with an error, nothing of the connection stays, and no more is
// kept than the windows allow. The first byte chooses limits and whether the rest is bytes as they
// are, or records that become frames with right lengths (type, flags, stream, size, payload); the
// second one is the size of the pieces in which they arrive.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/client/client.hh"
#include "heddle/heddle.hh"
#include "heddle/http/detail/http2_frame.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sim/driver.hh"

namespace {

using namespace heddle;

constexpr std::uint32_t window = 20'000;

void demand(bool condition) {
  if (!condition) std::abort();
}

std::string frames_of(std::string_view records) {
  std::string out;
  while (records.size() >= 4) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(records[i]); };
    const auto type = static_cast<http::http2_type>(at(0) % 12);
    const std::uint32_t stream = at(2) % 8;
    const std::size_t times = at(3) >= 250 ? 200 : 1;  // floods
    const std::size_t size = std::min<std::size_t>(at(3) % 64, records.size() - 4);
    for (std::size_t i = 0; i != times; ++i) {
      http::put_http2_head(out, size, type, at(1), stream);
      out.append(records.substr(4, size));
    }
    records.remove_prefix(4 + size);
  }
  return out;
}

task<> play(tcp_listener door, std::string bytes, std::size_t piece) {
  try {
    for (;;) {
      const tcp_stream on = co_await door.accept();
      for (std::size_t at = 0; at < bytes.size(); at += piece)
        co_await on.write(std::string_view(bytes).substr(at, piece));
      co_await sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const std::system_error&) {
  }
}

task<std::string> next_part(std::shared_ptr<int> left) {
  co_return --*left < 0 ? std::string() : std::string(9000, 'p');
}

task<> ask(http::client& web, std::string url, int kind, int& ended) {
  http::outgoing what(kind == 0 ? "GET" : kind == 1 ? "HEAD" : "POST", std::move(url));
  if (kind == 2) what.body("text/plain", std::string(70'000, 'b'));
  if (kind == 3)
    what.body("text/plain", [left = std::make_shared<int>(9)] { return next_part(left); });
  try {
    http::answer a = co_await web.open(std::move(what));
    demand(a.status() >= 200 && a.head().major_version() == 2);
    for (std::size_t total = 0;;) {
      const std::string_view part = co_await a.read();
      if (part.empty()) break;
      demand(part.size() <= window);
      demand(kind != 1);
      total += part.size();
      demand(total <= 1'000'000);
    }
  } catch (const std::system_error&) {
  }
  ++ended;
}

task<> world(std::string bytes, std::size_t piece, bool tight) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const std::string url = "http://" + door.local().to_string() + "/";
  http::client_options options;
  options.http2.prior_knowledge = true;
  options.http2.stream_window = window;
  options.http2.ping_after = std::chrono::milliseconds(5);
  options.http2.ping_timeout = std::chrono::milliseconds(5);
  options.timeouts.whole = std::chrono::milliseconds(50);
  options.timeouts.idle = std::chrono::milliseconds(2);
  options.bounds.body_bytes_max = 1'000'000;
  if (tight) {
    options.bounds.header_bytes_max = 100;
    options.bounds.header_count_max = 3;
    options.http2.streams_max = 2;
    options.http2.glitches_max = 3;
    options.http2.header_block_bytes_max = 100;
    options.http2.output_bytes_max = 100;
  }
  scope server;
  server.spawn(play(door, std::move(bytes), piece));
  int ended = 0;
  {
    http::client web(options);
    scope s;
    for (int kind = 0; kind < 4; ++kind) s.spawn(ask(web, url, kind, ended));
    co_await s.join();
  }
  demand(ended == 4);
  co_await sleep_for(std::chrono::milliseconds(5));
  door.close();
  server.cancel();
  co_await server.settled();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string bytes;
  if ((data[0] & 1) != 0) http::put_http2_head(bytes, 0, http::http2_type::settings, 0, 0);
  bytes += (data[0] & 2) != 0 ? frames_of(rest) : std::string(rest);
  const std::size_t piece = data[1] == 0 ? bytes.size() + 1 : data[1];
  sim_options few;
  few.limits.block_count = 64;  // each input makes a world: its memory is most of the time
  auto driver = std::make_unique<sim_driver>(few);
  sim_driver& checked = *driver;
  runtime rt(std::move(driver), {});
  rt.run(world(std::move(bytes), piece, (data[0] & 4) != 0));
  demand(checked.open_descriptors() == 0 && checked.blocks_out() == 0);
  return 0;
}
