// SPDX-License-Identifier: MIT
// A server's beginning and end, where all that it owns is known.
#include "web/server_shared.hh"

#include <string>
#include <vector>

#include "heddle/core/exception_lines.hh"
#include "heddle/core/report.hh"

namespace heddle::http {

callee callee_of(const handler& h, site given) noexcept {
  callee found{given, &h.target_type()};
  if (const auto* const function = h.target<task<response> (*)(request&)>())
    found.code = reinterpret_cast<const void*>(*function);
  return found;
}

server_shared::server_shared(handler h, server_options o, site given)
    : answer(std::move(h)),
      answers(callee_of(answer, given)),
      options(std::move(o)),
      head_bounds(options.bounds),
      shedding(options.overload, counters),
      opening(options.server_name) {
  head_bounds.body_bytes_max = ~std::uint64_t{0};  // a route decides when the handler reads
}

server_shared::~server_shared() = default;

void server_shared::report_failure(const char* of, const callee* handler) const {
  const std::exception_ptr error = std::current_exception();
  worker& w = worker::running();
  if (!w.reports(diagnostic_kind::failed_handler)) return;
  const std::vector<site> lines = exception_lines(error);
  std::string object = of;
  if (handler != nullptr)
    if (const std::string name = handler->name(); !name.empty()) object += ", handler " + name;
  diagnostic d{.kind = diagnostic_kind::failed_handler, .error = error, .stack = lines};
  d.made = lines.empty() ? 0 : lines.front();
  d.object = object.c_str();
  if (handler != nullptr) d.object_made = handler->given;
  w.sched.report(d);
}

}  // namespace heddle::http
