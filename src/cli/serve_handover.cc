// SPDX-License-Identifier: MIT
// One byte with a descriptor in one direction, one byte back when the next server has begun.
#include "cli/serve_handover.hh"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "heddle/core/deadline.hh"

namespace heddle::cli {
namespace {

constexpr char giving = 'g';
constexpr char begun = 'b';
constexpr int patience_s = 5;  // of the next server, for an answer of the one before it
constexpr nanoseconds begin_timeout = std::chrono::seconds(30);  // for the next server to begin

/// A message of one byte, with room for one descriptor.
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
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

bool send_descriptor(int over, int fd) noexcept {
  descriptor_message m;
  cmsghdr* head = CMSG_FIRSTHDR(&m.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return ::sendmsg(over, &m.message, MSG_NOSIGNAL) == 1;
}

constexpr int nobody = -1;  // the other side has gone
constexpr int nonsense = -2;

int receive_descriptor(int over) noexcept {
  descriptor_message m;
  ssize_t got;
  do {  // completions of our own io_uring interrupt a wait that has a time limit
    got = ::recvmsg(over, &m.message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno != EAGAIN)) return nobody;
  const cmsghdr* head = CMSG_FIRSTHDR(&m.message);
  if (got != 1 || m.byte != giving || head == nullptr || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof(int)))
    return nonsense;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

}  // namespace

takeover::takeover(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof at.sun_path) return;  // listening there says so
  std::memcpy(at.sun_path, path.data(), path.size());
  talk_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{patience_s, 0};
  ::setsockopt(talk_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(talk_, reinterpret_cast<::sockaddr*>(&at), sizeof at) == 0) {
    given_ = receive_descriptor(talk_);
    if (given_ >= 0) return;
    ::close(std::exchange(talk_, -1));
    // A server that is about to end: with io_uring its socket answers for a moment longer.
    if (given_ == nobody) return;
    throw failure(std::make_error_code(std::errc::timed_out),
                  "what listens at " + path + " gives no socket; is it a heddle serve?");
  }
  const int error = errno;
  ::close(std::exchange(talk_, -1));
  if (error != ENOENT && error != ECONNREFUSED)
    throw failure({error, std::generic_category()}, "cannot ask the server at " + path);
}

takeover::~takeover() {
  if (talk_ >= 0) ::close(talk_);
  if (given_ >= 0) ::close(given_);
}

std::optional<tcp_listener> takeover::door() {
  if (given_ < 0) return std::nullopt;
  tcp_listener taken = tcp_listener::adopt(given_);
  given_ = -1;
  return taken;
}

void takeover::done() noexcept {
  if (talk_ >= 0) static_cast<void>(::send(talk_, &begun, 1, MSG_NOSIGNAL));
}

unix_listener open_handover(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) ::unlink(path.c_str());
  struct narrow {  // nobody else may connect, not even for a moment
    ~narrow() { ::umask(before); }
    mode_t before = ::umask(0177);
  } const ours;
  return unix_listener::listen(path);
}

task<> give_to_next(unix_listener at, tcp_listener door) {
  for (;;) {
    unix_stream next = co_await at.accept();
    if (!send_descriptor(next.number(), door.number())) continue;
    char answer = 0;
    const auto got =
        co_await as_expected(with_timeout(next.read_some(byte_span(&answer, 1)), begin_timeout));
    if (got && *got == 1 && answer == begun) co_return;
    if (!got && got.error() == std::errc::operation_canceled) throw failure(got.error());
  }
}

}  // namespace heddle::cli
