// SPDX-License-Identifier: MIT
// The parts of a runtime. Each part has a class and a file of its own and uses only parts that
// come before it:
//
//   workers      their seats, options and modes          worker_set.hh, seat.hh
//   parked       workers that sleep, and their waking    worker_parking.hh, parking.hh
//   colors       queues of frames, and running them      color_runner.hh
//   timers       timers of colors                        color_timers.hh
//   completions  from drivers to colors, and cancelling  completion_delivery.hh
//   posted       calls from outside                      posted_calls.hh
//   look         dumps and counts                        inspection.hh
//   loop         turns of all of these                   event_loop.hh
//   printer      reports on standard error               report_printer.hh
#pragma once

#include "sched/event_loop.hh"
#include "sched/report_printer.hh"

namespace heddle {

struct runtime_parts {
  explicit runtime_parts(runtime& rt)
      : workers(rt.options()),
        parked(workers),
        colors(workers, parked),
        timers(workers, colors),
        completions(workers, parked, colors),
        posted(workers, colors),
        look(rt, workers, colors, posted),
        loop(workers, parked, colors, timers, completions, posted, look),
        printer(rt.options()) {}

  worker_set workers;
  worker_parking parked;
  color_runner colors;
  color_timers timers;
  completion_delivery completions;
  posted_calls posted;
  inspection look;
  event_loop loop;
  report_printer printer;
};

}  // namespace heddle
