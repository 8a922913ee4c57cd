// SPDX-License-Identifier: MIT
// xclient: a window with a scrollbar and a popup menu, whose widgets speak by topics.
//
//   xclient                                     until Ctrl-C; control and a click show the menu
//   xclient --measure 250 --json                what a popup and a scroll cost
//   xclient --play "popup 60 40; move 70 65; dump menu.ppm"
//
// The steps of --play go through the server, which sends the events back to the window: popup X Y,
// move X Y, press X Y, drag X Y, release X Y, dump FILE (a picture of the window, PPM).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "heddle/core/expected.hh"
#include "heddle/io/file.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"
#include "widgets.hh"

namespace xclient {
namespace {

struct settings {
  std::string steps;
  long measure = 0;
  bool json = false;
};

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

heddle::task<> dump(window& w, std::string path) {
  std::string out =
      "P6\n" + std::to_string(window_width) + ' ' + std::to_string(window_height) + "\n255\n";
  for (const rgb pixel : w.pixels())
    for (const int shift : {16, 8, 0}) out += static_cast<char>(pixel >> shift);
  co_await heddle::write_file(path, out);
}

heddle::task<> play(window& w, std::string steps) {
  std::istringstream all(steps);
  for (std::string step; std::getline(all, step, ';');) {
    std::istringstream words(step);
    std::string verb, path;
    pointer p{.at = {}, .button = 1};
    if (!(words >> verb)) continue;
    if (verb == "dump") {
      if (!(words >> path)) throw std::invalid_argument("'" + step + "': dump to which file?");
      co_await dump(w, path);
      continue;
    }
    if (!(words >> p.at.x >> p.at.y))
      throw std::invalid_argument("'" + step + "': write a verb and X Y");
    p.control = verb == "popup";
    p.dragging = verb == "drag";
    if (verb == "popup" || verb == "press") {
      w.play(kind_press, p);
    } else if (verb == "move" || verb == "drag") {
      w.play(kind_move, p);
    } else if (verb == "release") {
      w.play(kind_release, p);
    } else {
      throw std::invalid_argument("no step '" + verb +
                                  "'; there are: popup, press, move, drag, release, dump");
    }
  }
}

/// The least of ten parts: whatever else the machine does only adds.
template <class Step>
double least_ns(window& w, long count, Step step) {
  double least = 1e300;
  const long each = std::max(count / 10, 1l);
  for (int part = 0; part < 10; ++part) {
    double sum = 0;
    for (long done = 0; done < each;) {
      const long here = std::min(each - done, 25l);  // so that xcb's buffer need not be sent
      const double began = cpu_ns();
      for (long i = 0; i < here; ++i) step(static_cast<int>(done + i));
      sum += cpu_ns() - began;
      w.flush();
      done += here;
    }
    least = std::min(least, sum / static_cast<double>(each));
  }
  return least;
}

void measure(event_bus& b, window& w, const settings& s) {
  const double popup = least_ns(w, s.measure, [&](int) {
    b.raise<button_pressed>(pointer{.at = {60, 40}, .button = 1, .control = true});
  });
  b.raise<button_released>(pointer{.at = {0, 299}, .button = 1});
  b.raise<button_pressed>(pointer{.at = {5, 20}, .button = 1});
  const double scroll = least_ns(w, s.measure, [&](int i) {
    b.raise<pointer_moved>(
        pointer{.at = {5, static_cast<std::int16_t>(20 + i % 200)}, .dragging = true});
  });
  std::printf(
      s.json ? "{\"popup_ns\":%.1f,\"scroll_ns\":%.1f}\n" : "popup %.1f ns, scroll %.1f ns\n",
      popup, scroll);
}

heddle::task<int> run_window(settings s) {
  event_bus b;
  window w(b);
  const auto view = make_view(b, w);
  const auto bar = make_scrollbar(b, w);
  const auto popup = make_menu(b, w);
  co_await w.shown();
  if (s.measure > 0) measure(b, w, s);
  if (!s.steps.empty()) co_await play(w, s.steps);
  if (s.measure > 0 || !s.steps.empty()) co_return 0;
  heddle::signal_set stop{SIGINT, SIGTERM};
  heddle::scope tasks;
  tasks.spawn(w.listen());
  co_await stop.next();
  tasks.cancel();
  static_cast<void>(co_await heddle::as_expected(tasks.join()));
  co_return 0;
}

int run(int argc, char** argv) {
  CLI::App app("A window with a scrollbar and a popup menu.", "xclient");
  settings s;
  app.add_option("--play", s.steps, "Steps with semicolons between them, then end");
  app.add_option("--measure", s.measure, "Popups and scrolls to measure, then end")
      ->check(CLI::Range(1, 10'000'000));
  app.add_flag("--json", s.json, "One line for programs");
  CLI11_PARSE(app, argc, argv);
  heddle::runtime rt;
  return rt.run(run_window(std::move(s)));
}

}  // namespace
}  // namespace xclient

int main(int argc, char** argv) {
  try {
    return xclient::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
