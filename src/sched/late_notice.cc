// SPDX-License-Identifier: MIT
// The answer when a dump was asked for and no worker has come to the end of its frame: which line
// each of them runs. A worker that is alone notes no lines; there the stack is shown, as addresses
// that `addr2line` turns into lines. All of it inside a signal handler: no memory, no locks.
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "heddle/probe/site.hh"
#include "sched/inspection.hh"

namespace heddle {
namespace {

/// Text in a fixed buffer; the rest is cut off.
class handler_text {
 public:
  ~handler_text() {  // not by the C library: that may be interposed (room fiber)
    static_cast<void>(::syscall(SYS_write, STDERR_FILENO, text_.data(), len_));
  }
  handler_text& operator<<(const char* s) noexcept {
    const std::size_t n = std::min(std::strlen(s), text_.size() - len_);
    std::memcpy(text_.data() + len_, s, n);
    len_ += n;
    return *this;
  }
  handler_text& add(std::uint64_t n, unsigned base = 10) noexcept {
    char digits[24];
    char* at = digits + sizeof digits;
    *--at = '\0';
    do *--at = "0123456789abcdef"[n % base];
    while ((n /= base) != 0);
    return *this << at;
  }

 private:
  std::array<char, 8192> text_;
  std::size_t len_ = 0;
};

std::uintptr_t interrupted_at(const void* context) noexcept {
#if defined(__x86_64__)
  const auto* const u = static_cast<const ucontext_t*>(context);
  return static_cast<std::uintptr_t>(u->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  static_cast<void>(context);
  return 0;
#endif
}

struct stack_walk {
  handler_text& out;
  std::uintptr_t first;  // calls above it are the handler's
  std::uintptr_t program;
  bool begun = false;
  int left = 32;
};

_Unwind_Reason_Code show_call(_Unwind_Context* at, void* to) {
  auto& walk = *static_cast<stack_walk*>(to);
  int before = 0;
  const std::uintptr_t ip = _Unwind_GetIPInfo(at, &before);
  walk.begun = walk.begun || walk.first == 0 || ip == walk.first;
  if (!walk.begun || ip == 0) return _URC_NO_REASON;
  // A return address is behind its call; addr2line wants the call.
  walk.out << "    0x";
  walk.out.add((before != 0 ? ip : ip - 1) - walk.program, 16) << "\n";
  return --walk.left > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/// The address at which the program is loaded; addr2line wants it taken off.
std::uintptr_t program_base() noexcept {
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
  if (headers == nullptr) return 0;
  for (const auto& h : std::span(headers, ::getauxval(AT_PHNUM)))
    if (h.p_type == PT_PHDR) return reinterpret_cast<std::uintptr_t>(headers) - h.p_vaddr;
  return 0;
}

}  // namespace

void inspection::write_late_notice(const void* interrupted) noexcept {
  if (!asked_.load()) return;
  handler_text text;
  text << "heddle: process ";
  text.add(static_cast<std::uint64_t>(::getpid()))
      << ": the dump has to wait: no worker has come to the end of the function that it runs\n";
  if (!all_.shared) {
    const worker* const here = worker::current();
    if (here != &all_.seats[0]->w) {
      text << "  worker 0 does not run, or runs in a thread that cannot be looked at from here\n";
    } else if (!all_.seats[0]->running) {
      text << "  worker 0 is not inside run() or step()\n";
    } else {
      text << "  worker 0 runs, innermost call first (addr2line -Cfe PROGRAM ADDRESS tells the "
              "lines):\n";
      stack_walk walk{text, interrupted_at(interrupted), program_base()};
      _Unwind_Backtrace(&show_call, &walk);
      if (walk.begun) return;
      walk.first = 0;  // a sanitizer runs handlers later, from elsewhere: show all calls
      _Unwind_Backtrace(&show_call, &walk);
    }
    return;
  }
  for (const auto& s : all_.seats) {
    const color_record* const r = s->in_hand.load();
    text << "  worker ";
    text.add(s->w.index);
    if (r == nullptr) {
      text << " runs no color\n";
      continue;
    }
    text << " runs color ";
    text.add(colors_.place_of(*r));
    const source_line line = resolve_site_in_program(s->went_on_at.load());
    if (line.line == 0) {
      text << ", in a function that has not waited yet\n";
    } else {
      text << ", went on at " << line.file << ":";
      text.add(line.line) << "\n";
    }
  }
}

}  // namespace heddle
