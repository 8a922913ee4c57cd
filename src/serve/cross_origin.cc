// SPDX-License-Identifier: MIT
// Answers preflight requests. The header line that allows other origins in all answers is the
// folder's.
#include "serve/cross_origin.hh"

namespace heddle::serve {

flow cross_origin::on_asked(question& q) {
  const http::request_head& head = q.request.head();
  if (head.verb() != http::method::options || !head.has(http::header_id::origin))
    return flow::go_on;
  http::response r(204);
  r.header("Access-Control-Allow-Methods", "GET, HEAD").header("Access-Control-Max-Age", "600");
  r.header("Access-Control-Allow-Headers", "Range, Authorization, If-None-Match");
  return answer_at_once(bus_, q, std::move(r));
}

}  // namespace heddle::serve
