// SPDX-License-Identifier: MIT
// libasync's callbacks that stay registered: each is called whenever its descriptor is ready or its
// signal comes.
#include <functional>
#include <map>
#include <mutex>

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
/// The lock of both tables: programs of several workers register callbacks in all colors.
std::mutex& tables_lock() {
  static auto& lock = *new std::mutex;
  return lock;
}
std::map<int, watcher>& signals() {
  static auto& all = *new std::map<int, watcher>;
  return all;
}

/// The callback if it is still that of this round.
template <class Key>
std::function<void()> call_of(std::map<Key, watcher>& all, const Key& key, unsigned round) {
  const std::lock_guard hold(tables_lock());
  const watcher& w = all[key];
  return w.round == round ? w.call : std::function<void()>();
}

/// Replaces a callback. Gives the number of the new one's round, or 0 if there is none.
template <class Key>
unsigned replace_call(std::map<Key, watcher>& all, const Key& key, std::function<void()> f) {
  const std::lock_guard hold(tables_lock());
  watcher& w = all[key];
  w.call.swap(f);
  ++w.round;
  return w.call ? w.round : 0;
}

void arm_fd(std::pair<int, bool> key, unsigned round) {
  event<> ready = function_event<>([key, round] {
    if (const std::function<void()> call = call_of(descriptors(), key, round)) {
      call();
      if (call_of(descriptors(), key, round)) arm_fd(key, round);
    }
  });
  if (key.second) {
    tamer::at_fd_write(key.first, std::move(ready));
  } else {
    tamer::at_fd_read(key.first, std::move(ready));
  }
}

void arm_signal(int signal, unsigned round) {
  tamer::at_signal(signal, function_event<>([signal, round] {
                     if (const auto call = call_of(signals(), signal, round)) {
                       arm_signal(signal, round);  // arm first, so that no signal is lost
                       call();
                     }
                   }),
                   tamer::signal_background);
}

}  // namespace

void keep_calling_for_fd(int fd, bool writes, std::function<void()> f) {
  const std::pair<int, bool> key(fd, writes);
  if (const unsigned round = replace_call(descriptors(), key, std::move(f))) arm_fd(key, round);
}

void keep_calling_for_signal(int signal, std::function<void()> f) {
  if (const unsigned round = replace_call(signals(), signal, std::move(f)))
    arm_signal(signal, round);
}

}  // namespace heddle::tame
