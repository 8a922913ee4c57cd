// SPDX-License-Identifier: MIT
// Several computers in one simulated world: each node runs a program in a runtime of its own, with
// its own addresses, clock and disk. Links break in one direction, processes pause, computers die
// and start again on what their disk kept, and the same seed gives the same run.
// docs/reference/sim.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "heddle/sim/run_file.hh"

namespace heddle::sim {

class cluster;
class node;

struct node_options {
  /// Letters, digits, '-', '_' and '.'; also its host name, which all nodes can resolve.
  std::string name;
  std::vector<std::string> addresses = {};  ///< numeric; empty: 10.0.0.1 for the first node, ...
  /// Called at each start of the node. The process ends with it: descriptors are closed then,
  /// and tasks that have not ended are cancelled, without effect.
  std::function<task<int>(node&)> program;
  bool service = false;         ///< cluster::run() does not wait for the end of its program
  bool spared = false;          ///< no trouble is drawn for it
  nanoseconds clock_offset{0};  ///< how far its clocks are ahead
  double clock_rate = 1;        ///< 0.5 to 2; 1.0002 is 200 ppm too fast
  std::size_t memory_bytes = std::size_t{64} << 20;  ///< address space for its frames
  /// The cluster sets the driver, the signals, the memory and the one worker.
  runtime_options runtime = {};
};

/// A computer of a cluster. Thread: the cluster's.
class node {
 public:
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  ~node();

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  /// The node's first address.
  [[nodiscard]] const std::string& address() const noexcept { return options_.addresses.front(); }
  /// Whether its process runs: since run() began or a restart, until a kill or the program's end.
  [[nodiscard]] bool running() const noexcept;
  /// The value of the program, if it has ended by itself since the last start.
  [[nodiscard]] std::optional<int> result() const noexcept { return result_; }
  /// How often the node was started.
  [[nodiscard]] unsigned starts() const noexcept { return starts_; }
  /// The driver of the process: faults, signals, descriptors. Asserts that there is one, so ask
  /// running(); a program may always ask for its own.
  [[nodiscard]] sim_driver& driver() noexcept;

  // The disk, also while nothing runs. Planted files are durable.
  void write_file(std::string_view path, std::string_view content);
  [[nodiscard]] std::map<std::string, std::string> files() const;
  [[nodiscard]] std::map<std::string, std::string> durable_files() const;

 private:
  friend class cluster;
  node(cluster& home, node_options options, computer& place);
  static task<> run_program(node& n);

  cluster& home_;
  node_options options_;
  computer& place_;
  std::unique_ptr<heddle::runtime> runtime_;
  sim_driver* driver_ = nullptr;
  bool start_asked_ = true;
  bool busy_ = false;  ///< frames are ready
  time_point paused_until_ = time_point::min();
  std::optional<int> result_;
  unsigned starts_ = 0;
};

/// How a run ended.
struct outcome {
  enum class kind : std::uint8_t {
    finished,        ///< every program that is no service has ended
    time_over,       ///< the limit of run() is reached; run() goes on
    nothing_left,    ///< programs wait for what can never come
    too_many_turns,  ///< cluster_options::turns_max
    failed,  ///< a program threw, or did not end after a kill; each later run() says so, too
  };
  kind how = kind::finished;
  std::string why = {};  ///< the event and its place; empty if finished
  [[nodiscard]] explicit operator bool() const noexcept { return how == kind::finished; }
};

/// Troubles that are drawn before a run begins (run_file.hh).
struct trouble_options {
  unsigned count_max = 0;  ///< 0 to this many
  /// Troubles come before; at this time all is healed, and killed nodes start again.
  nanoseconds until = std::chrono::seconds(20);
  /// Partitions are healed and kills followed by a restart at drawn times, or not until the end.
  std::vector<trouble_kind> kinds = {trouble_kind::partition, trouble_kind::kill,
                                     trouble_kind::pause, trouble_kind::clock, trouble_kind::link};
};

struct cluster_options {
  /// The seed, the links, the faults; the buffers and other limits are those of each node.
  sim_options world = {};
  trouble_options trouble = {};
  std::optional<run_file> replay = {};  ///< a run to repeat, instead of drawn troubles
  unsigned nodes_max = 32;
  std::uint64_t memory_bytes_max = std::uint64_t{2} << 30;  ///< address space for frames, of all
  nanoseconds time_max = std::chrono::hours(1);             ///< virtual, in all
  std::function<void(const cluster&)> at_end = {};  ///< called before its destructor ends processes
  std::uint64_t turns_max = 10'000'000;             ///< turns of all nodes together
};

/// A world with several nodes. Functions that break something do so at once, and may be called
/// before run(), from at(), and by programs. Declare the cluster behind all that its programs use,
/// because their tasks end in its destructor.
/// Thread: one, for all nodes. Owns: the nodes; its destructor ends their processes.
/// Errors: failure(invalid_argument) with the name of the option that is wrong.
///
///   sim::cluster all({.world = {.seed = 7}});
///   sim::node& web = all.add({.name = "web", .program = serve, .service = true});
///   sim::node& user = all.add({.name = "user", .program = ask});
///   all.at(2s, [&] { all.partition(user, web); });
///   all.at(5s, [&] { all.heal(); });
///   const sim::outcome end = all.run(1min);
///   EXPECT_TRUE(end) << end.why << all.trace_text();
class cluster {
 public:
  cluster();
  explicit cluster(cluster_options options);
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;
  ~cluster();

