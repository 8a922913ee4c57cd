// SPDX-License-Identifier: MIT
// The tables that the kinds' own files define, for state_kinds.cc, which puts them in order.
#pragma once

#include "io/descriptor_state.hh"

namespace heddle::detail {

/// Cancels nothing: for waits that are in no context, because no frame waits in them.
inline void never_asked(wait&, worker&) noexcept {}

extern const descriptor_functions file_functions;             // file_call.cc
extern const descriptor_functions socket_functions;           // receiver.cc
extern const descriptor_functions socket_listener_functions;  // listener.cc
extern const descriptor_functions layer_functions;            // layer.cc
extern const descriptor_functions source_functions;           // stream_source.cc

extern const stream_functions socket_stream_functions;  // socket_stream.cc
extern const stream_functions layer_stream_functions;   // layer.cc

extern const listener_functions accepting_functions;  // listener.cc
extern const listener_functions sourced_functions;    // stream_source.cc

extern const entry_functions transfer_functions;  // transfer.cc
extern const entry_functions chain_functions;     // transfer.cc
extern const entry_functions message_functions;   // udp.cc
extern const entry_functions receive_functions;   // receiver.cc
extern const entry_functions readable_functions;  // receiver.cc
extern const entry_functions detach_functions;    // receiver.cc
extern const entry_functions writable_functions;  // transfer.cc
extern const entry_functions accept_functions;    // listener.cc

}  // namespace heddle::detail
