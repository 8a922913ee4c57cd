// SPDX-License-Identifier: MIT
// heddle serve [DIR]: a web server for a directory. The first Ctrl-C drains, the second stops;
// SIGHUP reads the settings again; on exit one line says what was done. Results (the access log) go
// to stdout, talk goes to stderr.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/serve_banner.hh"
#include "cli/serve_door.hh"
#include "cli/serve_handover.hh"
#include "cli/serve_options.hh"
#include "cli/serve_site.hh"
#include "cli/verbs.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::cli {
namespace {

/// The running server: its settings as they are now, and the sites that they made.
class service {
 public:
  service(const std::vector<setting_request>& flags, const serve_options& o)
      : flags_(flags), log_({.form = o.log.value_or(http::log_form::plain)}), logs_(o.log) {
    http::server_options limits;
    limits.connections_max = o.connections_max;
    limits.idle_timeout = o.idle_timeout;
    limits.header_timeout = o.header_timeout;
    limits.write_timeout = o.write_timeout;
    limits.overload.target = o.queue_delay;
    limits.overload.retry_after = std::chrono::ceil<std::chrono::seconds>(o.retry_after);
    // Whoever watches the server wants to see it most when it has too much to do.
    if (o.metrics) limits.overload.exempt = &site::asks_for_metrics;
    if (logs_) limits.log = [this](const http::access& a) { log_.add(a); };
    web_.emplace([this](http::request& r) { return now_->answer(r); }, std::move(limits));
    now_ = make_site(o);
  }

  task<int> run(const serve_options& o) {
    takeover before(o.handover);
    std::optional<tcp_listener> given = before.door();
    if (!given) given = activated_door();
    door_ = given ? std::move(*given) : open_door(o, ::isatty(STDERR_FILENO) != 0);
    // Before anybody is told that we are here: a signal must find somebody who listens.
    signal_set stops{SIGINT, SIGTERM};
    signal_set reloads{SIGHUP};
    scope side;
    if (!o.handover.empty()) side.spawn(hand_over(open_handover(o.handover)));
    std::fputs(banner(o, door_.local()).c_str(), stderr);
    side.spawn(stop_on_signals(stops, o.drain_timeout));
    side.spawn(reload_on_signal(reloads));
    if (logs_) side.spawn(log_.write_to(STDOUT_FILENO));
    before.done();
    co_await web_->serve(door_);
    side.cancel();
    static_cast<void>(co_await as_expected(side.join()));
    if (logs_) co_await last_lines();
    std::fputs(farewell(web_->counters()).c_str(), stderr);
    co_return 0;
  }

 private:
  // A server that is full takes nothing from the door; what waits there must not keep it from
  // stopping.
  static constexpr nanoseconds close_door_timeout = std::chrono::seconds(1);
  static constexpr nanoseconds handover_grace = std::chrono::seconds(1);
  static constexpr nanoseconds last_lines_timeout = std::chrono::seconds(2);

  std::unique_ptr<site> make_site(const serve_options& o) {
    return std::make_unique<site>(o, [this](http::metrics_page& page) {
      page.server(web_->counters())
          .counter("heddle_log_dropped_total", "Lines that nobody read.", log_.dropped());
    });
  }

  task<> last_lines() {
    const auto done =
        co_await as_expected(with_timeout(log_.flush(STDOUT_FILENO), last_lines_timeout));
    if (!done) std::fputs("the last lines of the log were not read\n", stderr);
  }

  task<> stop_on_signals(signal_set& asked, nanoseconds drain_timeout) {
    co_await asked.next();
    std::fprintf(stderr, "\nDraining: %llu connections. Ctrl-C again stops at once.\n",
                 static_cast<unsigned long long>(web_->counters().open));
    co_await close_door();
    web_->stop();
    if (drain_timeout > nanoseconds::zero()) {
      const auto again = co_await as_expected(with_timeout(asked.next(), drain_timeout));
      if (!again && again.error() != std::errc::timed_out) co_return;
    } else {
      co_await asked.next();
    }
    web_->stop();
  }

