// SPDX-License-Identifier: MIT
// Detects stack overflows of fibers: a fiber that touches the guard below its stack has overflowed.
// The signal handler runs on a stack of its own and reports through the assertion hook. It passes
// all other faults on to the previous handler.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <mutex>

#include "fiber/stacks.hh"
#include "heddle/probe/site.hh"

namespace heddle::detail {
namespace {

// Room for the report, which finds and formats source lines; a sanitizer's handler may follow.
constexpr std::size_t fault_stack_bytes = 256 * 1024;

/// The action for SIGSEGV before the first fiber of the process. Set once, then only read.
struct sigaction& handler_before() {
  static struct sigaction before{};
  return before;
}

void report(const fiber_core& f) noexcept {
  char advice[256];
  std::snprintf(advice, sizeof advice,
                "fiber stack overflow: it has %zu KiB; raise fiber_options::stack_bytes or "
                "fiber_limits::stack_bytes, or keep large arrays off the stack",
                f.stack().bytes / 1024);
  const source_line last = resolve_site(f.at());
  assertion_failed("a fiber stays within its stack", advice,
                   f.at() == 0 ? "a fiber that has not waited yet" : last.file,
                   static_cast<int>(last.line));
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (const fiber_core* const f = fiber_core::running_here())
    if (fiber_stacks::in_guard(f->stack(), info->si_addr)) report(*f);
  const struct sigaction& before = handler_before();
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // the access is repeated, and ends the program as usual
  }
}

}  // namespace

overflow_watch::overflow_watch() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGSEGV, &ours, &handler_before());
  });
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  if ((now.ss_flags & SS_DISABLE) == 0) return;
  stack_ = std::make_unique_for_overwrite<std::byte[]>(fault_stack_bytes);
  stack_t own{};
  own.ss_sp = stack_.get();
  own.ss_size = fault_stack_bytes;
  ::sigaltstack(&own, nullptr);
}

overflow_watch::~overflow_watch() {
  if (stack_ == nullptr) return;
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  if (now.ss_sp != stack_.get()) return;  // replaced meanwhile, or this is another thread
  now.ss_flags = SS_DISABLE;
  ::sigaltstack(&now, nullptr);
}

}  // namespace heddle::detail
