// SPDX-License-Identifier: MIT
// The deadlines of a connection: delayed ACKs, SYN again, FIN-WAIT-2, keepalive, and the
// timers of sending.
#include "tcp/timer.hh"

#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

bool tick_due(std::uint32_t tick, instant now) noexcept { return time_of(tick, now) <= now; }

void syn_again(core& k, conn x) {
  pcb& c = x.c;
  if (c.retries >= k.opt.open_retries_max) {
    end(k, x, ending::timed_out);
    return;
  }
  ++c.retries;
  c.set(pcb_syn_due | pcb_syn_lost);
  ++k.count.segments_retransmitted;
  const std::uint64_t wait = std::uint64_t{k.opt.timeout_initial_us} << c.retries;
  set_idle_timer(k, x,
                 k.now + static_cast<instant>(std::min<std::uint64_t>(wait, k.opt.timeout_max_us)));
  mark_dirty(k, x);
}

void keep_alive(core& k, conn x) {
  pcb& c = x.c;
  const bool waits_for_data = c.traffic != no_index && !k.traffics[c.traffic].records.empty();
  if (waits_for_data) {
    restart_keepalive(k, x);
    return;
  }
  if (c.retries >= k.opt.keepalive_probes) {
    send_reset(k, c);
    end(k, x, ending::timed_out);
    return;
  }
  ++c.retries;
  ++k.count.keepalive_probes;
  send_old_number(k, c);
  set_idle_timer(k, x, k.now + instant{k.opt.keepalive_interval_s} * 1'000'000);
}

void on_idle_timer(core& k, conn x) {
  switch (x.c.now) {
    case state::syn_sent:
    case state::syn_received:
      syn_again(k, x);
      break;
    case state::fin_wait_2:
      if (x.c.has(pcb_read_shut)) {
        end(k, x, ending::timed_out);
        break;
      }
      [[fallthrough]];
    default:
      if (x.c.has(pcb_keepalive)) keep_alive(k, x);
  }
}

void on_send_timer(core& k, conn x, traffic& t) {
  const send_timer kind = t.timer;
  t.timer = send_timer::none;
  t.send_due = never_due;
  switch (kind) {
    case send_timer::none:
      break;
    case send_timer::timeout:
      on_timeout(k, x);
      break;
    case send_timer::tail_probe:
      tail_probe(k, x);
      break;
    case send_timer::reorder: {
      const bool before_it = t.lost_bytes != 0;
      const std::uint32_t wait = rack_detect(k, x.c, t);
      if (t.lost_bytes != 0 && !before_it && t.mode == recovery::open) begin_fast(k, x.c, t);
      if (wait != 0) {
        t.timer = send_timer::reorder;
        t.send_due = k.now + wait;
      } else {
        set_send_timer(k, x, t);
      }
      mark_dirty(k, x);
      break;
    }
    case send_timer::window_probe:
      window_probe(k, x);
      break;
  }
}

void run(core& k, conn x) {
  pcb& c = x.c;
  if (c.has(pcb_ack_later) && tick_due(c.ack_due, k.now)) {
    c.set(pcb_ack_now);
    mark_dirty(k, x);
    c.clear(pcb_ack_later);
  }
  if (c.has(pcb_idle_timer) && tick_due(c.idle_due, k.now)) {
    c.clear(pcb_idle_timer);
    on_idle_timer(k, x);
    if (x.gone()) return;
  }
  if (c.traffic != no_index && k.traffics[c.traffic].send_due <= k.now) {
    on_send_timer(k, x, k.traffics[c.traffic]);
    if (x.gone()) return;
  }
  if (c.has(pcb_ack_later)) schedule(k, x, time_of(c.ack_due, k.now));
  if (c.has(pcb_idle_timer)) schedule(k, x, time_of(c.idle_due, k.now));
  if (c.traffic != no_index && k.traffics[c.traffic].send_due != never_due)
    schedule(k, x, k.traffics[c.traffic].send_due);
}

}  // namespace

void mark_dirty(core& k, conn x) {
  if (x.c.has(pcb_dirty)) return;
  x.c.set(pcb_dirty);
  k.dirty.push_back(x.index);
}

void schedule(core& k, conn x, instant at) {
  const std::uint32_t tick = tick_of(at);
  if (x.c.has(pcb_armed) && static_cast<std::int32_t>(tick - x.c.armed) >= 0) return;
  x.c.armed = tick;
  x.c.set(pcb_armed);
  k.timers.push({(at + 255) >> 8 << 8, x.index, x.generation});
}

void set_idle_timer(core& k, conn x, instant at) {
  x.c.idle_due = tick_of(at);
  x.c.set(pcb_idle_timer);
  schedule(k, x, at);
}

void restart_keepalive(core& k, conn x) {
  if (x.c.has(pcb_keepalive))
    set_idle_timer(k, x, k.now + instant{k.opt.keepalive_idle_s} * 1'000'000);
}

void run_timers(core& k) {
  while (k.timers.due(k.now)) {
    const timer_entry e = k.timers.pop();
    conn x(k, e.index);
    if (x.generation != e.generation || !x.c.has(pcb_armed) || x.c.armed != tick_of(e.at)) continue;
    x.c.clear(pcb_armed);
    run(k, x);
  }
  k.waits.expire(k.now);
}

}  // namespace heddle::tcp
