// SPDX-License-Identifier: MIT
// Pipe ends are plain descriptors: read and write at the cursor, in turn.
#include "heddle/io/pipe.hh"

#include "io/descriptor_state.hh"

namespace heddle {
namespace {

detail::descriptor_state* make_end(int fd) {
  return detail::descriptor_state::make<detail::descriptor_state>(fd,
                                                                  detail::descriptor_kind::plain);
}

}  // namespace

pipe_reader::pipe_reader(int fd) : descriptor(make_end(fd)) {}
pipe_writer::pipe_writer(int fd) : descriptor(make_end(fd)) {}

pipe_pair make_pipe() {
  int ends[2];
  if (const int error = driver_here().pipe(ends); error < 0)
    throw failure(kernel_error(error), "cannot make a pipe");
  int write_end = ends[1];
  try {
    pipe_reader reader(ends[0]);
    return {std::move(reader), pipe_writer(std::exchange(write_end, -1))};
  } catch (...) {
    if (write_end >= 0) driver_here().close(write_end, worker::here());
    throw;
  }
}

}  // namespace heddle
