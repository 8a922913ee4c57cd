// SPDX-License-Identifier: MIT
// The identity of a file for its entity tag, from the state that the system gives. For parts of
// this library that read this state; programs fill file_identity themselves.
#pragma once

#include "heddle/http/etag.hh"

struct statx;

namespace heddle::http {

[[nodiscard]] file_identity identity_of(const struct ::statx& state) noexcept;

}  // namespace heddle::http
