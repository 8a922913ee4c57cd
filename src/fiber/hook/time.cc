// SPDX-License-Identifier: MIT
// Replacements of sleeping calls and name look-ups. A cancelled sleep ends as if by a signal.
#include <netdb.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "fiber/hook/waiting.hh"
#include "heddle/io/blocking.hh"

using namespace heddle::hook;

namespace {

bool valid(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000;
}

/// Returns EINTR and the remaining time, as after a signal.
int sleep_in(heddle::detail::fiber_core& f, const timespec& wanted, timespec* left) {
  const unhooked inside(f);
  constexpr auto most = std::chrono::seconds(std::int64_t{1} << 32);
  auto span = heddle::nanoseconds(wanted.tv_nsec);
  span += wanted.tv_sec > most.count() ? most : std::chrono::seconds(wanted.tv_sec);
  const auto end = heddle::add_saturated(heddle::clock::now(), span);
  if (wait_time(span) == 0) return 0;
  if (left != nullptr) {
    const auto rest =
        std::max(heddle::span_between(heddle::clock::now(), end), heddle::nanoseconds::zero())
            .count();
    *left = {rest / 1'000'000'000, rest % 1'000'000'000};
  }
  return EINTR;
}

}  // namespace

extern "C" {

int heddle_hook_time = 0;  // referenced by the linker, so that this file is linked

int nanosleep(const struct timespec* wanted, struct timespec* left) {
  static const auto next = reinterpret_cast<decltype(&::nanosleep)>(next_symbol("nanosleep"));
  heddle::detail::fiber_core* const f = hooked();
  if (f == nullptr || !valid(*wanted)) return next(wanted, left);
  const int error = sleep_in(*f, *wanted, left);
  if (error == 0) return 0;
  set_errno(error);
  return -1;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* wanted,
                    struct timespec* left) {
  static const auto next =
      reinterpret_cast<decltype(&::clock_nanosleep)>(next_symbol("clock_nanosleep"));
  heddle::detail::fiber_core* const f = hooked();
  if (f == nullptr || !valid(*wanted)) return next(clock, flags, wanted, left);
  if ((flags & TIMER_ABSTIME) == 0) return sleep_in(*f, *wanted, left);
  if (clock != CLOCK_MONOTONIC) return next(clock, flags, wanted, left);
  timespec now;
  ::clock_gettime(clock, &now);
  timespec span{wanted->tv_sec - now.tv_sec, wanted->tv_nsec - now.tv_nsec};
  if (span.tv_nsec < 0) span = {span.tv_sec - 1, span.tv_nsec + 1'000'000'000};
  return span.tv_sec < 0 ? 0 : sleep_in(*f, span, nullptr);
}

int usleep(useconds_t us) {
  static const auto next = reinterpret_cast<decltype(&::usleep)>(next_symbol("usleep"));
  if (hooked() == nullptr) return next(us);
  const timespec span{static_cast<time_t>(us / 1'000'000),
                      static_cast<long>(us % 1'000'000) * 1000};
  return nanosleep(&span, nullptr);
}

unsigned sleep(unsigned seconds) {
  static const auto next = reinterpret_cast<decltype(&::sleep)>(next_symbol("sleep"));
  if (hooked() == nullptr) return next(seconds);
  const timespec span{static_cast<time_t>(seconds), 0};
  timespec left{};
  return nanosleep(&span, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec);
}

int getaddrinfo(const char* host, const char* service, const struct addrinfo* hints,
                struct addrinfo** out) {
  static const auto next = reinterpret_cast<decltype(&::getaddrinfo)>(next_symbol("getaddrinfo"));
  heddle::detail::fiber_core* const f = hooked();
  if (f == nullptr) return next(host, service, hints, out);
  const unhooked inside(*f);
  try {
    const auto [answer, error] = heddle::await(heddle::blocking([&] {
      const int got = next(host, service, hints, out);
      return std::pair(got, got == EAI_SYSTEM ? errno : 0);
    }));
    if (answer == EAI_SYSTEM) set_errno(error);
    return answer;
  } catch (const std::exception&) {
    return EAI_AGAIN;  // cancelled, or the pool is full
  }
}

}  // extern "C"
