// SPDX-License-Identifier: MIT
// The server: accepts, greets, and answers requests for files with sealed records. Each client has
// a color of its own, in which its session runs: reading, encrypting and sending go on for several
// clients at once. What they share, the cache and the counters, is plain data of color 0.
#pragma once

#include <functional>

#include "cache.hh"
#include "greeting.hh"
#include "heddle/core/scope.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sync/semaphore.hh"
#include "wire.hh"

namespace sealed {

struct server_options {
  agreement records = {};                ///< the cipher, and the size of a full data record
  std::size_t batch_bytes = 128 * 1024;  ///< of a file that are sealed and sent in one go
  cache_limits cache = {};
  std::uint32_t connections_max = 1024;  ///< open at once; more wait in the kernel's backlog
  heddle::nanoseconds greeting_timeout = std::chrono::seconds(10);
  heddle::nanoseconds idle_timeout = std::chrono::seconds(60);   ///< for the next request
  heddle::nanoseconds write_timeout = std::chrono::seconds(30);  ///< for a batch to be taken
  /// Gets a line about each connection that ended otherwise than by the client's leave.
  std::function<void(const std::string&)> note = {};
};

struct server_counters {
  std::uint64_t connections = 0;
  std::uint32_t open = 0;      ///< now
  std::uint32_t open_max = 0;  ///< at once, so far
  std::uint64_t files = 0;     ///< sent to their last byte, as of the client's last request or end
  std::uint64_t bytes = 0;     ///< of files, as sent by then
  std::uint64_t refusals = 0;  ///< requests that were answered with a reason
  std::uint64_t failures = 0;  ///< connections that ended in the middle, or broke a rule
};

/// Thread: color 0; a connection and its keys are used in the client's. Owns: the cache. It
/// outlives serve(). Cancel: serve() ends when its sessions have ended; each ends at its next wait.
///
///   server files(co_await open_directory("public"), key);
///   co_await files.serve(door);
class server {
 public:
  /// Fails with trouble when the options contradict each other.
  server(heddle::directory root, const shared_key& key, server_options options = {});

  /// Takes connections until it is cancelled.
  [[nodiscard]] heddle::task<> serve(const heddle::tcp_listener& door);
  /// One connection, to its end; never throws but when it is cancelled.
  [[nodiscard]] heddle::task<> session(heddle::tcp_stream conn);

  [[nodiscard]] const server_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const file_cache& cache() const noexcept { return cache_; }

 private:
  /// A client's connection and keys, in its color.
  struct client;
  /// What a session has sent, until it is counted.
  struct sent {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };
  struct counted_session;

  [[nodiscard]] heddle::task<> session_in(heddle::tcp_stream conn, heddle::semaphore::hold place);
  /// In the client's color from here on, but for cached().
  [[nodiscard]] heddle::task<> converse(heddle::tcp_stream conn, heddle::color own, sent& done);
  [[nodiscard]] heddle::task<session_secrets> greet(const heddle::tcp_stream& conn);
  [[nodiscard]] heddle::task<> answer(client& c, std::string name);
  /// In color 0: the file, and what was sent so far is counted.
  [[nodiscard]] heddle::task<content> cached(std::string name, sent& done);
  [[nodiscard]] heddle::task<> send_file(client& c, content file);
  [[nodiscard]] heddle::task<> send_text(client& c, record_type type, std::string text);

  void count(sent& done) noexcept;

  shared_key key_;
  server_options options_;
  file_cache cache_;
  heddle::semaphore places_;
  server_counters counters_;
};

}  // namespace sealed
