// SPDX-License-Identifier: MIT
// Who gets the page of metrics. What stands on it is the service's.
#include "cli/serve_metrics_view.hh"

namespace heddle::cli {
namespace {

constexpr std::string_view metrics_path = "/metrics";

bool local(const address& peer) noexcept {
  const std::string host = peer.host();
  return host.starts_with("127.") || host == "::1";
}

/// With a filler of its own: a reload may end the view while this waits.
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
  if (!local(q.request.peer())) return answer_at_once(bus_, q, http::error_response(404, ""));
  q.answer = page(bus_, fill_);
  return flow::halt;
}

flow metrics_view::on_overdue(const http::request_head& head) {
  return head.path() == metrics_path ? flow::halt : flow::go_on;
}

}  // namespace heddle::cli
