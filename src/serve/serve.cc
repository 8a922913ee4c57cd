// SPDX-License-Identifier: MIT
// heddle serve [DIR]: a web server for a directory. `heddle proxy` runs the same service with
// another part that answers. The first Ctrl-C drains and the second stops; SIGHUP reads the
// settings again; at exit it prints a one-line summary. The access log goes to stdout and messages
// go to stderr.
#include "serve/serve.hh"

#include <csignal>
#include <cstdio>
#include <memory>

#include "heddle/core/sleep.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"
#include "serve/banner.hh"
#include "serve/certificates.hh"
#include "serve/door.hh"
#include "serve/handover.hh"
#include "serve/https_redirect.hh"
#include "serve/log_file.hh"
#include "serve/options.hh"
#include "serve/rehearsal.hh"
#include "serve/run.hh"
#include "serve/setting_flags.hh"
#include "serve/shard.hh"
#include "serve/tls.hh"
#include "serve/uploads.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

/// Whether a wait was cancelled: the service ends, and there is no mistake to report.
bool was_canceled(const std::exception& e) noexcept {
  const auto* const f = dynamic_cast<const failure*>(&e);
  return f != nullptr && f->code() == std::errc::operation_canceled;
}

/// The running server: its shards, one for each worker, and the state that they share. Color 0.
class service {
 public:
  service(const setting_table& table, const setting_requests& flags, const serve_options& o)
      : table_(table),
        flags_(flags),
        around_(o.around),
        certificates_(o),
        tls_(o, certificates_.challenges()),
        log_(o.log_file) {
    const auto count = static_cast<unsigned>(runtime::here().workers());
    for (unsigned i = 0; i != count; ++i)
      shards_.push_back(
          std::make_unique<shard>(o, i, count, log_.descriptor(),
                                  [this](http::metrics_page& page) { return show_metrics(page); }));
  }

  task<int> run(const serve_options& o) {
    std::exception_ptr failed;
    try {
      co_await serve_until_stopped(o);
    } catch (...) {
      failed = std::current_exception();
    }
    for (const auto& s : shards_) co_await s->leave();
    if (failed) std::rethrow_exception(failed);
    const shard_totals all = co_await totals();
    around_->print(farewell(all.server));
    co_return 0;
  }

 private:
  static constexpr nanoseconds device_patience = std::chrono::seconds(2);
  static constexpr nanoseconds handover_grace = std::chrono::seconds(1);

  task<> serve_until_stopped(const serve_options& o) {
    takeover before(o.handover);
    tcp_listener door;  // stays closed over TCP in the program
    address at;
    if (o.user) {
      at = co_await open_stacks(o);
    } else {
      door = co_await open_socket(o, before);
      at = door.local();
    }
    // Listen for signals before any client or service manager learns that this server runs, because
    // they may then send one.
    signal_set stops{SIGINT, SIGTERM};
    signal_set reloads{SIGHUP};
    std::optional<signal_set> rotates;
    if (log_.is_file()) rotates.emplace(std::initializer_list<int>{SIGUSR1});
    const std::vector<more_door> more = co_await open_more_doors(o, before.more_doors());
    tcp_listener http_door = co_await open_http_door(o, before.more_doors());
    const address http_at = http_door.is_open() ? http_door.local() : address();
    std::vector<more_door> handed = more;  // sockets for the next server, beside `door`
    if (http_door.is_open()) handed.push_back({another_door(http_door), false});
    std::optional<handover_door> next;
    if (!o.handover.empty()) {
      next.emplace(o.handover, 1 + handed.size());
      co_await next->open();
    }
    if (!o.user) share_out(door, more);
    scope side;
    side.spawn(stop_on_signals(stops, o.drain_timeout));
    side.spawn(reload_on_signal(reloads));
    if (rotates) side.spawn(reopen_log_on_signal(*rotates));
    scope serving;
    if (http_door.is_open()) {
      redirect_.emplace(o, at.port(), certificates_);
      serving.spawn(redirect_->serve(std::move(http_door)));
    }
    for (std::size_t i = 1; i < shards_.size(); ++i)
      serving.spawn(shards_[i]->own_color(), shards_[i]->serve(tls_));
    serving.spawn(shards_[0]->serve(tls_));
    std::exception_ptr failed;
    try {
      co_await before.done();
      if (next) {
        unix_listener published = co_await next->publish();
        side.spawn(hand_over(std::move(published), door, std::move(handed)));
      }
      const std::string text = co_await banner(o, at, http_at);
      around_->print(text);
      side.spawn(certificates_.run(tls_));
      if (!o.uploads.empty()) side.spawn(tidy_uploads(o.directory, o.uploads));
      co_await serving.join();
    } catch (...) {
      failed = std::current_exception();
    }
    serving.cancel();
    static_cast<void>(co_await as_expected(serving.join()));
    side.cancel();
    static_cast<void>(co_await as_expected(side.join()));
    if (failed) std::rethrow_exception(failed);
  }

