// SPDX-License-Identifier: MIT
// The answer to a preflight request. That every answer allows other origins is the folder's line.
#include "cli/serve_cross_origin.hh"

namespace heddle::cli {

flow cross_origin::on_asked(question& q) {
  const http::request_head& head = q.request.head();
  if (head.verb() != http::method::options || !head.has(http::header_id::origin))
    return flow::go_on;
  http::response r(204);
  r.header("Access-Control-Allow-Methods", "GET, HEAD").header("Access-Control-Max-Age", "600");
  r.header("Access-Control-Allow-Headers", "Range, Authorization, If-None-Match");
  return answer_at_once(bus_, q, std::move(r));
}

}  // namespace heddle::cli
