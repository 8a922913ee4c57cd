// SPDX-License-Identifier: MIT
// --cors: lets pages of other origins read the served files. A browser sends a preflight request
// without the password, so this part runs before the password check.
#pragma once

#include "serve/topics.hh"

namespace heddle::serve {

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

}  // namespace heddle::serve
