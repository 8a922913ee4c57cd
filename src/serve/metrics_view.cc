// SPDX-License-Identifier: MIT
// Decides which clients get the metrics page; the service fills it.
#include "serve/metrics_view.hh"

#include "serve/net.hh"

namespace heddle::serve {
namespace {

constexpr std::string_view metrics_path = "/metrics";

/// Takes a copy of the filler, because a reload may end the view while this waits.
task<http::response> page(bus& b, page_filler fill) {
  http::metrics_page made;
  co_await fill(made);
  http::response r(200);
  r.body(http::metrics_type, std::move(made).text());
  b.raise<made_here>(r);
  co_return r;
}

}  // namespace

metrics_view::metrics_view(bus& b, page_filler fill) : bus_(b), fill_(std::move(fill)) {
  b.bind<asked, &metrics_view::on_asked>(this, 30);
  b.bind<overdue, &metrics_view::on_overdue>(this, 10);
}

flow metrics_view::on_asked(question& q) {
  if (q.request.path() != metrics_path) return flow::go_on;
  if (!q.request.peer().is_loopback() && !is_own_address(q.request.peer()))
    return answer_at_once(bus_, q, http::error_response(404, ""));
  q.answer = page(bus_, fill_);
  return flow::halt;
}

flow metrics_view::on_overdue(const http::request_head& head) {
  return head.path() == metrics_path ? flow::halt : flow::go_on;
}

}  // namespace heddle::serve
