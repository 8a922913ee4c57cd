// SPDX-License-Identifier: MIT
// The parts of libasync's core that are no templates: text, messages, option files, and sockets
// (include/libasync).
#define HEDDLE_ASYNC_INSIDE
#include <netinet/tcp.h>

#include <cstdarg>
#include <fstream>
#include <sstream>

#include "heddle/core/expected.hh"
#include "heddle/io/resolve.hh"
#include "libasync/async.h"
#include "libasync/parseopt.h"
#include "libasync/tame_io.h"
#include "tamer/fd.hh"

str progname;

namespace heddle::libasync {

void append_format(std::string& to, const char* format, std::va_list args) {
  std::va_list again;
  va_copy(again, args);
  char text[256];
  const int n = std::vsnprintf(text, sizeof text, format, args);
  if (n >= 0 && static_cast<std::size_t>(n) < sizeof text) {
    to.append(text, static_cast<std::size_t>(n));
  } else if (n > 0) {
    const std::size_t before = to.size();
    to.resize(before + static_cast<std::size_t>(n) + 1);  // with a place for the final zero
    std::vsnprintf(&to[before], static_cast<std::size_t>(n) + 1, format, again);
    to.pop_back();
  }
  va_end(again);
}

int make_inet_socket(int type, std::uint16_t port, std::uint32_t address) {
  const int fd = ::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  if (type == SOCK_STREAM && port != 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(address);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

namespace {

/// Gives the result of a system's call that came as a negative error: -1 with errno.
void give(const cbi& done, int result) {
  if (result < 0) errno = -result;
  done(result < 0 ? -1 : result);
}

void connect_then_give(in_addr address, std::uint16_t port, cbi done) {
  tamer::fd f;
  {
    heddle::tame::gather g;
    tamer::tcp_connect(address, port, g.make_event_at(std::source_location::current(), f));
    co_await g;
  }
  // The caller owns the descriptor's number; the fd keeps its own.
  give(done, f ? ::fcntl(f.value(), F_DUPFD_CLOEXEC, 0) : f.error());
  co_return;
}

heddle::task<> look_up_and_connect(str host, std::uint16_t port, cbi done, str* name) {
  const auto found = co_await heddle::as_expected(heddle::resolve(
      std::string(host.view()), std::to_string(port), {.family = heddle::address_family::v4}));
  if (!found || found->empty()) {
    give(done, -ENOENT);
    co_return;
  }
  sockaddr_in native{};
  std::memcpy(&native, found->front().native(), sizeof native);
  if (name != nullptr) *name = host;
  connect_then_give(native.sin_addr, port, done);
}

}  // namespace
}  // namespace heddle::libasync

str str::format(const char* format, ...) {
  std::va_list args;
  va_start(args, format);
  std::string text;
  heddle::libasync::append_format(text, format, args);
  va_end(args);
  return text;
}

strbuf::strbuf(const char* format, ...) : strbuf() {
  std::va_list args;
  va_start(args, format);
  heddle::libasync::append_format(data_->bytes(), format, args);
  va_end(args);
}
const strbuf& strbuf::fmt(const char* format, ...) const {
  std::va_list args;
  va_start(args, format);
  heddle::libasync::append_format(data_->bytes(), format, args);
  va_end(args);
  return *this;
}

int suio::output(int fd) {
  while (resid() != 0) {
    const ssize_t n = ::write(fd, bytes_.data() + begin_, resid());
    if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    rembytes(static_cast<std::size_t>(n));
  }
  return 1;
}
ssize_t suio::input(int fd, std::size_t most) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + most);
  const ssize_t n = ::read(fd, &bytes_[before], most);
  bytes_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return n;
}
void suio::rembytes(std::size_t n) noexcept {
  begin_ += n;
  if (begin_ != bytes_.size()) return;
  bytes_.clear();
  begin_ = 0;
}

void setprogname(const char* path) {
  const char* const last = std::strrchr(path, '/');
  progname = str(last == nullptr ? path : last + 1);
}

