// SPDX-License-Identifier: MIT
// SIGVTALRM after 10 s. See unwind_watch.hh.
#include "sim/unwind_watch.hh"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace heddle::sim {

namespace {

constexpr long seconds_max = 10;
char node_name[64];

void too_long(int) {
  const auto say = [](const char* text) {
    static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
  };
  say("heddle: node ");
  say(node_name);
  say(": its code has run for 10 s since its process ended; a loop goes on although each wait says "
      "operation_canceled\n");
  std::abort();
}

}  // namespace

unwind_watch::unwind_watch(const std::string& node) {
  std::strncpy(node_name, node.c_str(), sizeof node_name - 1);
  static const bool installed = [] {
    struct ::sigaction action{};
    action.sa_handler = too_long;
    return ::sigaction(SIGVTALRM, &action, nullptr) == 0;
  }();
  static_cast<void>(installed);
  const struct ::itimerval limit{{0, 0}, {seconds_max, 0}};
  ::setitimer(ITIMER_VIRTUAL, &limit, &before_);
}

unwind_watch::~unwind_watch() { ::setitimer(ITIMER_VIRTUAL, &before_, nullptr); }

}  // namespace heddle::sim
