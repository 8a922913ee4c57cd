// SPDX-License-Identifier: MIT
// What parts that answer have in common.
#include "cli/serve_topics.hh"

namespace heddle::cli {
namespace {

task<http::response> ready(http::response r) { co_return r; }

}  // namespace

flow answer_at_once(bus& b, question& q, http::response r) {
  b.raise<made_here>(r);
  q.answer = ready(std::move(r));
  return flow::halt;
}

}  // namespace heddle::cli
