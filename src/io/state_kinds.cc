// SPDX-License-Identifier: MIT
// The tables of the kinds of descriptors and of the roles of lane entries, in the order of their
// enumerations. A new kind is one line here and a file of its own.
#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

constexpr descriptor_functions plain_functions = {
    .start = &start_steps,
    .cancel = &cancel_in_driver,
    .close = &close_number,
    .each_operation = &no_operation,
    .destroy = &destroy_state<descriptor_state>,
    .works_in = nullptr,
};

// plain, file, socket, datagram, listener, layer, source
const descriptor_functions* const by_kind[] = {
    &plain_functions,           &file_functions,  &socket_functions, &plain_functions,
    &socket_listener_functions, &layer_functions, &source_functions,
};
const stream_functions* const streams_by_kind[] = {
    nullptr, nullptr, &socket_stream_functions, nullptr, nullptr, &layer_stream_functions, nullptr,
};
const listener_functions* const listeners_by_kind[] = {
    nullptr, nullptr, nullptr, nullptr, &accepting_functions, nullptr, &sourced_functions,
};
// transfer, chain, message, receive, readable, writable, accept, detach
const entry_functions* const by_role[] = {
    &transfer_functions, &chain_functions,    &message_functions, &receive_functions,
    &readable_functions, &writable_functions, &accept_functions,  &detach_functions,
};

}  // namespace

const descriptor_functions& functions_of(const descriptor_state& s) noexcept {
  return *by_kind[static_cast<std::size_t>(s.kind)];
}
const stream_functions* stream_functions_of(const descriptor_state& s) noexcept {
  return streams_by_kind[static_cast<std::size_t>(s.kind)];
}
const listener_functions* listener_functions_of(const descriptor_state& s) noexcept {
  return listeners_by_kind[static_cast<std::size_t>(s.kind)];
}
const entry_functions& functions_of(const lane_entry& e) noexcept {
  return *by_role[static_cast<std::size_t>(e.role)];
}

}  // namespace heddle::detail
