// SPDX-License-Identifier: MIT
// One worker's part of `heddle serve`: a server, its topics with their handlers, and its listening
// socket, in a color of its own. Shards share only the listening socket; a connection belongs to
// the shard that accepted it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "heddle/core/detail/message.hh"
#include "heddle/core/enter.hh"
#include "heddle/http/proxy_protocol.hh"
#include "heddle/io/listener.hh"
#include "heddle/web/access_log.hh"
#include "heddle/web/server.hh"
#include "serve/answer_counts.hh"
#include "serve/door.hh"
#include "serve/net.hh"
#include "serve/options.hh"
#include "serve/site.hh"
#include "serve/tls.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The statistics of one shard or of all.
struct shard_totals {
  http::server_counters server;
  folder_counters folder;
  upstream_table upstreams;
  answer_table answers;
  std::uint64_t log_dropped = 0;
  stack_totals stack;
  std::uint64_t handlers_merged = 0;  ///< called directly because of the program's plan

  shard_totals& operator+=(const shard_totals& other);
};

/// Thread: its color, unless a member says otherwise.
class shard {
 public:
  /// `show_metrics` fills the metrics page, in this shard's color; of() gives the shard of a color.
  shard(const serve_options& o, unsigned number, unsigned count, int log_descriptor,
        page_filler show_metrics);

  [[nodiscard]] color own_color() const noexcept { return color(number_); }

  /// Takes the shard's listeners on the kernel's TCP. Thread: any color, before serve().
  void take(listener door, std::vector<more_door> more);
  /// Listens by TCP in the program instead, at this address of its stack. All shards must listen
  /// before the first client learns of the server: another queue of the device changes which shard
  /// gets a packet. Thread: any color; it enters this shard's color and returns.
  [[nodiscard]] task<> listen(const serve_options& o, address at,
                              std::shared_ptr<tcp::memory_budget> process);
  /// Serves until drain() was called and has finished; then writes the last lines of the log.
  [[nodiscard]] task<> serve(const secure_door& tls);
  /// Closes its listeners and gives the queue of the device back, after all shards have ended: the
  /// kernel would bring packets of their connections to another queue. Thread: any color.
  [[nodiscard]] task<> leave();
  /// Accepts no more connections, and ends when the open ones have ended or this span is over.
  /// Answers from now on tell clients that their connection closes.
  void drain(nanoseconds grace);
  /// Closes the open connections.
  void stop() noexcept { web_->stop(); }
  /// Makes the parts for these settings, which answer nothing yet, to find out whether change() can
  /// make them. They exist until change() or forget(), so that all shards have theirs at once.
  /// Throws as the constructor of site.
  void prepare(const serve_options& o);
  void forget() noexcept { prepared_.reset(); }
  /// Uses these settings for new requests; requests in progress keep the old ones. Throws as the
  /// constructor of site, and then changes nothing.
  void change(const serve_options& o);

  /// Thread: any color; it enters this shard's color and returns.
  [[nodiscard]] task<shard_totals> totals();

 private:
  static constexpr nanoseconds last_bytes_timeout = std::chrono::seconds(2);
  static constexpr nanoseconds last_lines_timeout = std::chrono::seconds(2);

  [[nodiscard]] http::server_options options_of(const serve_options& o);
  [[nodiscard]] task<http::response> answer(http::request& r);
  [[nodiscard]] http::response error(const http::request_head* head, int status,
                                     std::string_view why);
  [[nodiscard]] task<> last_lines();
  [[nodiscard]] task<> close_door(nanoseconds grace);

  unsigned number_;
  unsigned count_;
  bus bus_;  // only this color uses its topics
  int log_descriptor_;
  http::access_log log_;
  bool logs_;
  std::shared_ptr<surroundings> around_;
  std::optional<answer_counts> answers_;  // set with --metrics
  std::optional<http::server> web_;
  scope* side_ = nullptr;  // set while it serves
  std::optional<http::proxy_protocol_options> heralded_;
  listener door_;  // the server has a duplicate; closed when no more is accepted
  std::vector<more_door> more_doors_;  // --listen
  net::provider net_;                  // the kernel's, unless listen() was called
  page_filler show_metrics_;
  /// Parts of a site that answer nothing, because nothing is raised on this bus.
  struct prepared {
    prepared(const serve_options& o, const page_filler& fill);
    bus unused;
    site parts;
  };
  std::unique_ptr<prepared> prepared_;
  std::unique_ptr<site> now_;
  std::vector<std::unique_ptr<site>> old_;
};

}  // namespace heddle::serve
