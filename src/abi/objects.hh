// SPDX-License-Identifier: MIT
// The definitions of the opaque types of heddle/abi.h.
#pragma once

#include <utility>

#include "heddle/abi.h"
#include "heddle/io/detail/socket_input.hh"
#include "heddle/io/file.hh"
#include "heddle/io/received.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/tcp_source.hh"

struct heddle_listener {
  explicit heddle_listener(heddle::tcp_listener l) noexcept : listener(std::move(l)) {}
  heddle_listener(heddle::opened_door opened, std::uint32_t color_of_source) noexcept
      : door(std::move(opened.door)), at(opened.at), home(color_of_source) {}
  heddle::tcp_listener listener;
  // If the runtime has a tcp_source, these take the place of the listener.
  heddle::listener door;
  heddle::address at;
  std::uint32_t home = heddle::no_color;  ///< the source's color; no_color: there is no source
};

struct heddle_file {
  explicit heddle_file(heddle::file f) noexcept : file(std::move(f)) {}
  heddle::file file;
};

namespace heddle::abi {

/// A handle of a connection is the address of its socket's state, which counts it: a connection
/// has no memory besides. This is the stream of such a handle, which it owns.
class conn_stream : public tcp_stream {
 public:
  explicit conn_stream(heddle_conn* c) noexcept
      : tcp_stream(reinterpret_cast<detail::descriptor_state*>(c)) {}
  explicit conn_stream(tcp_stream s) noexcept : tcp_stream(std::move(s)) {}
  /// Gives the handle up: the caller owns it.
  [[nodiscard]] heddle_conn* release() noexcept {
    return reinterpret_cast<heddle_conn*>(std::exchange(state_, nullptr));
  }
};

/// The stream of a handle that its caller goes on to own.
class borrowed_stream {
 public:
  explicit borrowed_stream(heddle_conn* c) noexcept : stream_(c) {}
  borrowed_stream(const borrowed_stream&) = delete;
  borrowed_stream& operator=(const borrowed_stream&) = delete;
  ~borrowed_stream() { static_cast<void>(stream_.release()); }
  [[nodiscard]] const tcp_stream* operator->() const noexcept { return &stream_; }
  /// A handle of its own.
  [[nodiscard]] tcp_stream copy() const noexcept { return stream_; }

 private:
  conn_stream stream_;
};

[[nodiscard]] inline detail::socket_input input_of(heddle_conn* c) noexcept {
  return detail::socket_input(*reinterpret_cast<detail::descriptor_state*>(c));
}

/// A buffer that is a block of the driver's.
struct block_buffer : heddle_buffer {
  explicit block_buffer(received&& from) noexcept : heddle_buffer{}, in(std::move(from)) {
    data = reinterpret_cast<char*>(in.writable().data());
    end = capacity = in.size();
    block = 1;
  }
  received in;
};

/// Makes an object in the worker's memory; throws without memory.
template <class T, class... Args>
[[nodiscard]] T* make(worker& w, Args&&... args) {
  return new (w.memory.allocate(sizeof(T))) T(std::forward<Args>(args)...);
}
template <class T>
void drop(worker& w, T* x) noexcept {
  if (x == nullptr) return;
  std::destroy_at(x);
  w.memory.release(x, sizeof(T));
}

}  // namespace heddle::abi
