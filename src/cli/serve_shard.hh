// SPDX-License-Identifier: MIT
// One worker's part of `heddle serve`: a server, its site, its log and its door, in a color of its
// own. Shards share nothing but the listening socket: a connection belongs to the shard that took
// it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/serve_options.hh"
#include "cli/serve_site.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/message.hh"
#include "heddle/http/access_log.hh"
#include "heddle/http/server.hh"
#include "heddle/io/tcp.hh"

namespace heddle::cli {

/// What is shown of one or all shards.
struct shard_totals {
  http::server_counters server;
  site_counters site;
  std::uint64_t log_dropped = 0;

  shard_totals& operator+=(const shard_totals& other);
};

/// Thread: its color, except where a member says otherwise.
class shard {
 public:
  /// `show_metrics` fills the page, in this shard's color; of() tells which shard that is.
  shard(const serve_options& o, unsigned number, unsigned count,
        site::metrics_function show_metrics);

  [[nodiscard]] color own_color() const noexcept { return color(number_); }

  /// Serves until it was told to drain and has; writes the log's last lines.
  [[nodiscard]] task<> serve(tcp_listener door);
  /// Takes no more connections, and ends, after this span, when those that are open have.
  void drain(nanoseconds grace);
  /// Closes what is open.
  void stop() noexcept { web_->stop(); }
  /// Answers from now on as these settings say; what is being answered keeps the old ones. Throws
  /// as site's constructor.
  void change(const serve_options& o);

  /// Thread: any color's: it comes here and goes home.
  [[nodiscard]] task<shard_totals> totals();

 private:
  static constexpr nanoseconds close_door_timeout = std::chrono::seconds(1);
  static constexpr nanoseconds last_lines_timeout = std::chrono::seconds(2);

  [[nodiscard]] task<> last_lines();
  [[nodiscard]] task<> close_door(nanoseconds grace);

  unsigned number_;
  unsigned count_;
  http::access_log log_;
  bool logs_;
  std::optional<http::server> web_;
  scope* side_ = nullptr;  // while it serves
  tcp_listener door_;      // also the server's; it closes it when no more is to be taken
  site::metrics_function show_metrics_;
  std::unique_ptr<site> now_;
  std::vector<std::unique_ptr<site>> old_;
};

}  // namespace heddle::cli