warnobj::warnobj(int how) : how_(how) {
  if ((how & named) == 0) return;
  if (progname) text_ << progname << ": ";
  if ((how & fatal_flag) != 0) text_ << "fatal: ";
}
warnobj::~warnobj() { write(); }
void warnobj::write() const {
  const std::string_view text = text_.tosuio()->view();
  const std::string one(text);
  std::fwrite(one.data(), 1, one.size(), stderr);
  text_.tosuio()->rembytes(one.size());
  if ((how_ & abort_flag) != 0) std::abort();
}
const warnobj& warnobj::operator()(const char* format, ...) const {
  std::va_list args;
  va_start(args, format);
  heddle::libasync::append_format(text_.tosuio()->bytes(), format, args);
  va_end(args);
  return *this;
}
fatalobj::~fatalobj() {
  write();
  std::exit(1);
}

parseargs::parseargs(str file) : name_(file) {
  std::ifstream in(file.cstr(), std::ios::binary);
  if (!in) fatal << file << ": " << std::strerror(errno) << "\n";
  std::ostringstream all;
  all << in.rdbuf();
  text_ = std::move(all).str();
}
bool parseargs::getline(vec<str>* words, int* line) {
  words->clear();
  while (at_ < text_.size() && words->empty()) {
    if (line != nullptr) *line = line_ + 1;
    std::string word;
    bool any = false, quoted = false;
    const auto end_word = [&] {
      if (any) words->push_back(str(word));
      word.clear();
      any = false;
    };
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        ++at_;
        ++line_;
        continue;
      }
      if (c == '\n') break;
      if (c == '"') {
        quoted = !quoted;
        any = true;
      } else if (!quoted && c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        break;
      } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
        end_word();
      } else {
        word += c;
        any = true;
      }
    }
    if (at_ < text_.size()) ++at_;  // the end of the line
    ++line_;
    end_word();
    if (quoted) error("a quotation does not end");
  }
  return !words->empty();
}
void parseargs::error(str message) const {
  fatal << name_ << ":" << line_ << ": " << message << "\n";
  std::abort();  // not reached: the statement before ends the program
}

time_t timenow() { return tamer::recent().tv_sec; }
void make_async(int fd) { static_cast<void>(tamer::fd::make_nonblocking(fd)); }
void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }
void tcp_nodelay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void tcpconnect(str host, std::uint16_t port, cbi done, bool, str* name) {
  heddle::spawn(heddle::libasync::look_up_and_connect(host, port, done, name));
}
void tcpconnect(in_addr address, std::uint16_t port, cbi done) {
  heddle::libasync::connect_then_give(address, port, done);
}

namespace tame {
namespace {

/// Waits until the descriptor is ready, and makes the call until it would not block.
template <class Call>
void call_when_ready(int fd, bool writes, evi_t e, Call call) {
  while (true) {
    const ssize_t n = call();
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
      e.trigger(static_cast<int>(n));
      co_return;
    }
    heddle::tame::gather g;
    ::wait_on_fd(fd, writes ? selwrite : selread, g.make_event_at(std::source_location::current()));
    co_await g;
  }
}

}  // namespace

void read(int fd, char* buffer, std::size_t size, evi_t e) {
  call_when_ready(fd, false, std::move(e), [=] { return ::read(fd, buffer, size); });
}
void write(int fd, const char* buffer, std::size_t size, evi_t e) {
  call_when_ready(fd, true, std::move(e), [=] { return ::write(fd, buffer, size); });
}
void accept(int fd, sockaddr* address, socklen_t* len, evi_t e) {
  call_when_ready(fd, false, std::move(e), [=] {
    return static_cast<ssize_t>(::accept4(fd, address, len, SOCK_NONBLOCK | SOCK_CLOEXEC));
  });
}
void proxy(int in, int out, evv_t e) {
  suio bytes;
  while (true) {
    {
      heddle::tame::gather g;
      ::wait_on_fd(in, selread, g.make_event_at(std::source_location::current()));
      co_await g;
    }
    const ssize_t n = bytes.input(in);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) break;
    int sent = bytes.output(out);
    while (sent == 0) {
      heddle::tame::gather g;
      ::wait_on_fd(out, selwrite, g.make_event_at(std::source_location::current()));
      co_await g;
      sent = bytes.output(out);
    }
    if (sent < 0) break;
  }
  e.trigger();
  co_return;
}

}  // namespace tame
