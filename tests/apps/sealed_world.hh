// SPDX-License-Identifier: MIT
// A server of apps/sealed for one test, with files that the test plants, and somebody in the middle
// who changes or cuts what passes.
//
//   sealed_world world(make);
//   world.plant("a", "hello");
//   world.run([](server& files, address at) -> task<> { ... co_await get(at, "a") ... });
#pragma once

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "client.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/heddle.hh"
#include "io/folder.hh"
#include "server.hh"
#include "support/drivers.hh"

namespace sealed::test {

using heddle::address;
using heddle::scope;
using heddle::task;
using heddle::tcp_listener;
using heddle::tcp_stream;

inline shared_key test_key(char digit = '7') { return parse_key(std::string(64, digit), "test"); }

/// Bytes that differ everywhere, so that a part out of place is seen.
inline std::string sample(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 2654435761u >> 11);
  return text;
}

class sealed_world {
 public:
  using program = std::function<task<>(server&, address)>;

  explicit sealed_world(const heddle::test::driver_maker& make, unsigned workers = 0)
      : sealed_world(make(), workers) {}
  explicit sealed_world(std::unique_ptr<heddle::driver> io, unsigned workers = 0)
      : folder_(*io),
        sim_(dynamic_cast<heddle::sim_driver*>(io.get())),
        rt_(std::move(io), options_of(workers, reports_)) {
    make_folder("public");
  }
  /// No test of ours may leave a diagnostic behind: an event that nobody triggers, for one.
  ~sealed_world() {
    for (const std::string& said : reports_) ADD_FAILURE() << said;
  }

  /// A file that the server offers.
  void plant(const std::string& name, const std::string& content) {
    plant_at("public/" + name, content);
  }
  /// A file anywhere beneath the test's folder.
  void plant_at(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    if (sim_ != nullptr) {
      sim_->write_file(path, content);
    } else {
      std::ofstream(path, std::ios::binary) << content;
    }
  }
  void make_folder(const std::string& name) {
    if (sim_ != nullptr) {
      sim_->make_directories(folder_ / name);
    } else {
      std::filesystem::create_directories(folder_ / name);
    }
  }
  void make_link(const std::string& name, const std::string& target) {
    const std::string path = folder_ / ("public/" + name);
    if (sim_ != nullptr) {
      sim_->make_link(path, target);
    } else {
      std::filesystem::create_symlink(target, path);
    }
  }

  void run(program body, server_options o = {}) {
    rt_.run(serving(folder_ / "public", std::move(o), std::move(body)));
  }

  [[nodiscard]] heddle::runtime& rt() noexcept { return rt_; }
  [[nodiscard]] heddle::sim_driver* sim() noexcept { return sim_; }
  [[nodiscard]] const heddle::test::folder& folder() const noexcept { return folder_; }

 private:
  static heddle::runtime_options options_of(unsigned workers, std::vector<std::string>& reports) {
    heddle::runtime_options o;
    o.workers = workers;
    o.report = [&reports](const heddle::diagnostic& d) { reports.push_back(to_string(d)); };
    return o;
  }
  static task<> serving(std::string root, server_options o, program body) {
    server files(co_await heddle::open_directory(root), test_key(), std::move(o));
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    scope s;
    s.spawn(files.serve(door));
    co_await body(files, door.local());
    s.cancel();
    static_cast<void>(co_await heddle::as_expected(s.join()));
  }

  heddle::test::folder folder_;
  heddle::sim_driver* sim_;
  std::vector<std::string> reports_;
  heddle::runtime rt_;
};

/// Fetches one file into memory.
inline task<std::string> get(address at, std::string name, shared_key key = test_key()) {
  client from(key);
  co_await from.connect(at);
  const std::uint64_t size = co_await from.ask(name);
  std::string all;
  for (;;) {
    const std::string_view part = co_await from.next();
    if (part.empty()) break;
    all += part;
  }
  EXPECT_EQ(all.size(), size);
  co_return all;
}

/// How a get() ended: "" with the file, or the words of what was thrown.
inline task<std::string> why_not(address at, std::string name, std::string expected,
                                 shared_key key = test_key()) {
  std::string why;
  try {
    const std::string got = co_await get(at, name, key);
    EXPECT_EQ(got, expected) << "of " << name;
  } catch (const std::exception& e) {
    why = e.what();
    if (why.empty()) why = "?";
  }
  co_return why;
}

/// Until all that was served has been counted.
inline task<> sessions_to_end(const server& files) {
  while (files.counters().open != 0) co_await heddle::sleep_for(std::chrono::milliseconds(1));
}

/// What somebody in the middle does to one direction, counted in its bytes.
struct tampering {
  static constexpr std::size_t never = ~std::size_t{0};
  std::size_t flip_at = never;
  std::size_t cut_at = never;
};

inline task<> pump(tcp_stream from, tcp_stream to, tampering t, std::size_t& passed) {
  while (heddle::received in = co_await from.receive()) {
    const heddle::byte_span bytes = in.writable();
    if (t.flip_at >= passed && t.flip_at - passed < bytes.size())
      bytes[t.flip_at - passed] ^= std::byte{1};
    const std::size_t stays = std::min(bytes.size(), t.cut_at - passed);
    co_await to.write(heddle::byte_view(bytes.data(), stays));
    passed += stays;
    if (passed == t.cut_at) break;
  }
  to.shutdown_write();
  from.shutdown_read();
}

/// Passes one connection on to `server`.
inline task<> in_the_middle(tcp_listener& door, address server, tampering up, tampering down,
                            std::size_t& up_bytes, std::size_t& down_bytes) {
  up_bytes = down_bytes = 0;
  tcp_stream near = co_await door.accept();
  tcp_stream far = co_await heddle::tcp_connect(server);
  scope s;
  s.spawn(pump(near, far, up, up_bytes));
  s.spawn(pump(far, near, down, down_bytes));
  static_cast<void>(co_await heddle::as_expected(s.join()));
}

}  // namespace sealed::test