  /// The kernel's socket: the one that another server or the service manager gave, or a new one.
  static task<tcp_listener> open_socket(const serve_options& o, takeover& before) {
    std::optional<tcp_listener> given = before.door();
    if (given) check_door(o, given->local());
    if (!given) given = activated_door(o);
    if (given) co_return std::move(*given);
    co_return co_await open_door(o, o.around->interactive(), o.is_proxy ? "--listen" : "-p");
  }

  /// Each shard listens on a stack of its own; there is no socket to share.
  task<address> open_stacks(const serve_options& o) {
    static_cast<void>(activated_door(o));  // a socket that was given is an error
    const address at = user_address(o);
    const auto memory = process_memory_of(o);
    for (const auto& s : shards_) co_await s->listen(o, at, memory);
    const time_point limit = clock::now() + device_patience;
    while (!net::device_runs(o.user->device) && clock::now() < limit)
      co_await sleep_for(std::chrono::milliseconds(2));
    co_return at;
  }

  /// Gives each shard the listeners. The first shard shares these, so that they close with it.
  void share_out(const tcp_listener& door, const std::vector<more_door>& more) {
    shards_[0]->take(door, more);
    for (std::size_t i = 1; i < shards_.size(); ++i)
      shards_[i]->take(another_door(door), more_doors_again(more));
  }

  task<shard_totals> totals() {
    shard_totals all;
    for (const auto& s : shards_) all += co_await s->totals();
    co_return all;
  }
  task<> show_metrics(http::metrics_page& page) {
    const shard_totals all = co_await totals();
    page.server(all.server)
        .counter("heddle_log_dropped_total",
                 "Log lines dropped because the log could not be written.", all.log_dropped)
        .gauge("heddle_workers", "Workers, each with a cache of its own.", shards_.size())
        .gauge("heddle_handlers_merged", "Handlers called directly because of the plan.",
               all.handlers_merged);
    if (all.upstreams.empty()) show(all.folder, page);
    show(all.upstreams, page);
    show(all.answers, page);
    show(all.stack, page);
  }

  task<> drain_all(nanoseconds grace) {
    for (const auto& s : shards_)
      post(s->own_color(), [each = s.get(), grace] { each->drain(grace); });
    if (redirect_) co_await redirect_->drain(grace);
  }

  task<> stop_on_signals(signal_set& asked, nanoseconds drain_timeout) {
    co_await asked.next();
    const shard_totals now = co_await totals();
    around_->print("\nDraining: " + std::to_string(now.server.open) +
                   " connections. Ctrl-C again stops at once.\n");
    co_await drain_all(nanoseconds::zero());
    if (drain_timeout > nanoseconds::zero()) {
      const auto again = co_await as_expected(with_timeout(asked.next(), drain_timeout));
      if (!again && again.error() != std::errc::timed_out) co_return;
    } else {
      co_await asked.next();
    }
    for (const auto& s : shards_) post(s->own_color(), [each = s.get()] { each->stop(); });
    if (redirect_) redirect_->stop();
  }

  task<> hand_over(unix_listener at, tcp_listener door, std::vector<more_door> more) {
    co_await give_to_next(std::move(at), std::move(door), std::move(more));
    const shard_totals now = co_await totals();
    around_->print("\nHanded over. Draining: " + std::to_string(now.server.open) +
                   " connections.\n");
    // Answers the requests that are still under way from clients that have connected.
    co_await drain_all(handover_grace);
  }

  static task<> prepare_in(shard& s, const serve_options& o) {
    co_await enter(s.own_color());
    s.prepare(o);
  }
  static task<> change_in(shard& s, const serve_options& o) {
    co_await enter(s.own_color());
    s.change(o);
  }
  /// Uses these settings whole. The certificates change after all shards could make their parts,
  /// and before any shard uses them, because both steps can fail.
  task<> change_all(const serve_options& next) {
    certificates_.check(next);
    std::exception_ptr failed;
    try {
      for (const auto& s : shards_) co_await prepare_in(*s, next);
      co_await blocking([&] { tls_.reload(next); });
    } catch (...) {
      failed = std::current_exception();
    }
    if (failed) {
      for (const auto& s : shards_) post(s->own_color(), [each = s.get()] { each->forget(); });
      std::rethrow_exception(failed);
    }
    for (const auto& s : shards_) co_await change_in(*s, next);
    certificates_.change(next);
  }
  /// Reloads the settings at SIGHUP. If the new ones are invalid, reports that and keeps the old
  /// ones.
  task<> reload_on_signal(signal_set& asked) {
    for (;;) {
      co_await asked.next();
      try {
        const serve_options next = put_together(table_, flags_, around_);
        co_await change_all(next);
        around_->print("Settings read again.\n");
      } catch (const std::exception& e) {
        if (was_canceled(e)) throw;
        around_->print_error(
            e.what(), "the old settings stay in use; correct the new ones and send SIGHUP again");
      }
    }
  }