  /// No new connections; those that the system has given us already are served.
  task<> close_door() {
    door_.finish();
    const time_point limit = clock::now() + close_door_timeout;
    while (door_.is_open() && clock::now() < limit)
      co_await sleep_for(std::chrono::milliseconds(1));
  }

  task<> hand_over(unix_listener at) {
    co_await give_to_next(std::move(at), door_);
    std::fprintf(stderr, "\nHanded over. Draining: %llu connections.\n",
                 static_cast<unsigned long long>(web_->counters().open));
    co_await close_door();
    // Clients that have connected and whose request is still on its way are answered here.
    co_await sleep_for(handover_grace);
    web_->stop();
  }

  /// What is wrong with the new settings is said, and the old ones stay.
  task<> reload_on_signal(signal_set& asked) {
    for (;;) {
      co_await asked.next();
      try {
        std::unique_ptr<site> next = make_site(put_together(flags_));
        // Answers that are being made belong to the old site until they are done.
        old_.push_back(std::exchange(now_, std::move(next)));
        std::fputs("Settings read again.\n", stderr);
      } catch (const std::exception& e) {
        print_error(e.what(), "the settings from before stay; correct them and send SIGHUP again");
      }
      std::erase_if(old_, [](const std::unique_ptr<site>& s) { return !s->busy(); });
    }
  }

  const std::vector<setting_request>& flags_;
  http::access_log log_;
  bool logs_;
  std::optional<http::server> web_;
  tcp_listener door_;  // also the server's; it closes it when no more is to be taken
  std::unique_ptr<site> now_;
  std::vector<std::unique_ptr<site>> old_;
};

task<int> serve(const std::vector<setting_request>& flags, const serve_options& o) {
  service s(flags, o);
  co_return co_await s.run(o);
}

int run(const std::vector<setting_request>& flags) {
  serve_options o;
  try {
    o = put_together(flags);
  } catch (const bad_setting& e) {
    print_error(e.what(), "heddle serve --help lists the settings");
    return 2;
  }
  runtime_options limits;
  limits.driver = o.driver;
  limits.memory_bytes = o.memory_bytes_max;
  runtime rt(std::move(limits));
  try {
    return rt.run(serve(flags, o));
  } catch (const failure& e) {
    print_error(e.what(), "heddle serve --help lists the settings");
    return 1;
  }
}

}  // namespace

verb_function add_serve(CLI::App& command) {
  auto flags = std::make_shared<std::vector<setting_request>>();
  for (const setting& s : settings()) {
    const std::string flag = "--" + std::string(s.name);
    const std::string names = (s.letter != 0 ? std::string("-") + s.letter + ',' : "") + flag;
    if (s.kind == setting_kind::on_off) {
      command.add_flag_function(
          names, [flags, &s, flag](std::int64_t) { flags->push_back({&s, "", flag}); });
      continue;
    }
    if (s.kind == setting_kind::repeated) {
      command
          .add_option_function<std::vector<std::string>>(
              names,
              [flags, &s, flag](const std::vector<std::string>& values) {
                for (const std::string& v : values) flags->push_back({&s, v, flag});
              })
          ->allow_extra_args(false);
      continue;
    }
    const bool positional = s.name == "directory";
    CLI::Option* option = command.add_option_function<std::string>(
        positional ? "DIR," + flag : names,
        [flags, &s, flag](const std::string& v) { flags->push_back({&s, v, flag}); });
    if (!positional) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  auto limits = std::make_shared<bool>(false);
  command.add_flag("--help-limits", *limits, "Limits and times");
  command.formatter_fn(
      [](const CLI::App*, std::string, CLI::AppFormatMode) { return serve_help(false); });
  return [flags, limits] {
    if (!*limits) return run(*flags);
    std::fputs(serve_help(true).c_str(), stdout);
    return 0;
  };
}

}  // namespace heddle::cli
