// SPDX-License-Identifier: MIT
// One worker's part of `heddle serve`: a server, its topics and what is bound to them, and its
// door, in a color of its own. Shards share nothing but the listening socket: a connection belongs
// to the shard that took it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/serve_answer_counts.hh"
#include "cli/serve_options.hh"
#include "cli/serve_site.hh"
#include "cli/serve_topics.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/message.hh"
#include "heddle/http/access_log.hh"
#include "heddle/http/server.hh"
#include "heddle/io/tcp.hh"

namespace heddle::cli {

/// What is shown of one or all shards.
struct shard_totals {
  http::server_counters server;
  folder_counters folder;
  answer_table answers;
  std::uint64_t log_dropped = 0;
  std::uint64_t handlers_merged = 0;  ///< called directly, by the plan that the program has

  shard_totals& operator+=(const shard_totals& other);
};

/// Thread: its color, except where a member says otherwise.
class shard {
 public:
  /// `show_metrics` fills the page, in this shard's color; of() tells which shard that is.
  shard(const serve_options& o, unsigned number, unsigned count, page_filler show_metrics);

  [[nodiscard]] color own_color() const noexcept { return color(number_); }

  /// Serves until it was told to drain and has; writes the log's last lines.
  [[nodiscard]] task<> serve(tcp_listener door);
  /// Takes no more connections, and ends, after this span, when those that are open have.
  void drain(nanoseconds grace);
  /// Closes what is open.
  void stop() noexcept { web_->stop(); }
  /// Answers from now on as these settings say; what is being answered keeps the old ones. Throws
  /// as site's constructor, and then nothing has changed.
  void change(const serve_options& o);

  /// Thread: any color's: it comes here and goes home.
  [[nodiscard]] task<shard_totals> totals();

 private:
  static constexpr nanoseconds close_door_timeout = std::chrono::seconds(1);
  static constexpr nanoseconds last_lines_timeout = std::chrono::seconds(2);

  [[nodiscard]] http::server_options options_of(const serve_options& o);
  [[nodiscard]] task<http::response> answer(http::request& r);
  [[nodiscard]] http::response error(const http::request_head* head, int status,
                                     std::string_view why);
  [[nodiscard]] task<> last_lines();
  [[nodiscard]] task<> close_door(nanoseconds grace);

  unsigned number_;
  unsigned count_;
  bus bus_;  // its topics are this color's alone
  http::access_log log_;
  bool logs_;
  std::optional<answer_counts> answers_;  // with --metrics
  std::optional<http::server> web_;
  scope* side_ = nullptr;  // while it serves
  tcp_listener door_;      // also the server's; it closes it when no more is to be taken
  page_filler show_metrics_;
  std::unique_ptr<site> now_;
  std::vector<std::unique_ptr<site>> old_;
};

}  // namespace heddle::cli
