// SPDX-License-Identifier: MIT
// Requests from operations. The helpers of liburing write every field, so a request needs no
// clearing.
#include "io/uring_prepare.hh"

#include <linux/openat2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "io/uring_blocks.hh"

namespace heddle {

void prepare(io_uring_sqe& request, const operation& op) noexcept {
  io_uring_sqe* const r = &request;
  // Called only for operations with a path: a receive_all that is sent again may belong to a
  // color that runs on another worker, which uses `data` for its own purpose.
  const auto path = [&op] { return static_cast<const char*>(op.data); };
  const auto flags = static_cast<int>(op.flags);
  switch (op.code) {
    case op_code::receive_all:
      io_uring_prep_rw(IORING_OP_RECV, r, op.fd, nullptr, 0, 0);
      r->ioprio = IORING_RECV_MULTISHOT;
      r->flags = IOSQE_BUFFER_SELECT;
      r->buf_group = uring_blocks::group;
      break;
    case op_code::send:
      io_uring_prep_rw(IORING_OP_SEND, r, op.fd, op.data, op.len, 0);
      r->msg_flags = op.flags | MSG_NOSIGNAL;
      break;
    case op_code::receive:
      io_uring_prep_rw(IORING_OP_RECV, r, op.fd, op.data, op.len, 0);
      r->msg_flags = op.flags;
      break;
    case op_code::receive_msg:
      io_uring_prep_rw(IORING_OP_RECVMSG, r, op.fd, op.data, 1, 0);
      r->msg_flags = op.flags;
      break;
    case op_code::send_msg:
      io_uring_prep_rw(IORING_OP_SENDMSG, r, op.fd, op.data, 1, 0);
      r->msg_flags = op.flags | MSG_NOSIGNAL;
      break;
    case op_code::accept:
    case op_code::accept_all:
      io_uring_prep_rw(IORING_OP_ACCEPT, r, op.fd, nullptr, 0, 0);
      // For sendfile, which has no flag of its own.
      r->accept_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
      if (op.code == op_code::accept_all) r->ioprio = IORING_ACCEPT_MULTISHOT;
      break;
    case op_code::connect:
      io_uring_prep_rw(IORING_OP_CONNECT, r, op.fd, op.data, 0, op.len);
      break;
    case op_code::poll:
      io_uring_prep_poll_add(r, op.fd, op.flags);
      break;
    case op_code::read:
      io_uring_prep_rw(IORING_OP_READ, r, op.fd, op.data, op.len, op.offset);
      break;
    case op_code::write:
      io_uring_prep_rw(IORING_OP_WRITE, r, op.fd, op.data, op.len, op.offset);
      break;
    case op_code::open:
      io_uring_prep_openat2(r, op.fd, path(), static_cast<open_how*>(op.more));
      break;
    case op_code::stat:
      io_uring_prep_statx(r, op.fd, path(), *path() == '\0' ? flags | AT_EMPTY_PATH : flags,
                          STATX_BASIC_STATS | STATX_BTIME, static_cast<struct statx*>(op.more));
      break;
    case op_code::sync:
      io_uring_prep_fsync(r, op.fd, op.flags != 0 ? IORING_FSYNC_DATASYNC : 0);
      break;
    case op_code::remove:
      io_uring_prep_unlinkat(r, op.fd, path(), flags);
      break;
    case op_code::rename:
      io_uring_prep_renameat(r, op.fd, path(), op.fd, static_cast<const char*>(op.more), 0);
      break;
    case op_code::make_directory:
      io_uring_prep_mkdirat(r, op.fd, path(), op.len);
      break;
    case op_code::list:
    case op_code::resolve:
    case op_code::call:
      io_uring_prep_nop(r);
      break;  // never here: they go to the pool
  }
}

unsigned readiness_of(const operation& op) noexcept {
  switch (op.code) {
    case op_code::read:
    case op_code::accept:
    case op_code::accept_all:
    case op_code::receive_all:
      return POLLIN;
    case op_code::write:
      return POLLOUT;
    case op_code::receive:
    case op_code::receive_msg:
      return (op.flags & MSG_DONTWAIT) != 0 ? 0 : POLLIN;
    case op_code::send:
    case op_code::send_msg:
      return (op.flags & MSG_DONTWAIT) != 0 ? 0 : POLLOUT;
    default:
      return 0;
  }
}

}  // namespace heddle
