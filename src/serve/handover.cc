// SPDX-License-Identifier: MIT
// The protocol: the old server sends one byte with its listening sockets; the new one sends one
// byte when it has begun.
#include "serve/handover.hh"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "serve/socket_path.hh"

namespace heddle::serve {
namespace {

constexpr char giving = 'g';
constexpr char begun = 'b';
constexpr char late = 'l';
constexpr int patience_s = 5;  // how long the new server waits for an answer
constexpr unsigned ask_again_us = 10'000;
constexpr int tries_max = patience_s * 100;
constexpr nanoseconds begin_timeout = std::chrono::seconds(30);  // for the new server to begin
constexpr nanoseconds answer_timeout = std::chrono::seconds(5);  // for the old server's reply

constexpr std::size_t sockets_max = 64;  // the main one, and those of --listen and --redirect-http

/// A message of one byte with room for descriptors.
struct descriptor_message {
  descriptor_message() {
    part = {&byte, 1};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
  }
  char byte = giving;
  iovec part{};
  alignas(cmsghdr) char room[CMSG_SPACE(sockets_max * sizeof(int))] = {};
  msghdr message{};
};

bool send_descriptors(int over, std::span<const int> fds) noexcept {
  descriptor_message m;
  m.message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&m.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  return ::sendmsg(over, &m.message, MSG_NOSIGNAL) == 1;
}

enum class receipt : std::uint8_t { taken, peer_gone, nonsense };

receipt receive_descriptors(int over, std::vector<int>& into) {
  descriptor_message m;
  ssize_t got;
  do {  // completions of io_uring interrupt a wait with a time limit
    got = ::recvmsg(over, &m.message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno != EAGAIN)) return receipt::peer_gone;
  const cmsghdr* head = CMSG_FIRSTHDR(&m.message);
  if (got != 1 || head == nullptr || head->cmsg_type != SCM_RIGHTS) return receipt::nonsense;
  into.resize((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(into.data(), CMSG_DATA(head), into.size() * sizeof(int));
  return m.byte == giving && !into.empty() ? receipt::taken : receipt::nonsense;
}

}  // namespace

takeover::takeover(const std::string& path) {
  // A server that is about to end still answers for a moment, and closes the connection.
  for (int tries = 1; !ask(path); ++tries) {
    if (tries == tries_max)
      throw failure(std::make_error_code(std::errc::timed_out),
                    "the program at " + path + " passes no socket; is it heddle serve?");
    ::usleep(ask_again_us);
  }
}

bool takeover::ask(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof at.sun_path)
    return true;  // the constructor of handover_door reports this error
  std::memcpy(at.sun_path, path.data(), path.size());
  talk_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{patience_s, 0};
  ::setsockopt(talk_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(talk_, reinterpret_cast<::sockaddr*>(&at), sizeof at) == 0) {
    const receipt got = receive_descriptors(talk_, given_);
    if (got == receipt::taken) return true;
    ::close(std::exchange(talk_, -1));
    if (got == receipt::peer_gone) return false;
    throw failure(std::make_error_code(std::errc::timed_out),
                  "the program at " + path + " did not pass a socket; is it heddle serve?");
  }
  const int error = errno;
  ::close(std::exchange(talk_, -1));
  if (error != ENOENT && error != ECONNREFUSED)
    throw failure({error, std::generic_category()}, "cannot ask the server at " + path);
  return true;
}

takeover::~takeover() {
  if (talk_ >= 0) ::close(talk_);
  for (const int fd : given_) ::close(fd);
}

std::optional<tcp_listener> takeover::door() {
  if (given_.empty()) return std::nullopt;
  const int first = given_.front();
  given_.erase(given_.begin());
  return tcp_listener::adopt(first);
}

task<> takeover::done() {
  for (const int fd : std::exchange(given_, {}))
    ::close(fd);  // these sockets are at places that the settings do not name
  if (talk_ < 0) co_return;
  ::fcntl(talk_, F_SETFL, O_NONBLOCK);
  const unix_stream before(std::exchange(talk_, -1));
  const auto sent = co_await as_expected(before.write(byte_view(&begun, 1)));
  bool lost = !sent;  // the connection has already ended
  if (sent) {
    // The old server closes the connection. It sends a byte or a reset instead if another server
    // was quicker. If it stays silent, it is stopped or gone.
    char said = 0;
    const auto end =
        co_await as_expected(with_timeout(before.read_some(byte_span(&said, 1)), answer_timeout));
    lost = end ? *end != 0 : end.error() == std::errc::connection_reset;
  }
  if (lost)
    throw failure(std::make_error_code(std::errc::address_in_use),
                  "another server took over first; this one ends");
}

namespace {

constexpr int names_tried = 16;  // the most servers that begin together

/// Listens, so that no other user may connect, not even for a moment.
unix_listener listen_alone(const std::string& path) {
  struct narrow {
    ~narrow() { ::umask(before); }
    mode_t before = ::umask(0177);
  } const ours;
  return unix_listener::listen(path);
}

/// A listener beside the final path, under the first of its names that no other server uses. `used`
/// becomes this name once the listener is there: another server's socket is not removed.
task<unix_listener> listen_beside(std::string path, std::string& used) {
  for (int number = 1;; ++number) {
    std::string name = path + ".new" + (number == 1 ? "" : std::to_string(number));
    try {
      co_await clear_path(name);
      unix_listener door = listen_alone(name);
      used = std::move(name);
      co_return door;
    } catch (const failure& e) {
      if (e.code() != std::errc::address_in_use || number == names_tried) throw;
    }
  }
}

}  // namespace

handover_door::handover_door(std::string path, std::size_t sockets) : path_(std::move(path)) {
  if (sockets > sockets_max)
    throw failure(std::make_error_code(std::errc::argument_list_too_long),
                  "--handover passes up to " + std::to_string(sockets_max) +
                      " sockets, and there are " + std::to_string(sockets));
}

task<> handover_door::open() {
  co_await check_path(path_);
  door_ = co_await listen_beside(path_, beside_);
}

handover_door::~handover_door() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

task<unix_listener> handover_door::publish() {
  co_await check_path(path_);  // a file that was made there meanwhile stays
  if (std::rename(beside_.c_str(), path_.c_str()) != 0)
    throw failure({errno, std::generic_category()}, "cannot listen on " + path_);
  beside_.clear();
  co_return std::move(door_);
}

namespace {

/// Talks to one server that asked. Cancels `waiting` once that server has begun.
task<> give_to(unix_stream next, std::span<const int> doors, cancel_source& waiting) {
  if (!send_descriptors(next.number(), doors)) co_return;
  char answer = 0;
  const auto got =
      co_await as_expected(with_timeout(next.read_some(byte_span(&answer, 1)), begin_timeout));
  if (!got || *got != 1 || answer != begun) co_return;
  if (waiting.canceled()) {
    // The byte is sent even if this conversation is being cancelled: an unused socket has room.
    static_cast<void>(::send(next.number(), &late, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  } else {
    waiting.cancel();
  }
}

}  // namespace

task<> give_to_next(unix_listener at, tcp_listener door, std::vector<more_door> more) {
  std::vector<int> doors{door.number()};
  for (const more_door& d : more) doors.push_back(d.at.number());
  cancel_source waiting;
  scope asking;
  std::error_code ended;
  while (!ended) {
    result<unix_stream> next = co_await as_expected(with_cancel(waiting, at.accept()));
    if (next) {
      asking.spawn(give_to(std::move(*next), doors, waiting));
    } else {
      ended = next.error();
    }
  }
  // Other servers that asked see their connections end, and give up.
  asking.cancel();
  static_cast<void>(co_await as_expected(asking.join()));
  if (!waiting.canceled()) throw failure(ended);
}

}  // namespace heddle::serve
