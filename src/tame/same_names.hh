// SPDX-License-Identifier: MIT
// The names that a port renames on request.
#pragma once

#include <string_view>

namespace heddle::tame {

/// Names of tamer that mean the same in Heddle, with the same arguments.
inline constexpr struct {
  std::string_view tamer;
  const char* heddle;
} same_names[] = {
    {"event", "heddle::event"},
    {"rendezvous", "heddle::rendezvous"},
    {"bind", "heddle::bind"},
    {"map", "heddle::map"},
    {"rebind", "heddle::rebind"},
    {"push_back_event", "heddle::push_back_event"},
    {"output_event", "heddle::output_event"},
    {"at_asap", "heddle::asap"},
    {"tamed_class", "heddle::tamed_class"},
    {"destroy_guard", "heddle::destroy_guard"},
};

}  // namespace heddle::tame
