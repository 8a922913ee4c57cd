// SPDX-License-Identifier: MIT
// Figure 17 of Li and Zdancewic, 2007, as a plain io_uring loop: one record a read, which asks for
// the next block when its own has come; one call a turn sends what is asked and waits for at least
// one answer.
#include "../reads.hh"

#include <liburing.h>

#include <algorithm>

int main(int argc, char** argv) {
  const rival::reads_job job(argc, argv);
  io_uring ring;
  io_uring_params options{};
  const auto entries = static_cast<unsigned>(std::min(job.in_flight, 1024L));
  options.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SINGLE_ISSUER |
                  IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN;
  options.cq_entries = static_cast<unsigned>(std::max(2 * job.in_flight, 64L));
  if (const int error = io_uring_queue_init_params(entries, &ring, &options); error < 0) {
    std::fprintf(stderr, "no ring: error %d\n", -error);
    return 1;
  }
  const auto bytes = rival::block_bytes * static_cast<std::size_t>(job.in_flight);
  auto* const memory = static_cast<char*>(std::aligned_alloc(rival::block_bytes, bytes));
  std::mt19937_64 random(1);
  long asked = 0, answered = 0;
  const auto ask = [&](std::uint64_t record) {
    io_uring_sqe* request = io_uring_get_sqe(&ring);
    while (request == nullptr) {
      io_uring_submit(&ring);
      request = io_uring_get_sqe(&ring);
    }
    io_uring_prep_read(request, job.fd, memory + record * rival::block_bytes, rival::block_bytes,
                       static_cast<std::uint64_t>(job.place(random)));
    request->user_data = record;
    ++asked;
  };
  job.measure([&] {
    while (asked < std::min(job.in_flight, job.count)) ask(static_cast<std::uint64_t>(asked));
    while (answered < job.count) {
      io_uring_submit_and_wait(&ring, 1);
      unsigned head = 0, seen = 0;
      io_uring_cqe* c = nullptr;
      io_uring_for_each_cqe(&ring, head, c) {
        ++seen;
        ++answered;
        if (c->res != static_cast<int>(rival::block_bytes)) std::abort();
        if (asked < job.count) ask(c->user_data);
      }
      io_uring_cq_advance(&ring, seen);
    }
  });
  ::_exit(0);
}
