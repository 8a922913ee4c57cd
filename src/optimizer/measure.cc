// SPDX-License-Identifier: MIT
// Runs a merged program with chains switched off and compares processor times. Rounds alternate
// between all subjects, and a chain's gain is the median of differences within a round, because the
// speed of a machine changes more between rounds than within one.
#include "heddle/optimizer/measure.hh"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "heddle/base/error.hh"
#include "heddle/bus/detail/hex.hh"

namespace heddle {

namespace {

constexpr std::string_view generic_variable = "HEDDLE_BUS_GENERIC=";

double ns_of(const timeval& t) noexcept {
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Removes the variables that would record the run: a recorded topic is generic.
std::vector<std::string> environment_with(const std::string& generic) {
  std::vector<std::string> all;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view text = *v;
    if (!text.starts_with(generic_variable) && !text.starts_with("HEDDLE_PROFILE=") &&
        !text.starts_with("HEDDLE_BUS_TRACE="))
      all.emplace_back(text);
  }
  if (!generic.empty()) all.push_back(std::string(generic_variable) + generic);
  return all;
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

/// One run of a program; returns its processor time, that of its children included.
double cpu_ns_of(const std::string& program, const std::vector<std::string>& arguments,
                 const std::string& generic) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(generic);
  const std::vector<char*> argv = pointers_of(words);
  const std::vector<char*> envp = pointers_of(variables);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  ::pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw failure(std::error_code(error, std::generic_category()),
                  program + ": cannot be started to measure it");
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0) {
    if (errno != EINTR)
      throw failure(std::error_code(errno, std::generic_category()),
                    program + ": lost its process");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw failure(std::make_error_code(std::errc::io_error),
                  program + ": the run to measure ended with " +
                      (WIFEXITED(status) ? "status " + std::to_string(WEXITSTATUS(status))
                                         : "signal " + std::to_string(WTERMSIG(status))) +
                      "; give it arguments with which it ends well (--run)");
  return ns_of(used.ru_utime) + ns_of(used.ru_stime);
}

std::string hashes_of(const measured_chain& c, const profile_data& profile) {
  std::string all;
  for (const std::uint32_t t : c.topics)
    all += (all.empty() ? "" : ",") + detail::hex(profile.topics[t].hash);
  return all;
}

std::string reason_of(const measured_chain& c, const measured_plan& m) {
  char text[128];
  std::snprintf(text, sizeof text, "slower by %.1f %% of the run's %.1f ms, in %zu of %zu rounds",
                -100 * c.gain_ns / m.merged_ns, m.merged_ns / 1e6, c.lost, m.rounds);
  return text;
}

}  // namespace

measured_plan measure_plan(const plan& p, const profile_data& profile,
                           const measure_options& options) {
  measured_plan m;
  m.rounds = std::max<std::size_t>(options.rounds, 1);
  m.chains.resize(p.chains.size());
  for (const plan_topic& t : p.topics) m.chains[t.chain].topics.push_back(t.topic);
  std::vector<double> original;
  std::vector<double> merged;
  std::vector<std::vector<double>> gains(m.chains.size());
  const bool separate = !options.original.empty();
  for (std::size_t round = 0; round < m.rounds; ++round) {
    merged.push_back(cpu_ns_of(options.program, options.arguments, ""));
    original.push_back(cpu_ns_of(separate ? options.original : options.program, options.arguments,
                                 separate ? "" : "all"));
    for (std::size_t c = 0; c < m.chains.size(); ++c) {
      // Between two merged runs, so that a drift of the machine's speed cancels out.
      const double without =
          cpu_ns_of(options.program, options.arguments, hashes_of(m.chains[c], profile));
      const double again = cpu_ns_of(options.program, options.arguments, "");
      gains[c].push_back(without - (merged.back() + again) / 2);
      merged.push_back(again);
    }
  }
  m.original_ns = median_of(std::move(original));
  m.merged_ns = median_of(std::move(merged));
  for (std::size_t c = 0; c < m.chains.size(); ++c) {
    measured_chain& chain = m.chains[c];
    chain.lost = static_cast<std::size_t>(
        std::ranges::count_if(gains[c], [](double gain) { return gain < 0; }));
    chain.gain_ns = median_of(std::move(gains[c]));
    chain.slower = chain.gain_ns < -options.loss_min * m.merged_ns && m.rounds >= 5 &&
                   8 * chain.lost >= 7 * m.rounds;
  }
  return m;
}

std::string slower_file(const std::string& profile) { return profile + ".slower"; }

std::string slower_text(const measured_plan& m, const profile_data& profile) {
  std::string out;
  for (const measured_chain& c : m.chains) {
    if (!c.slower) continue;
    for (const std::uint32_t t : c.topics)
      out += detail::hex(profile.topics[t].hash) + '\t' + reason_of(c, m) + '\t' +
             profile.topics[t].name + '\n';
  }
  return out;
}

std::vector<left_out_topic> parse_slower(const std::string& text) {
  std::vector<left_out_topic> all;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t first = text.find('\t', at);
    const std::size_t second = first == text.npos ? text.npos : text.find('\t', first + 1);
    left_out_topic t;
    const char* const begin = text.data() + at;
    const auto hash = std::from_chars(begin, text.data() + std::min(first, end), t.hash, 16);
    if (second == text.npos || second > end || hash.ec != std::errc() ||
        hash.ptr != text.data() + first)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "line " + std::to_string(line) +
                        ": not `hash, reason, topic` with tabs between; delete the file, and "
                        "`heddle optimize --check --run` writes it again");
    t.reason = text.substr(first + 1, second - first - 1);
    all.push_back(std::move(t));
    at = end + 1;
  }
  return all;
}

}  // namespace heddle
