// SPDX-License-Identifier: MIT
// The server of tame_rpcserver.h, and the counts of rpc_stats.h.
#define HEDDLE_ASYNC_INSIDE
#include <cmath>

#include "libasync/parseopt.h"
#include "libasync/rpc_stats.h"
#include "libasync/tame_io.h"
#include "libasync/tame_rpcserver.h"

namespace tame {

void server_t::runloop() {
  server_ = asrv_delayed_eof::alloc(connection_, get_prog(), [this](svccb* call) {
    if (call != nullptr) return dispatch(call);
    if (verbosity_ > 0) warn << "a connection has ended\n";
    delete this;
  });
}

server_t* server_factory_t::alloc_server(int) {
  panic << "a server_factory_t must override alloc_server()\n";
  return nullptr;
}
server_t* server_factory_t::alloc_server(int fd, int) { return alloc_server(fd); }
void server_factory_t::new_connection(int fd) {
  tcp_nodelay(fd);
  server_t* const made = alloc_server(fd, verbosity_);
  made->open_ = open_;
  ++*open_;
  made->runloop();
}

namespace {

constexpr double full_pause = 0.01;  // seconds until the next try

void accept_all(server_factory_t* factory, u_int port, evb_t done) {
  const int door = port > 0xffff ? -1 : inetsocket(SOCK_STREAM, static_cast<std::uint16_t>(port));
  if (door < 0 || ::listen(door, 200) != 0) {
    warn("cannot listen on port %u: %m\n", port);
    if (door >= 0) ::close(door);
    done.trigger(false);
    co_return;
  }
  while (true) {
    while (factory->full()) {
      heddle::tame::gather g;
      ::timer(full_pause, g.make_event_at(std::source_location::current()));
      co_await g;
    }
    int fd = -1;
    sockaddr_in from{};
    socklen_t len = sizeof from;
    {
      heddle::tame::gather g;
      tame::accept(door, reinterpret_cast<sockaddr*>(&from), &len,
                   g.make_event_at(std::source_location::current(), fd));
      co_await g;
    }
    if (fd >= 0) {
      factory->new_connection(fd);
      continue;
    }
    // Descriptors may be short: connections can end meanwhile.
    heddle::tame::gather g;
    ::timer(full_pause, g.make_event_at(std::source_location::current()));
    co_await g;
  }
}

}  // namespace

void server_factory_t::run(u_int port, evb_t done) { accept_all(this, port, std::move(done)); }
void server_factory_t::run(const str& port, evb_t done) {
  u_int number = 0;
  if (convertint(port.cstr(), &number)) return run(number, std::move(done));
  warn << port << " is no port\n";
  done.trigger(false);
}

}  // namespace tame

namespace rpc_stats {

void rpc_stat_collector_t::end_call(const svccb* call, const timespec& begun) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto spent = static_cast<u_int64_t>(std::max<std::int64_t>(
      (now.tv_sec - begun.tv_sec) * 1'000'000 + (now.tv_nsec - begun.tv_nsec) / 1000, 0));
  rpc_stats_t& s = all_[{call->prog(), call->vers(), call->proc()}];
  s.min_time = s.count == 0 ? spent : std::min(s.min_time, spent);
  s.max_time = std::max(s.max_time, spent);
  s.time_sum += spent;
  s.time_squared_sum += spent * spent;
  ++s.count;
  if (!active_) return;
  if (printed_ == 0) printed_ = now.tv_sec;
  if (now.tv_sec - printed_ < static_cast<time_t>(interval_)) return;
  printed_ = now.tv_sec;
  print_info();
  reset();
}
str rpc_stat_collector_t::get_stat_line() const {
  strbuf line;
  const char* between = "";
  for (const auto& [id, s] : all_) {
    line << between << std::get<0>(id) << "." << std::get<1>(id) << "." << std::get<2>(id) << " "
         << s.count << " " << s.time_sum / s.count << " " << s.min_time << " " << s.max_time;
    between = " ";
  }
  return line;
}
void rpc_stat_collector_t::print_info() const { warn << get_stat_line() << "\n"; }
const rpc_stats_t* rpc_stat_collector_t::find(u_int32_t prog, u_int32_t vers,
                                              u_int32_t proc) const {
  const auto at = all_.find({prog, vers, proc});
  return at == all_.end() ? nullptr : &at->second;
}

}  // namespace rpc_stats

rpc_stats::rpc_stat_collector_t& get_rpc_stats() {
  static rpc_stats::rpc_stat_collector_t all;
  return all;
}
