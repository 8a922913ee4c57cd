// SPDX-License-Identifier: MIT
// for_seeds: which seeds to run, for how long, and what to say of them. The process may die in any
// seed, so a mapped file holds the number of the running one if HEDDLE_HUNT_AT names it.
#include "heddle/sim/seeds.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "heddle/base/sometimes.hh"
#include "sim/seed_command.hh"

namespace heddle::sim {

namespace {

using real_clock = std::chrono::steady_clock;

struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};

/// Reads "7" or "7-20"; nothing of another form, and no range that ends before it begins.
std::optional<seed_range> range_of(std::string_view text) {
  seed_range range;
  const char* const end = text.data() + text.size();
  const auto [after, wrong] = std::from_chars(text.data(), end, range.first);
  if (wrong != std::errc()) return std::nullopt;
  range.last = range.first;
  if (after == end) return range;
  const auto [stop, bad] = std::from_chars(after + 1, end, range.last);
  if (*after != '-' || bad != std::errc() || stop != end || range.last < range.first)
    return std::nullopt;
  return range;
}

/// The program and its arguments, as the shell takes them.
std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string word; std::getline(file, word, '\0');) {
    if (!command.empty()) command += ' ';
    command += shell_word(word);
  }
  return command;
}

/// Eight bytes of a file: they outlive a crash of this process.
class seed_file {
 public:
  explicit seed_file(const char* path) {
    if (path == nullptr) return;
    const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ::ftruncate(fd, sizeof(std::uint64_t)) != 0) {
      std::fprintf(stderr, "heddle: HEDDLE_HUNT_AT: cannot write %s\n", path);
    } else {
      void* const at =
          ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (at != MAP_FAILED) at_ = static_cast<std::uint64_t*>(at);
    }
    if (fd >= 0) ::close(fd);
  }
  ~seed_file() {
    if (at_ != nullptr) ::munmap(at_, sizeof(std::uint64_t));
  }
  seed_file(const seed_file&) = delete;
  seed_file& operator=(const seed_file&) = delete;
  void put(std::uint64_t seed) noexcept {
    if (at_ != nullptr) *static_cast<volatile std::uint64_t*>(at_) = seed;
  }

 private:
  std::uint64_t* at_ = nullptr;
};

void say_again(const seeds_options& options, std::uint64_t seed) {
  const std::string command = command_of(options);
  std::fprintf(stderr, "heddle: seed %llu failed; again: HEDDLE_SEED=%llu %s\n",
               static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed),
               command.c_str());
}

/// Says how often each mark was reached since these counts.
void say_marks(const std::vector<mark_count>& before) {
  const std::vector<mark_count> now = marks();
  for (std::size_t i = 0; i != now.size(); ++i)
    std::fprintf(stderr, "heddle: mark %llu %.*s:%u %.*s\n",
                 static_cast<unsigned long long>(now[i].reached - before[i].reached),
                 static_cast<int>(now[i].file.size()), now[i].file.data(), now[i].line,
                 static_cast<int>(now[i].text.size()), now[i].text.data());
}

}  // namespace

const char* setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

std::string shell_word(const std::string& word) {
  if (word.find_first_of(" '\"*?$\\&|;()<>`!#~\t\n") == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string command_of(const seeds_options& options) {
  return options.command.empty() ? own_command() : options.command;
}

seeds_outcome for_seeds(const seeds_options& options,
                        const std::function<bool(std::uint64_t)>& passes) {
  seed_range range{options.first, options.first + options.count - 1};
  const char* const chosen = setting("HEDDLE_SEED");
  if (chosen != nullptr) {
    const std::optional<seed_range> read = range_of(chosen);
    if (!read) {
      std::fprintf(stderr, "heddle: HEDDLE_SEED=%s is no seed and no range: say 7 or 7-20\n",
                   chosen);
      return {};
    }
    range = *read;
  }
  const char* const time = setting("HEDDLE_HUNT_S");
  double seconds = 0;
  if (time != nullptr) {
    const auto [end, wrong] = std::from_chars(time, time + std::string_view(time).size(), seconds);
    if (wrong != std::errc() || *end != '\0' || !(seconds > 0)) {
      std::fprintf(stderr, "heddle: HEDDLE_HUNT_S=%s is no number of seconds: say 60\n", time);
      return {};
    }
    // Below 2^53, so that any tool can hold it.
    if (chosen == nullptr) range.first = std::random_device()() * std::uint64_t{1'000'000} + 1;
    range.last = std::numeric_limits<std::uint64_t>::max();
  }

  seed_file watched(setting("HEDDLE_HUNT_AT"));
  const std::vector<mark_count> marks_before = marks();
  seeds_outcome outcome;
  const real_clock::time_point began = real_clock::now();
  const auto passed_s = [&] {
    return std::chrono::duration<double>(real_clock::now() - began).count();
  };
  const bool none = chosen == nullptr && time == nullptr && options.count == 0;
  for (std::uint64_t seed = range.first; !none; ++seed) {
    watched.put(seed);
    bool good = false;
    try {
      good = passes(seed);
    } catch (...) {
      say_again(options, seed);
      throw;
    }
    ++outcome.ran;
    if (!good) {
      outcome.failed = seed;
      say_again(options, seed);
      break;
    }
    if (seed == range.last || (time != nullptr && passed_s() >= seconds)) break;
  }
  if (time != nullptr)
    std::fprintf(stderr, "heddle: hunted %llu seeds from %llu on in %.1f s\n",
                 static_cast<unsigned long long>(outcome.ran),
                 static_cast<unsigned long long>(range.first), passed_s());
  const char* const wanted = setting("HEDDLE_MARKS");
  if (time != nullptr || (wanted != nullptr && std::string_view(wanted) == "1"))
    say_marks(marks_before);
  return outcome;
}

}  // namespace heddle::sim
