// SPDX-License-Identifier: MIT
// Two topics; whoever binds them says so here.
#pragma once

#include <string_view>

#include "heddle/bus/bus.hh"

struct word_read : heddle::topic<std::string_view> {};
struct byte_read : heddle::topic<char> {};

struct totals {
  long words = 0;
  long bytes = 0;
};

/// Binds what counts words and what raises and counts their bytes.
void bind_counters(heddle::bus& b, totals& t);
