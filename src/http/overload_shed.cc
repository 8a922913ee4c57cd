// SPDX-License-Identifier: MIT
// The server's side of the overload control: asking it before a request is begun, the marks that
// its meter wants, and new connections that wait.
#include <string>
#include <tuple>

#include "heddle/core/rendezvous.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/server.hh"
#include "heddle/io/unix.hh"
#include "heddle/sched/runtime.hh"
#include "http/fixed_fields.hh"
#include "http/overload_lines.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds hold_step = std::chrono::milliseconds(1);

}  // namespace

std::string refusal_lines(const overload_options& options) {
  const std::int64_t seconds = std::max<std::int64_t>(options.retry_after.count(), 0);
  return "Content-Type: text/plain; charset=utf-8\r\nRetry-After: " + std::to_string(seconds) +
         "\r\n" + checked_lines(options.headers);
}

void server::change_refusals(const std::vector<std::pair<std::string, std::string>>& headers) {
  overload_options changed = options_.overload;
  changed.headers = headers;
  refusal_lines_ = piece(refusal_lines(changed));
}

response server::refusal() const {
  response r(503);
  r.shared_lines(refusal_lines_).body(refusal_body_);
  if (options_.overload.close) r.close();
  return r;
}

bool server::admit(const request_head& head, overload_control::credit& credit) {
  if (!control_.on()) return true;
  const bool begins = control_.admit(worker::running().now, credit);
  counters_.queue_delay_ns.record(static_cast<std::uint64_t>(control_.latest().count()));
  counters_.overloads = control_.times();
  counters_.overloaded = control_.overloaded();
  if (control_.meter().wants_mark() && tasks_ != nullptr) {
    tasks_->spawn(watch_turn(*this));
    control_.meter().mark_queued();
  }
  if (begins) [[likely]]
    return true;
  if (options_.overload.exempt && options_.overload.exempt(head)) return true;
  ++counters_.shed;
  return false;
}

/// A mark of the meter's: queued behind all that is ready, and then either a probe or, cheaper, a
/// wait for the loop to be about to sleep. In both cases the next look is over at once.
task<> server::watch_turn(server& self) {
  queue_delay& meter = self.control_.meter();
  meter.mark_ran();
  const time_point now = worker::running().sched.read_clock();
  meter.note_time(now);
  if (self.probe_in_.is_open() && meter.wants_probe(now, self.control_.probe_spacing())) {
    meter.probe_left(now);
    const auto sent = co_await as_expected(self.probe_out_.write("."));
    if (sent) static_cast<void>(co_await as_expected(self.probe_in_.receive()));
    meter.probe_came(worker::running().now);
  } else {
    rendezvous<> look;
    runtime::here().preblock(look.make_event());
    const auto looked = co_await as_expected(look);
    if (!looked) look.clear();  // cancelled: the loop ends, or goes on without this server
  }
  meter.mark_ended(worker::running().now);
}

/// Without descriptors for it the delay is measured without probes.
void server::open_probe() {
  if (!control_.on()) return;
  try {
    std::tie(probe_in_, probe_out_) = unix_pair();
  } catch (const std::system_error&) {
  }
}

task<> server::hold_accepting() {
  ++counters_.accept_holds;
  const time_point end = add_saturated(worker::running().now, options_.overload.accept_hold_max);
  while (control_.holds_accepts(worker::running().now) && worker::running().now < end)
    co_await with_cancel(no_more_, sleep_for(hold_step));
}

}  // namespace heddle::http
