// SPDX-License-Identifier: MIT
// A run of a cluster as a file: its seed, the troubles and faults with their times, and how it
// failed. The file replays the run, people can read and edit it, and leaving one fault out moves no
// other one. docs/reference/sim.md has the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/sim/options.hh"

namespace heddle::sim {

enum class trouble_kind : std::uint8_t { partition, heal, kill, restart, pause, clock, link };

/// Something that is done to a cluster at a time since its start.
struct trouble {
  nanoseconds at{0};
  trouble_kind kind = trouble_kind::heal;
  std::string node;
  std::string other = {};    ///< for partition, heal and link
  death how = death::power;  ///< for kill
  std::uint64_t keep = 0;    ///< for a power failure: the seed of what the disk keeps
  nanoseconds span{0};       ///< for pause and clock
  sim_link link = {};        ///< for link
};

/// A fault of one operation or call of a process.
struct operation_fault {
  std::string process;          ///< "web"; "web#2" after the first restart
  std::string operation;        ///< "send", "open", "socket", ...
  std::uint64_t ordinal = 1;    ///< the 3rd send is 3; those of each process and kind are counted
  int error = 0;                ///< errno; 0: it is tried
  bool reset = false;           ///< the connection breaks
  std::uint32_t bytes_max = 0;  ///< no more than this moves; 0: no bound
  nanoseconds delay{0};         ///< the operation starts later
};

/// Draws of a stream of chance, numbered from 1, that give what changes least instead of what the
/// seed gives: the first in a line, at once, no delay.
struct calm_draws {
  std::string stream;  ///< "turns", "web.order", "web.wire", ...
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

struct run_file {
  std::string program = {};  ///< the name of the scenario
  std::string build = {};    ///< the build that wrote the file; see build_id()
  std::uint64_t seed = 1;
  nanoseconds calm_at{0};  ///< from then on all is healed; 0: never
  std::vector<trouble> troubles = {};
  std::vector<operation_fault> faults = {};
  std::vector<calm_draws> calm = {};
  std::map<std::string, std::uint64_t> sizes = {};  ///< cluster::size()
  std::string expect = {};                          ///< the scenario's verdict, in one line
  std::uint64_t trace_hash = 0;
};

[[nodiscard]] std::string to_text(const run_file& run);
/// Throws failure(invalid_argument) with the number of the line and the words that are allowed.
[[nodiscard]] run_file parse_run_file(std::string_view text);
/// Names this program's build: the build ID that its linker gave it, or a hash of its file.
[[nodiscard]] std::string build_id();

}  // namespace heddle::sim
