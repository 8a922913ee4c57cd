// SPDX-License-Identifier: MIT
// Formats lines of the access log and writes them without blocking in a system call: it polls the
// descriptor first, and then writes no more than a ready pipe accepts.
#include "heddle/web/access_log.hh"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include "heddle/base/text.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/io/call.hh"
#include "heddle/io/detail/files_here.hh"
#include "heddle/probe/json.hh"
#include "heddle/sched/detail/world_here.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {
namespace {

// A pipe that is ready accepts this much without blocking (POSIX requires it).
constexpr std::size_t slice_bytes = PIPE_BUF;

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  out.append(digits, write_decimal(digits, number));
}

/// Appends the client's address. The port of a client behind a proxy is mostly not known.
void append_peer(std::string& out, const address& peer) {
  if (peer && peer.port() == 0)
    out += peer.host();
  else
    peer.append_to(out);
}

/// Appends milliseconds with one decimal for the plain form, three for JSON.
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
    parts = heddle::detail::local_time(now);
    stamp_.assign(text, std::strftime(text, sizeof text, "%H:%M:%S", &parts));
  } else if (options_.form == log_form::json) {
    ::gmtime_r(&now, &parts);
    stamp_.assign(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
  } else {
    ::gmtime_r(&now, &parts);
    // These forms name months in English in every locale.
    constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    stamp_.assign(text, std::strftime(text, sizeof text, "%d/", &parts));
    stamp_ += months[parts.tm_mon];
    stamp_.append(text, std::strftime(text, sizeof text, "/%Y:%H:%M:%S +0000", &parts));
  }
}

void access_log::add(const access& a) {
  if (text_.size() >= options_.bytes_max) {
    ++dropped_;
    return;
  }
  ++lines_;
  stamp();
  switch (options_.form) {
    case log_form::plain:
      return add_plain(a);
    case log_form::json:
      return add_json(a);
    case log_form::common:
    case log_form::combined:
      return add_common(a);
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
  if (a.peer != nullptr) append_peer(text_, *a.peer);
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
    text_ += ",\"peer\":\"";  // an address needs no escaping
    append_peer(text_, *a.peer);
    text_ += '"';
  }
  text_ += "}\n";
}

void access_log::add_common(const access& a) {
  if (a.peer != nullptr && *a.peer) {
    text_ += a.peer->host();
  } else {
    text_ += '-';
  }
  ((text_ += " - - [") += stamp_) += "] \"";
  if (a.head != nullptr) {
    const std::size_t most = options_.target_bytes_max;
    append_quotable_text(text_, a.head->method_text().substr(0, most));
    append_quotable_text(text_ += ' ', a.head->target().substr(0, most));
    text_ += a.head->major_version() == 2   ? " HTTP/2.0"
             : a.head->minor_version() == 0 ? " HTTP/1.0"
                                            : " HTTP/1.1";
  } else {
    text_ += '-';
  }
  text_ += "\" ";
  append_number(text_, static_cast<std::uint64_t>(a.status));
  text_ += ' ';
  append_number(text_, a.bytes);
  if (options_.form == log_form::combined) {
    for (const header_id id : {header_id::referer, header_id::user_agent}) {
      const std::string_view value = a.head != nullptr ? a.head->value(id) : std::string_view();
      text_ += " \"";
      append_quotable_text(text_, value.empty() ? "-" : value.substr(0, options_.target_bytes_max));
      text_ += '"';
    }
  }
  text_ += '\n';
}

std::string access_log::take() {
  if (dropped_ != dropped_told_) {
    const std::string count = std::to_string(dropped_ - dropped_told_);
    dropped_told_ = dropped_;
    text_ += options_.form == log_form::json
                 ? "{\"dropped\":" + count + "}\n"
                 : "(" + count + " lines dropped: the log could not be written)\n";
  }
  return std::exchange(text_, {});
}

task<> access_log::flush(int descriptor) {
  const std::uint64_t told_before = dropped_told_;
  const bool says_dropped = dropped_ != dropped_told_;
  const std::string text = (std::exchange(torn_, false) ? "\n" : "") + take();
  std::size_t written = 0;
  // Counts the unwritten lines as dropped; a later line of the log reports their number.
  const auto give_up = [&] {
    dropped_ += static_cast<std::uint64_t>(std::count(text.begin() + written, text.end(), '\n'));
    if (says_dropped) {
      --dropped_;
      dropped_told_ = told_before;
    }
    torn_ = written != 0 && text[written - 1] != '\n';
  };
  while (written < text.size()) {
    heddle::one_operation ready(op_code::poll, descriptor, "log");
    ready.flags = POLLOUT;
    const std::int64_t events = co_await ready;
    // poll() on a regular file fails (EPERM); a regular file never blocks for long.
    if (events == -ECANCELED) {
      text_.insert(0, text, written, text.npos);
      co_return;
    }
    if (events < 0 && events != -EPERM && events != -EINTR) {
      give_up();
      co_return;
    }
    std::size_t size = std::min(text.size() - written, slice_bytes);
    // Writes whole lines if possible, because other workers' logs may share the descriptor.
    if (const std::size_t line = text.rfind('\n', written + size - 1);
        line != text.npos && line >= written)
      size = line + 1 - written;
    const std::int64_t got =
        heddle::detail::files_here().write(descriptor, text.data() + written, size);
    if (got < 0 && got != -EAGAIN && got != -EINTR) {  // the reader is gone, or the disk is full
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
