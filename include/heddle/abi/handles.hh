// SPDX-License-Identifier: MIT
// The streams and files behind the handles of heddle/abi.h, for C++ that shares them with plain
// frames.
//
//   heddle_conn* const c = heddle::abi::make_conn(std::move(stream));
//   heddle::abi::stream_of(*c).set_no_delay(true);
#pragma once

#include "heddle/abi.h"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"

namespace heddle::abi {

/// The stream of a connection. Before C++ uses it in another color than the last reader's,
/// bring_here() must have answered 0.
[[nodiscard]] tcp_stream stream_of(heddle_conn& c) noexcept;
/// A connection for heddle_close() to close. Fails: bad_file_descriptor if the stream is closed.
[[nodiscard]] heddle_conn* make_conn(tcp_stream s);
/// Takes the connection to the frame's color; an operation as those of heddle/abi.h.
[[nodiscard]] std::int64_t bring_here(heddle_worker* w, heddle_conn* c, heddle_wait* at,
                                      heddle_frame* self);

/// A listener for heddle_listener_close() to close. Fails: bad_alloc.
[[nodiscard]] heddle_listener* make_listener(tcp_listener l);

/// The file of a handle.
[[nodiscard]] file& file_of(heddle_file& f) noexcept;
/// A file for heddle_file_close() to close. Fails: bad_alloc.
[[nodiscard]] heddle_file* make_file(file f);

}  // namespace heddle::abi
