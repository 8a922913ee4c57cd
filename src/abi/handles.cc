// SPDX-License-Identifier: MIT
// Handles of heddle/abi.h made and looked into by C++.
#include "heddle/abi/handles.hh"

#include <cerrno>

#include "abi/moved_conn.hh"
#include "abi/objects.hh"

namespace heddle::abi {

tcp_stream stream_of(heddle_conn& c) noexcept { return borrowed_stream(&c).copy(); }
heddle_conn* make_conn(tcp_stream s) {
  if (!s.is_open()) throw failure(kernel_error(-EBADF), "a connection needs an open stream");
  return conn_stream(std::move(s)).release();
}
std::int64_t bring_here(heddle_worker* w, heddle_conn* c, heddle_wait* at, heddle_frame* self) {
  conn_wait wait(c, at, self);
  return come_here(w, c, wait, self);
}

heddle_listener* make_listener(tcp_listener l) {
  return make<heddle_listener>(worker::here(), std::move(l));
}

file& file_of(heddle_file& f) noexcept { return f.file; }
heddle_file* make_file(file f) { return make<heddle_file>(worker::here(), std::move(f)); }

}  // namespace heddle::abi
