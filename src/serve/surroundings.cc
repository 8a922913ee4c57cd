// SPDX-License-Identifier: MIT
// Messages, and the surroundings of the process itself.
#include "serve/surroundings.hh"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "heddle/sched/detail/world_here.hh"
#include "heddle/sched/runtime.hh"
#include "source/print_error.hh"

namespace heddle::serve {
namespace {

constexpr std::time_t quiet_s = 2;

void put(const text_sink& into, std::string_view text) {
  if (into && !text.empty()) into(text);
}

/// Writes to a stream of the C library.
text_sink to_stream(std::FILE* stream) {
  return [stream](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); };
}

/// The number of sockets that the service manager gives to this process.
long take_sockets() {
  const char* const count = std::getenv("LISTEN_FDS");
  const char* const whose = std::getenv("LISTEN_PID");
  const bool ours = count != nullptr && whose != nullptr &&
                    std::strtol(whose, nullptr, 10) == static_cast<long>(::getpid());
  const long given = ours ? std::strtol(count, nullptr, 10) : 0;
  for (const char* name : {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return given;
}

}  // namespace

std::optional<std::string_view> surroundings::variable(std::string_view name) const {
  for (const std::string_view each : options_.variables)
    if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=')
      return each.substr(name.size() + 1);
  return std::nullopt;
}

void surroundings::print(std::string_view text) {
  const std::scoped_lock hold(mutex_);
  put(options_.messages, text);
}

void surroundings::print_output(std::string_view text) {
  const std::scoped_lock hold(mutex_);
  put(options_.output, text);
}

void surroundings::print_error(std::string_view what, std::string_view help) {
  print(source::error_text(what, help));
}

void surroundings::report(std::string_view line) {
  const std::time_t now =
      std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  const std::scoped_lock hold(mutex_);
  std::erase_if(recent_, [now](const auto& each) { return now - each.first > quiet_s; });
  if (line.starts_with("upstream ")) {
    if (std::ranges::any_of(recent_, [&](const auto& each) { return each.second == line; })) return;
    recent_.emplace_back(now, line);
  }
  const std::tm parts = heddle::detail::local_time(now);
  char stamp[16];
  std::string text(stamp, std::strftime(stamp, sizeof stamp, "%H:%M:%S", &parts));
  ((text += "  ") += line) += '\n';
  put(options_.messages, text);
}

std::shared_ptr<surroundings> process_surroundings() {
  surroundings_options here;
  here.sockets = take_sockets();
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) here.variables.emplace_back(*at);
  here.messages = to_stream(stderr);
  here.output = to_stream(stdout);
  here.interactive = ::isatty(STDERR_FILENO) != 0;
  return std::make_shared<surroundings>(std::move(here));
}

}  // namespace heddle::serve
