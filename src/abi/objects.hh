// SPDX-License-Identifier: MIT
// The definitions of the opaque types of heddle/abi.h.
#pragma once

#include <utility>

#include "heddle/abi.h"
#include "heddle/io/file.hh"
#include "heddle/io/received.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/tcp_source.hh"

struct heddle_conn {
  explicit heddle_conn(heddle::tcp_stream s) noexcept : stream(std::move(s)) {}
  heddle::tcp_stream stream;
  // The rest of a block, if a reader with little room took only a part of it.
  heddle::received rest;
  // The place of the color in which the driver may receive ahead of the readers; no_color when it
  // does not.
  std::uint32_t reads_in = heddle::no_color;
};

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
