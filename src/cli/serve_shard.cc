// SPDX-License-Identifier: MIT
// Serving, draining and changing settings in one color.
#include "cli/serve_shard.hh"

#include <unistd.h>

#include <cstdio>

#include "heddle/core/sleep.hh"
#include "heddle/http/problem_details.hh"

namespace heddle::cli {
namespace {

/// A limit of all shards together, for one of them.
std::uint64_t part_of(std::uint64_t whole, unsigned count) {
  return whole / count + (whole % count != 0 ? 1 : 0);
}

serve_options part_of(serve_options o, unsigned count) {
  o.cache_bytes_max = part_of(o.cache_bytes_max, count);
  o.held_bytes_max = part_of(o.held_bytes_max, count);
  return o;
}

}  // namespace

shard_totals& shard_totals::operator+=(const shard_totals& other) {
  server += other.server;
  folder += other.folder;
  answers += other.answers;
  log_dropped += other.log_dropped;
  handlers_merged += other.handlers_merged;
  return *this;
}

shard::shard(const serve_options& o, unsigned number, unsigned count, page_filler show_metrics)
    : number_(number),
      count_(count),
      log_({.form = o.log.value_or(http::log_form::plain)}),
      logs_(o.log),
      show_metrics_(std::move(show_metrics)) {
  if (logs_) bus_.bind<answered, &http::access_log::add>(&log_, 10);
  if (o.metrics) answers_.emplace(bus_);
  web_.emplace([this](http::request& r) { return answer(r); }, options_of(o));
  now_ = std::make_unique<site>(bus_, part_of(o, count), show_metrics_);
}

http::server_options shard::options_of(const serve_options& o) {
  http::server_options limits;
  limits.bounds = o.bounds;
  limits.drain_bytes_max = o.bounds.body_bytes_max;  // no file wants one: what is read is dropped
  limits.connections_max = part_of(o.connections_max, count_);
  // Not divided: which worker takes a connection is chance, and nobody is to be refused by it.
  limits.connections_per_address_max = o.connections_per_address_max;
  limits.trusted = o.trusted;
  limits.pipeline_max = o.pipeline_max;
  limits.send_bytes_max = o.send_bytes_max;
  limits.file_bytes_max = part_of(o.file_bytes_max, count_);
  limits.ready_bytes_max = o.ready_bytes_max;
  limits.body_timeout = o.body_timeout;
  limits.body_bytes_per_second_min = o.body_bytes_per_second_min;
  limits.idle_timeout = o.idle_timeout;
  limits.header_timeout = o.header_timeout;
  limits.write_timeout = o.write_timeout;
  limits.overload.target = o.queue_delay;
  limits.overload.retry_after = std::chrono::ceil<std::chrono::seconds>(o.retry_after);
  limits.overload.headers = o.fields_of_answers();
  limits.overload.exempt = [this](const http::request_head& head) {
    return bus_.raise<overdue>(head) == flow::halt;
  };
  limits.error_page = [this](const http::request_head* head, int status, std::string_view why) {
    return error(head, status, why);
  };
  // Where nobody listens the server need not even say who was answered.
  if (bus_.handlers<answered>() != 0)
    limits.log = [this](const http::access& a) { bus_.raise<answered>(a); };
  return limits;
}

task<http::response> shard::answer(http::request& r) {
  question q{r};
  bus_.raise<asked>(q);
  return std::move(q.answer);
}

http::response shard::error(const http::request_head* head, int status, std::string_view why) {
  http::response r = head == nullptr ? http::error_response(status, why)
                                     : http::problem_response(
                                           *head, {.status = status, .detail = std::string(why)});
  bus_.raise<made_here>(r);
  return r;
}

task<> shard::serve(tcp_listener door) {
  door_ = std::move(door);
  scope side;
  side_ = &side;
  if (logs_) side.spawn(log_.write_to(STDOUT_FILENO));
  co_await web_->serve(door_);
  side_ = nullptr;
  side.cancel();
  static_cast<void>(co_await as_expected(side.join()));
  if (logs_) co_await last_lines();
}

task<> shard::last_lines() {
  const auto done =
      co_await as_expected(with_timeout(log_.flush(STDOUT_FILENO), last_lines_timeout));
  if (!done) std::fputs("the last lines of the log were not read\n", stderr);
}

void shard::drain(nanoseconds grace) {
  if (side_ != nullptr) {
    side_->spawn(close_door(grace));
  } else {
    web_->stop();  // it has not begun, or has ended
  }
}

task<> shard::close_door(nanoseconds grace) {
  // Connections that the system has given us already are served. A server that is full takes
  // nothing from the door; what waits there must not keep it from stopping.
  door_.finish();
  const time_point limit = clock::now() + close_door_timeout;
  while (door_.is_open() && clock::now() < limit) co_await sleep_for(std::chrono::milliseconds(1));
  if (grace > nanoseconds::zero()) co_await sleep_for(grace);
  web_->stop();
}

void shard::change(const serve_options& o) {
  // Both are bound for a moment in which nothing is raised.
  auto next = std::make_unique<site>(bus_, part_of(o, count_), show_metrics_);
  web_->change_refusals(o.fields_of_answers());
  old_.push_back(std::exchange(now_, std::move(next)));
  old_.back()->retire();
  std::erase_if(old_, [](const std::unique_ptr<site>& s) { return !s->busy(); });
}

task<shard_totals> shard::totals() {
  co_await enter(own_color());
  shard_totals all{.server = web_->counters(),
                   .folder = now_->counters(),
                   .answers = {},
                   .log_dropped = log_.dropped(),
                   .handlers_merged = bus_.merged<asked>() + bus_.merged<made_here>() +
                                      bus_.merged<answered>() + bus_.merged<overdue>()};
  if (answers_) all.answers = answers_->table();
  co_return all;
}

}  // namespace heddle::cli
