// SPDX-License-Identifier: MIT
// Needs: glib-2.0
//
// The runtime inside GLib's main loop: one descriptor to watch, one call to make. A desktop or
// D-Bus program keeps its loop, and its new parts are tasks.
#include <glib-unix.h>
#include <glib.h>

#include <chrono>
#include <cstdio>

#include "heddle/heddle.hh"
#include "heddle/io/foreign_loop.hh"

using namespace heddle;
using namespace std::chrono_literals;

struct program {
  explicit program(runtime& rt) : ours(rt) {
    g_unix_fd_add(ours.descriptor(), G_IO_IN, on_descriptor, this);
    step();
  }
  void step() {
    const nanoseconds span = ours.step();
    if (alarm != 0) g_source_remove(alarm);
    alarm = 0;
    if (span == nanoseconds::max()) return;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(span).count();
    alarm = g_timeout_add(static_cast<guint>(ms), on_alarm, this);
  }
  static gboolean on_descriptor(gint, GIOCondition, gpointer self) {
    static_cast<program*>(self)->step();
    return G_SOURCE_CONTINUE;
  }
  static gboolean on_alarm(gpointer self) {
    auto* p = static_cast<program*>(self);
    p->alarm = 0;  // it ends with this call
    p->step();
    return G_SOURCE_REMOVE;
  }
  foreign_loop ours;
  guint alarm = 0;
};

int ticks = 0;
gboolean tick(gpointer) { return ++ticks < 3 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE; }

task<> new_part(GMainLoop* loop) {
  for (int i = 0; i < 4; ++i) co_await sleep_for(5ms);
  g_main_loop_quit(loop);  // a task may call GLib: they share the thread
}

int main() {
  runtime rt;
  GMainLoop* const loop = g_main_loop_new(nullptr, FALSE);
  g_timeout_add(4, tick, nullptr);
  rt.spawn(new_part(loop));
  program p(rt);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  std::printf("inside GLib: %d ticks, 4 sleeps\n", ticks);
}
