// SPDX-License-Identifier: MIT
// Any bytes into the server's end of a TLS stream over a stream in memory, in the simulated world:
// no byte that was not sealed by the client is given, and everything ends. The first byte chooses
// whether the server has own records, and whether the bytes come instead of a handshake, after one,
// or sealed in records after one; the second the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/heddle.hh"
#include "heddle/io/unix.hh"
#include "heddle/sim/driver.hh"
#include "heddle/tls/authority.hh"
#include "heddle/tls/stream.hh"
#include "tls/client_state.hh"
#include "tls/ssl_engine.hh"

namespace {

using namespace heddle;
using tls::detail::engine;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// A site with and without own records. No client here checks its certificate.
struct sites {
  sites() {
    char folder[] = "/tmp/heddle-fuzz-XXXXXX";
    demand(::mkdtemp(folder) != nullptr);
    const std::string chain = std::string(folder) + "/site.pem";
    const std::string key = std::string(folder) + "/site.key";
    const tls::pem_pair pair = tls::issue(tls::make_authority("Fuzz"), {.names = {"localhost"}});
    std::ofstream(chain) << pair.certificate;
    std::ofstream(key) << pair.key;
    tls::server_options options{.certificates = {{chain, key}}};
    options.bounds.handshake_timeout = std::chrono::milliseconds(50);
    openssl = std::make_unique<tls::server_context>(options);
    options.own_records = true;
    own = std::make_unique<tls::server_context>(options);
    std::filesystem::remove_all(folder);
  }
  std::unique_ptr<tls::server_context> openssl;
  std::unique_ptr<tls::server_context> own;
};

const sites& all_sites() {
  static const sites made;
  return made;
}

struct plan {
  bool own;
  bool shakes;
  bool seals;
  std::size_t piece;
  std::string bytes;
};

task<> serve_one(stream over, tls::server_context site, std::string& got) {
  try {
    stream s = co_await tls::accept(std::move(over), std::move(site));
    while (received in = co_await s.receive()) {
      got += in.text();
      co_await s.write(in.data());
    }
    s.shutdown_write();
  } catch (const std::system_error&) {
  }
}

task<> drain(stream from) {
  try {
    while (received in = co_await from.receive()) in.release();
  } catch (const std::system_error&) {
  }
}

task<> send_out(engine& by, stream& to) {
  const std::string bytes(by.out().bytes().text());
  if (bytes.empty()) co_return;
  by.out().drop_prefix(bytes.size());
  co_await to.write(std::string_view(bytes));
}

task<> shake_hands(engine& client, stream& over) {
  while (client.shake() != engine::step::done) {
    demand(!client.broken());
    co_await send_out(client, over);
    received in = co_await over.receive();
    demand(!in.empty());
    client.feed(std::move(in));
  }
  co_await send_out(client, over);
}

task<> attack(stream over, const plan& p) {
  static tls::detail::client_state trust({.verify = false, .sessions_max = 0});
  static const std::string host = "localhost";
  static constexpr tls::limits bounds{};
  scope s;
  try {
    std::unique_ptr<engine> client;
    if (p.shakes) {
      client = std::make_unique<tls::detail::ssl_engine>(trust.open(host), false, bounds);
      co_await shake_hands(*client, over);
    }
    s.spawn(drain(over));
    for (std::size_t at = 0; at < p.bytes.size(); at += p.piece) {
      const std::string_view part = std::string_view(p.bytes).substr(at, p.piece);
      if (p.seals) {
        const byte_view texts[] = {part};
        demand(client->seal(texts, part.size()) == part.size());
        co_await send_out(*client, over);
      } else {
        co_await over.write(part);
      }
    }
    over.shutdown_write();
  } catch (const std::system_error&) {
  }
  co_await s.join();
}

task<> play(const plan& p) {
  auto [left, right] = unix_pair();
  std::string got;
  scope s;
  s.spawn(serve_one(std::move(left), p.own ? *all_sites().own : *all_sites().openssl, got));
  s.spawn(attack(std::move(right), p));
  co_await s.join();
  demand(got == (p.seals ? p.bytes : std::string()));
  co_await sleep_for(std::chrono::seconds(6));  // ends that are still on their way
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  plan p{.own = (data[0] & 1) != 0,
         .shakes = data[0] % 8 >= 6,
         .seals = data[0] % 16 >= 14,
         .piece = data[1] < 128 ? data[1] + 1u : (data[1] - 127u) * 200u,
         .bytes = std::string(reinterpret_cast<const char*>(data + 2), size - 2)};
  auto d = std::make_unique<sim_driver>();
  const sim_driver& sim = *d;
  runtime rt(std::move(d), {});
  rt.run(play(p));
  demand(sim.open_descriptors() == 0);
  return 0;
}
