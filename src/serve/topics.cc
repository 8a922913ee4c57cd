// SPDX-License-Identifier: MIT
// A helper for the parts that answer requests.
#include "serve/topics.hh"

namespace heddle::serve {
namespace {

task<http::response> ready(http::response r) { co_return r; }

}  // namespace

flow answer_at_once(bus& b, question& q, http::response r) {
  b.raise<made_here>(r);
  q.answer = ready(std::move(r));
  return flow::halt;
}

}  // namespace heddle::serve
