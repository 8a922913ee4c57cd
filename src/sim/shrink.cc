// SPDX-License-Identifier: MIT
// A failing run made small. Each step leaves something out, and is kept if the run fails in the
// same way; the steps that leave out most come first.
#include "sim/shrink.hh"

#include <algorithm>
#include <chrono>
#include <utility>

namespace heddle::sim {

namespace {

using real_clock = std::chrono::steady_clock;

// A stream that cannot be calm as a whole is tried in up to 2^3 parts.
constexpr int calm_depth = 3;

class shrinker {
 public:
  shrinker(run_file run, attempt first, const shrink_limits& limits,
           const std::function<attempt(const run_file&)>& repeat)
      : best_(std::move(run)),
        said_(first_line(first.said)),
        draws_(std::move(first.draws)),
        limits_(limits),
        end_(real_clock::now() + limits.time_max),
        repeat_(repeat) {}

  run_file run() {
    for (bool again = true; again && !spent();) {
      again = fewer_faults();
      again = smaller_sizes() || again;
    }
    round_times();
    calm_chance();
    static_cast<void>(fewer_faults());
    return best_;
  }
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }

 private:
  [[nodiscard]] bool spent() const {
    return runs_ >= limits_.runs_max || real_clock::now() >= end_;
  }
  /// Keeps the run if it fails in the same way.
  bool keep(run_file run) {
    if (spent()) return false;
    ++runs_;
    attempt now = repeat_(run);
    if (now.said.empty() || first_line(now.said) != said_) return false;
    best_ = std::move(run);
    draws_ = std::move(now.draws);
    return true;
  }

  // Delta debugging over all faults, the troubles first.
  [[nodiscard]] std::size_t faults() const { return best_.troubles.size() + best_.faults.size(); }
  [[nodiscard]] run_file without(std::size_t from, std::size_t to) const {
    run_file run = best_;
    const std::size_t split = run.troubles.size();
    const auto cut = [](auto& list, std::size_t first, std::size_t last) {
      first = std::min(first, list.size());
      last = std::min(last, list.size());
      using difference = std::ptrdiff_t;
      list.erase(list.begin() + static_cast<difference>(first),
                 list.begin() + static_cast<difference>(last));
    };
    cut(run.faults, from < split ? 0 : from - split, to < split ? 0 : to - split);
    cut(run.troubles, from, std::min(to, split));
    return run;
  }
  /// As without(), with later operations counted anew: an operation that is cut short or
  /// interrupted is followed by one more of its kind, so without that fault the next ones have
  /// smaller numbers.
  [[nodiscard]] run_file without_and_renumbered(std::size_t from, std::size_t to) const {
    run_file run = without(from, to);
    const std::size_t split = best_.troubles.size();
    for (std::size_t i = std::max(from, split); i < std::min(to, faults()); ++i) {
      const operation_fault& gone = best_.faults[i - split];
      for (operation_fault& each : run.faults)
        if (each.process == gone.process && each.operation == gone.operation &&
            each.ordinal > gone.ordinal)
          --each.ordinal;
    }
    return run;
  }
  /// Keeps the run without these faults, in one way or the other.
  bool keep_without(std::size_t from, std::size_t to) {
    if (keep(without(from, to))) return true;
    return to > best_.troubles.size() && keep(without_and_renumbered(from, to));
  }
  /// Leaves out ever smaller parts until no single fault can be left out.
  bool fewer_faults() {
    const std::size_t before = faults();
    if (before != 0 && keep(without(0, before))) return true;
    std::size_t part = (faults() + 1) / 2;
    while (part != 0 && !spent()) {
      bool shrunk = false;
      for (std::size_t from = 0; from < faults() && !spent();) {
        if (keep_without(from, std::min(from + part, faults())))
          shrunk = true;
        else
          from += part;
      }
      if (part == 1 && !shrunk) break;
      part = shrunk ? std::min(part, std::max<std::size_t>(faults() / 2, 1)) : part / 2;
    }
    return faults() < before;
  }
  [[nodiscard]] run_file with_size(const std::string& name, std::uint64_t value) const {
    run_file run = best_;
    run.sizes[name] = value;
    return run;
  }
  bool smaller_sizes() {
    bool smaller = false;
    for (const auto& [name, value] : std::map(best_.sizes)) {
      for (std::uint64_t now = value; now > 1 && !spent();) {
        const bool shrunk = keep(with_size(name, now / 2)) || keep(with_size(name, now - 1));
        if (!shrunk) break;
        now = best_.sizes.at(name);
        smaller = true;
      }
    }
    return smaller;
  }
  void round_times() {
    for (std::size_t i = 0; i != best_.troubles.size(); ++i) {
      for (const nanoseconds to :
           {nanoseconds{1'000'000'000}, nanoseconds{100'000'000}, nanoseconds{10'000'000}}) {
        run_file run = best_;
        trouble& t = run.troubles[i];
        const auto rounded = [to](nanoseconds n) { return n / to * to; };
        t.at = rounded(t.at);
        t.span = rounded(t.span);
        t.link.latency = rounded(t.link.latency);
        t.link.jitter = rounded(t.link.jitter);
        if (keep(std::move(run))) break;
      }
    }
  }
  /// Lets whole streams of chance be calm, then ever smaller parts of those that cannot be.
  void calm_chance() {
    const std::map<std::string, std::uint64_t> draws = draws_;
    for (const auto& [stream, count] : draws)
      if (count != 0) calm_part(stream, 1, count, calm_depth);
  }
  void calm_part(const std::string& stream, std::uint64_t first, std::uint64_t last, int depth) {
    run_file run = best_;
    run.calm.push_back({stream, first, last});
    if (keep(std::move(run)) || depth == 0 || first == last) return;
    const std::uint64_t middle = first + (last - first) / 2;
    calm_part(stream, first, middle, depth - 1);
    calm_part(stream, middle + 1, last, depth - 1);
  }

  run_file best_;
  std::string said_;
  std::map<std::string, std::uint64_t> draws_;  // by stream, of the best run
  shrink_limits limits_;
  real_clock::time_point end_;
  const std::function<attempt(const run_file&)>& repeat_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::string first_line(const std::string& verdict) {
  if (verdict.empty()) return "";
  const std::size_t from = std::min(verdict.find_first_not_of("\r\n"), verdict.size());
  std::string line = verdict.substr(from, verdict.find_first_of("\r\n", from) - from);
  return line.empty() ? "fails" : line;
}

run_file shrink(run_file run, attempt first, const shrink_limits& limits,
                const std::function<attempt(const run_file&)>& repeat, std::uint64_t& runs) {
  shrinker work(std::move(run), std::move(first), limits, repeat);
  run_file smallest = work.run();
  runs = work.runs();
  return smallest;
}

}  // namespace heddle::sim