  node& add(node_options options);
  [[nodiscard]] node* find(std::string_view name) noexcept;
  [[nodiscard]] std::span<const std::unique_ptr<node>> nodes() const noexcept { return nodes_; }

  // The network.
  /// Cuts one direction. Datagrams, requests to connect and resets are lost in it. Bytes and ends
  /// of streams wait, and arrive after heal(), later by at most the time that the cut lasted; after
  /// 924.6 s the sender sees ETIMEDOUT.
  void partition(node& from, node& to);
  void partition(std::span<node* const> from, std::span<node* const> to);
  void heal(node& from, node& to);
  void heal();
  /// Sets the link between two nodes, in both directions, for open connections too.
  void set_link(node& one, node& other, sim_link link);
  /// Answers `resolve` with numeric addresses, on every node.
  void set_host(std::string name, std::vector<std::string> addresses,
                nanoseconds delay = nanoseconds{1'000'000});

  // Processes and clocks.
  /// From now on nothing that the process does reaches the others. No destructor has an effect: the
  /// tasks are cancelled apart, to free their memory. If nothing runs, a power failure still loses
  /// changes that were not synced.
  void kill(node& n, death how = death::power);
  /// Starts the program again on what the disk has kept, before anything else happens. Does nothing
  /// if the node runs.
  void restart(node& n);
  /// Stops the process for a time. Its sockets stay, and take what they have room for.
  void pause(node& n, nanoseconds span);
  /// Sets the node's driver::wall_time() forward or back; its now() never jumps.
  void jump_clock(node& n, nanoseconds span);

  /// A size of this run, such as the number of clients: that of a replayed file, else `usual`.
  /// Shrinking makes it smaller, down to 1, so let it bound what the programs do.
  [[nodiscard]] std::uint64_t size(const std::string& name, std::uint64_t usual);

  // Time.
  /// Calls at this time since the start of the cluster, outside of all nodes.
  void at(nanoseconds when, std::function<void()> what);
  /// The time since the start of the cluster.
  [[nodiscard]] nanoseconds time() const noexcept;
  /// Starts the nodes, and runs until all programs but services have ended, or with services alone
  /// as long as anything can happen; for at most this time. Exceptions of functions given to at()
  /// leave it; it can be called again.
  outcome run(nanoseconds longest);

  // The trace.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  /// The last records of all nodes, or of one.
  [[nodiscard]] std::string trace_text(const node* only = nullptr) const;
  void note(std::string_view text);
  /// The run until now: its seed, the troubles that were drawn, the faults that came, its trace.
  [[nodiscard]] run_file record() const;
  /// How many numbers each stream of chance has given.
  [[nodiscard]] std::map<std::string, std::uint64_t> draws() const;

 private:
  friend class node;
  void draw_troubles();
  void apply(const trouble& t);
  void calm_down();
  [[nodiscard]] nanoseconds calm_at() const noexcept;
  void kill(node& n, death how, std::uint64_t keep);
  void start(node& n);
  void bury(node& n);
  void bury_and_start();
  void step(node& n);
  void fail(const node& n, const std::string& what);
  [[nodiscard]] bool finished() const noexcept;
  [[nodiscard]] bool is_ready(node& n) const noexcept;
  void check(const node& n) const;
  [[nodiscard]] time_point next_time() const noexcept;
  [[nodiscard]] std::string where_all_wait();

  cluster_options options_;
  std::shared_ptr<world> world_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<trouble> troubles_;
  std::map<std::string, std::uint64_t> sizes_;
  bool prepared_ = false;
  bool unwinding_ = false;  ///< code of a process that has ended runs: it has no effect
  std::string failed_;
};

}  // namespace heddle::sim
