// SPDX-License-Identifier: MIT
//
// The ceiling with io_uring: one thread, one ring with deferred task work, multishot accept
// into direct descriptors, multishot receive from a provided buffer ring, and plain sends
// submitted in a batch by the call that waits. Heddle's servers are measured against this.
// Options: see answer.hh.
#include "answer.hh"

#include <liburing.h>

#include <algorithm>
#include <vector>

namespace {

constexpr unsigned queue_len = 4096;
constexpr unsigned file_max = 16384;
constexpr unsigned buffer_count = 1024;  // a power of two; with 512 bytes each the ring
constexpr unsigned buffer_size = 512;    // stays inside a second-level cache
constexpr int group = 0;
constexpr std::uint32_t none = ~0u;

enum class kind : std::uint64_t { accept, receive, send, close };

struct connection {
  std::size_t owed = 0;        // answers still to be sent
  std::uint32_t first = none;  // echo: buffers still to be sent, the first in flight
  std::uint32_t last = none;
  std::uint32_t flight = 0;  // bytes of the send in flight
  std::uint8_t matched = 0;
  bool receiving = false;
  bool ended = false;   // the client sends no more: closes when all is answered
  bool broken = false;  // closes when nothing is in flight
};

class server {
 public:
  explicit server(const ceiling::options& o)
      : answer_(o.body, o.total),
        echo_(o.echo),
        listener_(ceiling::listen_loopback(o.port)),
        connections_(file_max),
        chunks_(buffer_count),
        bytes_(buffer_count * buffer_size) {
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    p.cq_entries = 4 * queue_len;
    check(io_uring_queue_init_params(queue_len, &ring_, &p), "io_uring_queue_init");
    check(io_uring_register_ring_fd(&ring_) - 1, "io_uring_register_ring_fd");
    check(io_uring_register_files_sparse(&ring_, file_max), "io_uring_register_files_sparse");
    if (::posix_memalign(reinterpret_cast<void**>(&buffers_), 4096,
                         buffer_count * sizeof(io_uring_buf)) != 0)
      ceiling::fail("posix_memalign");
    io_uring_buf_reg reg{};
    reg.ring_addr = reinterpret_cast<std::uintptr_t>(buffers_);
    reg.ring_entries = buffer_count;
    reg.bgid = group;
    check(io_uring_register_buf_ring(&ring_, &reg, 0), "io_uring_register_buf_ring");
    io_uring_buf_ring_init(buffers_);
    for (std::uint32_t id = 0; id < buffer_count; ++id) recycle(id);
    accept();
  }

  [[noreturn]] void run() {
    for (;;) {
      io_uring_buf_ring_advance(buffers_, recycled_);
      recycled_ = 0;
      io_uring_submit_and_wait(&ring_, 1);
      answer_.refresh();
      unsigned head, seen = 0;
      io_uring_cqe* cqe;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        take(*cqe);
        ++seen;
      }
      io_uring_cq_advance(&ring_, seen);
    }
  }

 private:
  struct chunk {
    std::uint32_t len;
    std::uint32_t next;
  };

  static void check(int result, const char* what) {
    if (result < 0) {
      errno = -result;
      ceiling::fail(what);
    }
  }

