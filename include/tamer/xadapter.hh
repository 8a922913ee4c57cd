// SPDX-License-Identifier: MIT
// For programs that include tamer's xadapter.hh. All adapters are in adapter.hh.
#pragma once

#include "tamer/adapter.hh"
