// SPDX-License-Identifier: MIT
// for_runs: seeds, the small run that is left of a failure, and its replay.
#include "heddle/sim/runs.hh"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/error.hh"
#include "sim/seed_command.hh"
#include "sim/shrink.hh"

namespace heddle::sim {

namespace {

// A trace of this many records is compared line by line; in longer ones the first are missing.
constexpr std::uint32_t trace_lines_kept = 1'000'000;

/// A run and all that is known of it afterwards.
struct finished_run {
  attempt what;
  run_file record;
  std::string trace;
  std::set<std::string> nodes;
};

class scenario_runs {
 public:
  scenario_runs(const runs_options& options, const scenario& body)
      : options_(options), body_(body), build_(build_id()) {}

  [[nodiscard]] const std::string& build() const noexcept { return build_; }

  finished_run run(std::uint64_t seed) {
    cluster_options own = options_.cluster;
    own.world.seed = seed;
    return finish(std::move(own));
  }
  /// Runs a seed, and some seeds again: a run that does not repeat fails.
  finished_run run_and_repeat(std::uint64_t seed) {
    finished_run done = run(seed);
    const std::uint64_t one_in = options_.repeat_one_in;
    if (!done.what.said.empty() || one_in == 0 || seed % one_in != 0) return done;
    // Moves what the programs allocate from the heap.
    if (layout_.size() == 100) layout_.clear();
    layout_.push_back(std::make_unique<std::byte[]>(1 + seed * 7919 % 5000));
    finished_run again = run(seed);
    if (again.record.trace_hash == done.record.trace_hash) {
      // The scenario keeps something from run to run that no trace shows.
      if (!again.what.said.empty()) again.what.said = "differs: " + again.what.said;
      again.record.expect = first_line(again.what.said);
      return again;
    }
    done.what.said = differs;
    done.record.expect = differs;
    return done;
  }
  finished_run run(const run_file& file) { return finish(repeating(file)); }
  /// As run(), and keeps the trace, to be compared line by line.
  finished_run run_traced(const run_file& file) {
    cluster_options own = repeating(file);
    own.world.trace_lines_max = trace_lines_kept;
    return finish(std::move(own), true);
  }

 private:
  [[nodiscard]] cluster_options repeating(const run_file& file) const {
    cluster_options own = options_.cluster;
    own.world.seed = file.seed;
    own.replay = file;
    return own;
  }
  finished_run finish(cluster_options own, bool traced = false) {
    finished_run done;
    bool made = false;
    own.at_end = [&](const cluster& world) {
      done.nodes.clear();
      for (const auto& n : world.nodes()) done.nodes.insert(n->name());
      made = true;
      done.what.draws = world.draws();
      done.record = world.record();
      if (traced) done.trace = world.trace_text();
    };
    try {
      done.what.said = body_(own);
    } catch (const std::exception& e) {
      done.what.said = std::string("throws: ") + e.what();
    } catch (...) {
      done.what.said = "throws: something that is no std::exception";
    }
    if (!made && done.what.said.empty())
      done.what.said = "no cluster: the scenario makes none of the options that it gets";
    done.record.program = options_.name;
    done.record.build = build_;
    done.record.expect = first_line(done.what.said);
    return done;
  }

  static constexpr const char* differs = "differs: two runs of one seed";