  io_uring_sqe* next(kind what, std::uint32_t file) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    pending_ = static_cast<std::uint64_t>(what) << 32 | file;
    return sqe;
  }

  void tag(io_uring_sqe* sqe) { sqe->user_data = pending_; }  // after prep, which clears it

  void recycle(std::uint32_t id) {
    io_uring_buf_ring_add(buffers_, &bytes_[id * buffer_size], buffer_size,
                          static_cast<unsigned short>(id), buffer_count - 1,
                          static_cast<int>(recycled_++));
  }

  void accept() {
    io_uring_sqe* sqe = next(kind::accept, 0);
    io_uring_prep_multishot_accept_direct(sqe, listener_, nullptr, nullptr, 0);
    tag(sqe);
  }

  void receive(std::uint32_t file) {
    io_uring_sqe* sqe = next(kind::receive, file);
    io_uring_prep_recv_multishot(sqe, static_cast<int>(file), nullptr, 0, 0);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe->buf_group = group;
    tag(sqe);
    connections_[file].receiving = true;
  }

  void take(const io_uring_cqe& cqe) {
    const auto file = static_cast<std::uint32_t>(cqe.user_data);
    switch (static_cast<kind>(cqe.user_data >> 32)) {
      case kind::accept:
        if (cqe.res >= 0) {
          connections_[static_cast<std::uint32_t>(cqe.res)] = connection{};
          receive(static_cast<std::uint32_t>(cqe.res));
        }
        if (!(cqe.flags & IORING_CQE_F_MORE)) accept();
        return;
      case kind::receive:
        return received(file, cqe);
      case kind::send:
        return sent(file, cqe.res);
      case kind::close:
        return;
    }
  }

  void received(std::uint32_t file, const io_uring_cqe& cqe) {
    connection& c = connections_[file];
    if (!(cqe.flags & IORING_CQE_F_MORE)) c.receiving = false;
    if (cqe.res > 0) {
      const std::uint32_t id = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
      const auto len = static_cast<std::uint32_t>(cqe.res);
      if (echo_) {
        chunks_[id] = {len, none};
        (c.first == none ? c.first : chunks_[c.last].next) = id;
        c.last = id;
      } else {
        c.owed += ceiling::count_requests(&bytes_[id * buffer_size], len, c.matched);
        recycle(id);
      }
      if (c.flight == 0 && !c.broken) send_next(file, c);
    } else if (cqe.res == 0) {
      c.ended = true;
    } else if (cqe.res != -ENOBUFS) {
      c.broken = true;
    }
    if (c.receiving) return;
    if (c.ended || c.broken) return close_when_quiet(file, c);
    receive(file);
  }

  // MSG_WAITALL: the kernel goes on after a short send, so one completion is the whole.
  void send_next(std::uint32_t file, connection& c) {
    const char* data;
    if (echo_) {
      if (c.first == none) return;
      data = &bytes_[c.first * buffer_size];
      c.flight = chunks_[c.first].len;
    } else {
      if (c.owed == 0) return;
      const std::size_t now = std::min(c.owed, answer_.copies());
      c.owed -= now;
      data = answer_.data();
      c.flight = static_cast<std::uint32_t>(now * answer_.size());
    }
    io_uring_sqe* sqe = next(kind::send, file);
    io_uring_prep_send(sqe, static_cast<int>(file), data, c.flight, MSG_NOSIGNAL | MSG_WAITALL);
    sqe->flags |= IOSQE_FIXED_FILE;
    tag(sqe);
  }

  void sent(std::uint32_t file, int result) {
    connection& c = connections_[file];
    if (result != static_cast<int>(c.flight)) c.broken = true;
    c.flight = 0;
    if (echo_) {
      const std::uint32_t id = c.first;
      c.first = chunks_[id].next;
      recycle(id);
    }
    if (!c.broken) send_next(file, c);
    if (!c.receiving) close_when_quiet(file, c);
  }

  void close_when_quiet(std::uint32_t file, connection& c) {
    if (c.flight != 0) return;
    for (; c.first != none; c.first = chunks_[c.first].next) recycle(c.first);
    io_uring_sqe* sqe = next(kind::close, file);
    io_uring_prep_close_direct(sqe, file);
    tag(sqe);
  }

  ceiling::answer answer_;
  bool echo_;
  int listener_;
  io_uring ring_{};
  io_uring_buf_ring* buffers_ = nullptr;
  unsigned recycled_ = 0;
  std::uint64_t pending_ = 0;
  std::vector<connection> connections_;
  std::vector<chunk> chunks_;
  std::vector<char> bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  server s(ceiling::read_options(argc, argv));
  s.run();
}