  task<> reopen_log_on_signal(signal_set& asked) {
    for (;;) {
      co_await asked.next();
      try {
        co_await blocking([this] { log_.reopen(); });
      } catch (const std::exception& e) {
        if (was_canceled(e)) throw;
        around_->print_error(e.what(), "the log goes on in the old file");
      }
    }
  }

  const setting_table& table_;
  const setting_requests& flags_;
  std::shared_ptr<surroundings> around_;
  certificates certificates_;
  secure_door tls_;
  log_file log_;
  std::vector<std::unique_ptr<shard>> shards_;
  std::optional<https_redirect> redirect_;
};

/// Refuses settings for things that a simulated world does not have.
void check_world(const serve_options& o) {
  if (!runtime::here().io().simulated()) return;
  const char* const missing = !o.handover.empty() ? "handover: sockets cannot be passed"
                              : o.user            ? "net: there is no device"
                                                  : nullptr;
  if (missing != nullptr) throw bad_setting(std::string(missing) + " in a simulated world");
}

task<int> serve(const setting_table& table, const setting_requests& flags, const serve_options& o) {
  check_world(o);
  if (!o.note.empty()) o.around->print(o.note + ".\n");
  if (o.check) co_return co_await rehearse(o);
  service s(table, flags, o);
  co_return co_await s.run(o);
}

/// Runs f, which serves, and gives the exit code; its errors become messages.
template <class F>
int exit_code_of(const setting_table& table, surroundings& around, F f) {
  const std::string help = "heddle " + std::string(table.verb) + " --help lists the settings";
  try {
    return f();
  } catch (const failure& e) {
    around.print_error(e.what(), help);
    return 1;
  } catch (const bad_setting& e) {
    around.print_error(e.what(), help);
    return 2;
  }
}

task<int> serve_with(const setting_table& table, const setting_requests& flags,
                     std::shared_ptr<surroundings> around) {
  const serve_options o = put_together(table, flags, std::move(around));
  co_return co_await serve(table, flags, o);
}

}  // namespace

int run_service(const setting_table& table, const setting_requests& flags) {
  const std::shared_ptr<surroundings> around = process_surroundings();
  return exit_code_of(table, *around, [&] {
    const serve_options o = put_together(table, flags, around);
    runtime rt(o.runtime);
    return rt.run(serve(table, flags, o));
  });
}

task<int> service_program(const setting_table& table, std::vector<std::string> words,
                          std::shared_ptr<surroundings> around) {
  command verb("heddle " + std::string(table.verb), "");
  const std::shared_ptr<setting_flags> flags = add_setting_flags(verb, table);
  if (const std::optional<early_end> end = verb.read(words)) {
    around->print_output(end->output);
    around->print(end->error);
    co_return end->code;
  }
  if (flags->page() != help_page::common) {
    around->print_output(help_of(table, flags->page()));
    co_return 0;
  }
  std::exception_ptr failed;
  try {
    co_return co_await serve_with(table, flags->requests, around);
  } catch (const std::exception& e) {
    if (was_canceled(e)) co_return 1;  // as after a kill: there is nothing to say
    failed = std::current_exception();
  } catch (...) {
    failed = std::current_exception();
  }
  co_return exit_code_of(table, *around, [&]() -> int { std::rethrow_exception(failed); });
}

std::function<int()> add_service(const setting_table& table, command& verb) {
  const std::shared_ptr<setting_flags> flags = add_setting_flags(verb, table);
  return [&table, flags] {
    if (flags->page() == help_page::common) return run_service(table, flags->requests);
    std::fputs(help_of(table, flags->page()).c_str(), stdout);
    return 0;
  };
}

std::function<int()> add_command(command& verb) { return add_service(serve_settings(), verb); }
std::function<int()> add_proxy_command(command& verb) {
  return add_service(proxy_settings(), verb);
}

}  // namespace heddle::serve
