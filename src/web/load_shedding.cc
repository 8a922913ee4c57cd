// SPDX-License-Identifier: MIT
// A refusal costs one prepared answer; a measured turn costs one mark queued behind all ready
// frames.
#include "web/load_shedding.hh"

#include <string>
#include <tuple>

#include "heddle/core/deadline.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/detail/fixed_fields.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/server_counters.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds hold_step = std::chrono::milliseconds(1);
constexpr std::string_view refusal_text = "503 the server is overloaded; try again later\n";

std::string refusal_lines(const overload_options& options) {
  const std::int64_t seconds = std::max<std::int64_t>(options.retry_after.count(), 0);
  return "Content-Type: text/plain; charset=utf-8\r\nRetry-After: " + std::to_string(seconds) +
         "\r\n" + checked_lines(options.headers);
}

}  // namespace

load_shedding::load_shedding(const overload_options& options, server_counters& counters)
    : options_(options),
      counters_(counters),
      control_(options),
      refusal_lines_(refusal_lines(options)),
      refusal_body_(std::string(refusal_text)) {}

void load_shedding::change_headers(
    const std::vector<std::pair<std::string, std::string>>& headers) {
  overload_options changed = options_;
  changed.headers = headers;
  refusal_lines_ = piece(refusal_lines(changed));
}

response load_shedding::refusal() const {
  response r(503);
  r.shared_lines(refusal_lines_).body(refusal_body_);
  if (options_.close) r.close();
  return r;
}

bool load_shedding::admit(const request_head& head, overload_control::credit& credit) {
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
  if (options_.exempt && options_.exempt(head)) return true;
  ++counters_.shed;
  return false;
}

/// Runs one mark. It is queued behind all ready frames, and then either sends a probe or (this is
/// cheaper) waits for the loop's next chance to sleep. In both cases the next poll ends at once.
task<> load_shedding::watch_turn(load_shedding& self) {
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
    if (!looked) look.clear();  // cancelled: the loop ends, or runs on without this server
  }
  meter.mark_ended(worker::running().now);
}

/// Starts the measurement. If no descriptors are left for the probe, the delay is measured without
/// it.
void load_shedding::start_measuring(scope& tasks) {
  tasks_ = &tasks;
  if (!control_.on()) return;
  try {
    std::tie(probe_in_, probe_out_) = unix_pair();
  } catch (const std::system_error&) {
  }
}

void load_shedding::stop_measuring() noexcept {
  tasks_ = nullptr;
  probe_in_.close();
  probe_out_.close();
}

task<> load_shedding::hold_accepting(cancel_source& ended) {
  ++counters_.accept_holds;
  const time_point end = add_saturated(clock::now(), options_.accept_hold_max);
  while (control_.holds_accepts(worker::running().now) && worker::running().now < end)
    co_await with_cancel(ended, sleep_for(hold_step));
}

}  // namespace heddle::http
