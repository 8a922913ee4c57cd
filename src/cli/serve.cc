// SPDX-License-Identifier: MIT
// heddle serve [DIR]: a web server for a directory. The first Ctrl-C drains, the second stops; on
// exit one line says what was done. Results (the access log) go to stdout, talk goes to stderr.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/verbs.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/static_files.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::cli {
namespace {

struct serve_options {
  std::string directory = ".";
  int port = -1;
  bool everywhere = false;
  std::string log = "plain";
  bool hidden = false;
  bool no_listing = false;
};

constexpr int default_port = 8000;
constexpr int ports_tried = 20;  // when the port was not asked for
constexpr nanoseconds log_interval = std::chrono::milliseconds(200);

/// The access log: lines are gathered and written a few times a second.
class access_log {
 public:
  void add(const http::access& a) {
    const std::time_t now =
        std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
    std::tm local{};
    ::localtime_r(&now, &local);
    char text[96];
    const int len = std::snprintf(text, sizeof text, "%02d:%02d:%02d  %d  ", local.tm_hour,
                                  local.tm_min, local.tm_sec, a.status);
    text_.append(text, static_cast<std::size_t>(len));
    // The parser refuses control characters, so a line cannot be forged.
    if (a.head != nullptr) {
      (text_ += a.head->method_text()) += ' ';
      text_ += a.head->target().substr(0, 512);
    } else {
      text_ += "(not a request)";
    }
    std::snprintf(text, sizeof text, "  %llu B  %.1f ms  ",
                  static_cast<unsigned long long>(a.bytes),
                  static_cast<double>(a.took.count()) / 1e6);
    text_ += text;
    (text_ += a.peer->to_string()) += '\n';
    if (text_.size() >= flush_bytes) flush();
  }
  void flush() {
    std::fwrite(text_.data(), 1, text_.size(), stdout);
    std::fflush(stdout);
    text_.clear();
  }

 private:
  static constexpr std::size_t flush_bytes = 64 * 1024;
  std::string text_;
};

task<> flush_log(access_log& log) {
  for (;;) {
    co_await sleep_for(log_interval);
    log.flush();
  }
}

tcp_listener open_listener(const serve_options& o) {
  const bool asked = o.port >= 0;
  const int first = asked ? o.port : default_port;
  for (int port = first;; ++port) {
    const auto number = static_cast<std::uint16_t>(port);
    try {
      return tcp_listener::listen(o.everywhere ? address::any_v4(number)
                                               : address::loopback(number));
    } catch (const failure& e) {
      if (e.code() != std::errc::address_in_use) throw;
      if (!asked && port + 1 < first + ports_tried) continue;
      throw failure(e.code(), "port " + std::to_string(port) +
                                  " is taken; -p PORT takes another, -p 0 any that is free");
    }
  }
}

task<> stop_on_signals(http::server& web, access_log& log) {
  signal_set asked{SIGINT, SIGTERM};
  co_await asked.next();
  const std::uint64_t open = web.counters().open;
  log.flush();
  std::fprintf(stderr, "\nDraining: %llu connections. Ctrl-C again stops at once.\n",
               static_cast<unsigned long long>(open));
  web.stop();
  co_await asked.next();
  web.stop();
}

task<int> serve(const serve_options& o) {
  http::static_options files_options;
  files_options.listing = !o.no_listing;
  files_options.hidden = o.hidden;
  http::static_files files(o.directory, files_options);
  access_log log;
  http::server_options options;
  if (o.log == "plain") options.log = [&log](const http::access& a) { log.add(a); };
  http::server web([&files](http::request& r) { return files.answer(r); }, std::move(options));

  tcp_listener door = open_listener(o);
  const address at = door.local();
  std::fprintf(stderr,
               "Serving  %s/\n  here     http://127.0.0.1:%d/\n  network  %s\n  1 worker, %s"
               "      Ctrl-C stops\n",
               o.directory.c_str(), at.port(),
               o.everywhere ? "on, every interface" : "off  add --public to share on this network",
               runtime::here().io().name());
  scope side;
  side.spawn(stop_on_signals(web, log));
  if (options.log || o.log == "plain") side.spawn(flush_log(log));
  co_await web.serve(std::move(door));
  side.cancel();
  static_cast<void>(co_await as_expected(side.join()));
  log.flush();
  const http::server_counters& c = web.counters();
  std::fprintf(stderr, "%llu requests, %llu bytes, p50 %.0f us, p99 %.0f us, %llu errors\n",
               static_cast<unsigned long long>(c.requests),
               static_cast<unsigned long long>(c.bytes),
               static_cast<double>(c.latency_ns.quantile(0.5)) / 1e3,
               static_cast<double>(c.latency_ns.quantile(0.99)) / 1e3,
               static_cast<unsigned long long>(c.errors));
  co_return 0;
}

int run(const serve_options& o) {
  runtime rt;
  try {
    return rt.run(serve(o));
  } catch (const failure& e) {
    print_error(e.what(), "heddle serve --help lists the options");
    return 1;
  }
}

}  // namespace

verb_function add_serve(CLI::App& command) {
  auto o = std::make_shared<serve_options>();
  command.add_option("DIR", o->directory, "What to serve")->capture_default_str();
  command.add_option("-p,--port", o->port, "Port; 0 takes any that is free (default 8000 or next)")
      ->check(CLI::Range(0, 65535));
  command.add_flag("--public", o->everywhere, "Listen on every interface, not on loopback only");
  command.add_option("--log", o->log, "plain or off")
      ->check(CLI::IsMember({"plain", "off"}))
      ->capture_default_str();
  command.add_flag("--hidden", o->hidden, "Serve names that begin with a dot too");
  command.add_flag("--no-listing", o->no_listing, "No pages for directories without an index");
  return [o] { return run(*o); };
}

}  // namespace heddle::cli
