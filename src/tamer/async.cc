// SPDX-License-Identifier: MIT
// libasync's callbacks that stay registered: each is called whenever its descriptor is ready or its
// signal comes.
#include <functional>
#include <map>

#include "heddle/core/callback.hh"
#include "tamer/driver.hh"

namespace heddle::tame {

void keep_calling_for_fd(int fd, bool writes, std::function<void()> f);
void keep_calling_for_signal(int signal, std::function<void()> f);

namespace {

/// The callback of a descriptor and direction, or of a signal. A change of `round` ends the
/// callback before.
struct watcher {
  std::function<void()> call;
  unsigned round = 0;
};
std::map<std::pair<int, bool>, watcher>& descriptors() {
  static auto& all = *new std::map<std::pair<int, bool>, watcher>;
  return all;
}
std::map<int, watcher>& signals() {
  static auto& all = *new std::map<int, watcher>;
  return all;
}

void arm_fd(std::pair<int, bool> key, unsigned round) {
  event<> ready = function_event<>([key, round] {
    watcher& w = descriptors()[key];
    if (w.round != round || !w.call) return;
    const std::function<void()> call = w.call;
    call();
    if (descriptors()[key].round == round) arm_fd(key, round);
  });
  if (key.second) {
    tamer::at_fd_write(key.first, std::move(ready));
  } else {
    tamer::at_fd_read(key.first, std::move(ready));
  }
}

void arm_signal(int signal, unsigned round) {
  tamer::at_signal(signal, function_event<>([signal, round] {
                     watcher& w = signals()[signal];
                     if (w.round != round || !w.call) return;
                     arm_signal(signal, round);  // arm first, so that no signal is lost
                     const std::function<void()> call = w.call;
                     call();
                   }),
                   tamer::signal_background);
}

}  // namespace

void keep_calling_for_fd(int fd, bool writes, std::function<void()> f) {
  watcher& w = descriptors()[{fd, writes}];
  w.call = std::move(f);
  ++w.round;
  if (w.call) arm_fd({fd, writes}, w.round);
}

void keep_calling_for_signal(int signal, std::function<void()> f) {
  watcher& w = signals()[signal];
  w.call = std::move(f);
  ++w.round;
  if (w.call) arm_signal(signal, w.round);
}

}  // namespace heddle::tame
