// SPDX-License-Identifier: MIT
// Lines of the access log, and writing them without waiting inside a system call: a descriptor is
// asked whether it is ready, and is given no more than a pipe takes at once.
#include "heddle/http/access_log.hh"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/probe/json.hh"
#include "heddle/sched/runtime.hh"
#include "io/one_operation.hh"

namespace heddle::http {
namespace {

// A pipe that is ready takes this much without blocking (POSIX asks for it).
constexpr std::size_t slice_bytes = PIPE_BUF;

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  out.append(digits, write_decimal(digits, number));
}

/// Milliseconds with one decimal in the plain form, three in JSON.
void append_ms(std::string& out, nanoseconds took, unsigned decimals) {
  const auto unit = decimals == 1 ? 100'000u : 1'000u;
  const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)) / unit;
  const std::uint64_t whole = 1'000'000u / unit;
  append_number(out, steps / whole);
  out += '.';
  std::uint64_t rest = steps % whole;
  for (std::uint64_t digit = whole / 10; digit > 0; digit /= 10) {
    out += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
}

}  // namespace

void access_log::stamp() {
  const std::time_t now =
      std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  if (now == stamp_second_) return;
  stamp_second_ = now;
  std::tm parts{};
  char text[40];
  if (options_.form == log_form::plain) {
    ::localtime_r(&now, &parts);
    stamp_.assign(text, std::strftime(text, sizeof text, "%H:%M:%S", &parts));
  } else {
    ::gmtime_r(&now, &parts);
    stamp_.assign(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
  }
}

void access_log::add(const access& a) {
  if (text_.size() >= options_.bytes_max) {
    ++dropped_;
    return;
  }
  ++lines_;
  stamp();
  if (options_.form == log_form::plain) {
    add_plain(a);
  } else {
    add_json(a);
  }
}

void access_log::add_plain(const access& a) {
  (text_ += stamp_) += "  ";
  append_number(text_, static_cast<std::uint64_t>(a.status));
  text_ += "  ";
  if (a.head != nullptr) {
    (text_ += a.head->method_text()) += ' ';
    text_ += a.head->target().substr(0, options_.target_bytes_max);
  } else {
    text_ += "(not a request)";
  }
  text_ += "  ";
  append_number(text_, a.bytes);
  text_ += " B  ";
  append_ms(text_, a.took, 1);
  text_ += " ms  ";
  if (a.peer != nullptr) a.peer->append_to(text_);
  text_ += '\n';
}

void access_log::add_json(const access& a) {
  ((text_ += "{\"time\":\"") += stamp_) += "\",\"status\":";
  append_number(text_, static_cast<std::uint64_t>(a.status));
  if (a.head != nullptr) {
    (text_ += ",\"method\":") += json_quoted(a.head->method_text());
    (text_ += ",\"target\":") += json_quoted(a.head->target().substr(0, options_.target_bytes_max));
  }
  text_ += ",\"bytes\":";
  append_number(text_, a.bytes);
  text_ += ",\"ms\":";
  append_ms(text_, a.took, 3);
  if (a.peer != nullptr) {
    text_ += ",\"peer\":\"";  // an address has nothing to quote
    a.peer->append_to(text_);
    text_ += '"';
  }
  text_ += "}\n";
}

std::string access_log::take() {
  if (dropped_ != dropped_told_) {
    const std::string count = std::to_string(dropped_ - dropped_told_);
    dropped_told_ = dropped_;
    text_ += options_.form == log_form::plain
                 ? "(" + count + " lines dropped: the log was not read)\n"
                 : "{\"dropped\":" + count + "}\n";
  }
  return std::exchange(text_, {});
}

task<> access_log::flush(int descriptor) {
  const std::uint64_t told_before = dropped_told_;
  const bool says_dropped = dropped_ != dropped_told_;
  const std::string text = (std::exchange(torn_, false) ? "\n" : "") + take();
  std::size_t written = 0;
  // What stays unwritten is counted as dropped, and said once that is possible again.
  const auto give_up = [&] {
    dropped_ += static_cast<std::uint64_t>(std::count(text.begin() + written, text.end(), '\n'));
    if (says_dropped) {
      --dropped_;
      dropped_told_ = told_before;
    }
    torn_ = written != 0 && text[written - 1] != '\n';
  };
  while (written < text.size()) {
    heddle::detail::one_operation ready(op_code::poll, descriptor, "log");
    ready.flags = POLLOUT;
    const std::int64_t events = co_await ready;
    // A regular file cannot be asked (EPERM), and takes what it is given.
    if (events == -ECANCELED) {
      text_.insert(0, text, written, text.npos);
      co_return;
    }
    if (events < 0 && events != -EPERM && events != -EINTR) {
      give_up();
      co_return;
    }
    std::size_t size = std::min(text.size() - written, slice_bytes);
    // Whole lines, where it can be: another worker's log may go to the same place.
    if (const std::size_t line = text.rfind('\n', written + size - 1);
        line != text.npos && line >= written)
      size = line + 1 - written;
    const ssize_t got = ::write(descriptor, text.data() + written, size);
    if (got < 0 && errno != EAGAIN && errno != EINTR) {  // nobody reads it any more, or no room
      give_up();
      co_return;
    }
    if (got > 0) written += static_cast<std::size_t>(got);
  }
}

task<> access_log::write_to(int descriptor) {
  for (;;) {
    co_await sleep_for(options_.interval);
    if (!text_.empty() || dropped_ != dropped_told_) co_await flush(descriptor);
  }
}

}  // namespace heddle::http