  const runs_options& options_;
  const scenario& body_;
  std::string build_;
  std::vector<std::unique_ptr<std::byte[]>> layout_;
};

std::string read_all(const std::string& path, bool& there) {
  std::error_code wrong;
  std::ifstream file(path, std::ios::binary);
  there = file.is_open() && !std::filesystem::is_directory(path, wrong);
  if (!there) return "";
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write_all(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return file.flush().good();
}

std::string trace_path(const std::string& run_path) {
  return std::filesystem::path(run_path).replace_extension(".trace").string();
}

/// Says where two traces begin to differ.
std::string first_difference(const std::string& then, const std::string& now) {
  std::istringstream before(then), after(now);
  std::string was, is;
  for (std::size_t number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(before, was));
    const bool also = static_cast<bool>(std::getline(after, is));
    if (!more && !also) return "";
    if (more && also && was == is) continue;
    return "first difference at record " + std::to_string(number) +
           "\n  then: " + (more ? was : "the end") + "\n  now:  " + (also ? is : "the end") + '\n';
  }
}

/// The nodes of a file that the scenario does not have.
std::set<std::string> unknown_nodes(const run_file& file, const std::set<std::string>& nodes) {
  std::set<std::string> named;
  for (const trouble& t : file.troubles) {
    named.insert(t.node);
    if (!t.other.empty()) named.insert(t.other);
  }
  for (const operation_fault& f : file.faults)
    named.insert(f.process.substr(0, f.process.find('#')));
  std::erase_if(named, [&nodes](const std::string& name) { return nodes.contains(name); });
  return named;
}

/// Refuses a name that cannot be a file's.
void check_name(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (name.empty() || name.size() > 100 || !std::all_of(name.begin(), name.end(), plain))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "runs_options::name: '" + name + "' is not of 1 to 100 letters, digits and '-'");
}

void say(const std::string& text) { std::fprintf(stderr, "heddle: %s\n", text.c_str()); }

runs_outcome replay(const char* path, const runs_options& options, scenario_runs& runs) {
  runs_outcome outcome{.file = path};
  bool there = false;
  const std::string text = read_all(path, there);
  if (!there) {
    say(std::string("HEDDLE_RUN: cannot read ") + path);
    return outcome;
  }
  run_file file;
  try {
    file = parse_run_file(text);
  } catch (const failure& wrong) {
    say(std::string(path) + ": " + wrong.what());
    return outcome;
  }
  if (file.program != options.name) {
    say(std::string(path) + " is of " + file.program + ", and this is " + options.name);
    return outcome;
  }
  const bool other_build = file.build != runs.build();
  const char* const anyway = setting("HEDDLE_RUN_ANYWAY");
  if (other_build && (anyway == nullptr || std::string_view(anyway) != "1")) {
    say(std::string(path) +
        " was written by another build of this program, which may run differently: "
        "HEDDLE_RUN_ANYWAY=1 replays it");
    return outcome;
  }
  finished_run now = runs.run_traced(file);
  outcome.ran = 1;
  outcome.failed = now.what.said;
  outcome.smallest = now.record;
  for (const std::string& name : unknown_nodes(file, now.nodes))
    say(std::string(path) + ": there is no node " + name + ", so its lines change nothing");
  if (now.what.said.empty())
    say(std::string(path) + " does not fail; it was: " + file.expect);
  else
    say(std::string(path) +
        (first_line(now.what.said) == file.expect ? " fails as it did: "
                                                  : " fails in another way: ") +
        now.what.said);
  if (file.trace_hash == 0) return outcome;
  if (file.trace_hash == now.record.trace_hash) {
    say("it is the same run: its trace is equal");
    return outcome;
  }
  bool kept = false;
  const std::string before = read_all(trace_path(path), kept);
  say((other_build ? "this build runs differently: " : "it runs differently: ") +
      (kept ? first_difference(before, now.trace)
            : "there is no " + trace_path(path) + " to compare with"));
  return outcome;
}

}  // namespace

runs_outcome for_runs(const runs_options& options, const scenario& body) {
  check_name(options.name);
  scenario_runs runs(options, body);
  if (const char* const path = setting("HEDDLE_RUN")) return replay(path, options, runs);
  runs_outcome outcome;
  finished_run failing;
  const seeds_outcome seeds = for_seeds(options.seeds, [&](std::uint64_t seed) {
    failing = runs.run_and_repeat(seed);
    return failing.what.said.empty();
  });
  outcome.ran = seeds.ran;
  if (!seeds.failed) return outcome;

  outcome.failed = failing.what.said;
  say(options.name + ": " + outcome.failed);
  const std::size_t before = failing.record.troubles.size() + failing.record.faults.size();
  const finished_run again = runs.run(failing.record);
  const bool repeats = first_line(again.what.said) == failing.record.expect &&
                       again.record.trace_hash == failing.record.trace_hash;
  if (!repeats)
    say("the run does not repeat: a clock, a random number or an order of addresses reaches the "
        "programs past their driver, or the scenario is not the same each time\n" +
        first_difference(runs.run_traced(failing.record).trace,
                         runs.run_traced(failing.record).trace));
  outcome.smallest =
      !repeats
          ? failing.record
          : shrink(
                failing.record, failing.what, {options.shrink_runs_max, options.shrink_time_max},
                [&runs](const run_file& file) { return runs.run(file).what; }, outcome.shrink_runs);
  const finished_run last = runs.run_traced(outcome.smallest);
  outcome.smallest.trace_hash = last.record.trace_hash;
  outcome.smallest.sizes = last.record.sizes;
  const std::size_t after = outcome.smallest.troubles.size() + outcome.smallest.faults.size();
  say("made small in " + std::to_string(outcome.shrink_runs) + " runs: " + std::to_string(after) +
      " of " + std::to_string(before) + " faults are left");

  std::error_code wrong;
  const std::string folder = options.folder.empty() ? "." : options.folder;
  std::filesystem::create_directories(folder, wrong);
  const std::string path =
      folder + '/' + options.name + '-' + std::to_string(failing.record.seed) + ".run";
  const bool wrote =
      write_all(path, to_text(outcome.smallest)) && write_all(trace_path(path), last.trace);
  if (!wrote) {
    say("cannot write " + path + "; the run:\n" + to_text(outcome.smallest));
    return outcome;
  }
  outcome.file = path;
  say("replay: HEDDLE_RUN=" + shell_word(path) + ' ' + command_of(options.seeds));
  return outcome;
}

}  // namespace heddle::sim
