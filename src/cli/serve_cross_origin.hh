// SPDX-License-Identifier: MIT
// --cors: pages of other origins may read what is served. A browser asks first; it does so without
// a password, so this stands before it.
#pragma once

#include "cli/serve_topics.hh"

namespace heddle::cli {

/// Thread: the shard's color. Owns: its binding.
class cross_origin {
 public:
  explicit cross_origin(bus& b) : bus_(b) { b.bind<asked, &cross_origin::on_asked>(this, 10); }
  cross_origin(const cross_origin&) = delete;
  cross_origin& operator=(const cross_origin&) = delete;
  ~cross_origin() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  bus& bus_;
};

}  // namespace heddle::cli
