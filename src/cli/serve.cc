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
#include "cli/serve_shard.hh"
#include "cli/verbs.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::cli {
namespace {

/// The running server: its shards, one a worker, and what concerns all of them. Color 0.
class service {
 public:
  service(const std::vector<setting_request>& flags, const serve_options& o) : flags_(flags) {
    const auto count = static_cast<unsigned>(runtime::here().workers());
    for (unsigned i = 0; i != count; ++i)
      shards_.push_back(std::make_unique<shard>(
          o, i, count, [this](http::metrics_page& page) { return show_metrics(page); }));
  }

  task<int> run(const serve_options& o) {
    takeover before(o.handover);
    std::optional<tcp_listener> given = before.door();
    if (!given) given = activated_door();
    tcp_listener door = given ? std::move(*given) : open_door(o, ::isatty(STDERR_FILENO) != 0);
    // Before anybody is told that we are here: a signal must find somebody who listens.
    signal_set stops{SIGINT, SIGTERM};
    signal_set reloads{SIGHUP};
    scope side;
    if (!o.handover.empty()) side.spawn(hand_over(open_handover(o.handover), door));
    std::fputs(banner(o, door.local()).c_str(), stderr);
    side.spawn(stop_on_signals(stops, o.drain_timeout));
    side.spawn(reload_on_signal(reloads));
    {
      scope serving;
      for (std::size_t i = 1; i < shards_.size(); ++i)
        serving.spawn(shards_[i]->own_color(), serve_in(*shards_[i], another_door(door)));
      serving.spawn(serve_in(*shards_[0], std::move(door)));
      before.done();
      co_await serving.join();
    }
    side.cancel();
    static_cast<void>(co_await as_expected(side.join()));
    std::fputs(farewell((co_await totals()).server).c_str(), stderr);
    co_return 0;
  }

 private:
  static constexpr nanoseconds handover_grace = std::chrono::seconds(1);

  static task<> serve_in(shard& s, tcp_listener door) { co_await s.serve(std::move(door)); }

  task<shard_totals> totals() {
    shard_totals all;
    for (const auto& s : shards_) all += co_await s->totals();
    co_return all;
  }
  task<> show_metrics(http::metrics_page& page) {
    const shard_totals all = co_await totals();
    page.server(all.server)
        .counter("heddle_log_dropped_total", "Lines that nobody read.", all.log_dropped)
        .gauge("heddle_workers", "Workers, each with a cache of its own.", shards_.size())
        .gauge("heddle_handlers_merged", "Handlers of topics that are called directly.",
               all.handlers_merged);
    show(all.folder, page);
    show(all.answers, page);
  }

  void drain_all(nanoseconds grace) {
    for (const auto& s : shards_)
      post(s->own_color(), [each = s.get(), grace] { each->drain(grace); });
  }

  task<> stop_on_signals(signal_set& asked, nanoseconds drain_timeout) {
    co_await asked.next();
    std::fprintf(stderr, "\nDraining: %llu connections. Ctrl-C again stops at once.\n",
                 static_cast<unsigned long long>((co_await totals()).server.open));
    drain_all(nanoseconds::zero());
    if (drain_timeout > nanoseconds::zero()) {
      const auto again = co_await as_expected(with_timeout(asked.next(), drain_timeout));
      if (!again && again.error() != std::errc::timed_out) co_return;
    } else {
      co_await asked.next();
    }
    for (const auto& s : shards_) post(s->own_color(), [each = s.get()] { each->stop(); });
  }

  task<> hand_over(unix_listener at, tcp_listener door) {
    co_await give_to_next(std::move(at), std::move(door));
    std::fprintf(stderr, "\nHanded over. Draining: %llu connections.\n",
                 static_cast<unsigned long long>((co_await totals()).server.open));
    // Clients that have connected and whose request is still on its way are answered here.
    drain_all(handover_grace);
  }

  static task<> change_in(shard& s, const serve_options& o) {
    co_await enter(s.own_color());
    s.change(o);
  }
  /// What is wrong with the new settings is said, and the old ones stay.
  task<> reload_on_signal(signal_set& asked) {
    for (;;) {
      co_await asked.next();
      try {
        const serve_options next = put_together(flags_);
        for (const auto& s : shards_) co_await change_in(*s, next);
        std::fputs("Settings read again.\n", stderr);
      } catch (const std::exception& e) {
        print_error(e.what(), "the settings from before stay; correct them and send SIGHUP again");
      }
    }
  }

  const std::vector<setting_request>& flags_;
  std::vector<std::unique_ptr<shard>> shards_;
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
  limits.workers = o.workers;
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
      // The library says "true" where no value was given, and truth_of() what others mean.
      command.add_flag(names)->each(
          [flags, &s, flag](const std::string& v) { flags->push_back({&s, v, flag}); });
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
