// SPDX-License-Identifier: MIT
// The topic that both files bind.
#pragma once

#include "heddle/bus/bus.hh"

struct weighed : heddle::topic<int> {};

void bind_other(heddle::bus& b);
void raise_other_private(heddle::bus& b, int times);
int other_private();
