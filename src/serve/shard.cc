// SPDX-License-Identifier: MIT
// Serves, drains and changes settings in one color.
#include "serve/shard.hh"

#include "heddle/core/sleep.hh"
#include "heddle/web/problem_details.hh"

namespace heddle::serve {
namespace {

/// One shard's share of a limit for all shards together.
std::uint64_t part_of(std::uint64_t whole, unsigned count) {
  return whole / count + (whole % count != 0 ? 1 : 0);
}

serve_options part_of(serve_options o, unsigned count) {
  o.files.cache_bytes_max = part_of(o.files.cache_bytes_max, count);
  o.files.held_bytes_max = part_of(o.files.held_bytes_max, count);
  return o;
}

}  // namespace

shard_totals& shard_totals::operator+=(const shard_totals& other) {
  server += other.server;
  folder += other.folder;
  upstreams += other.upstreams;
  answers += other.answers;
  log_dropped += other.log_dropped;
  stack += other.stack;
  handlers_merged += other.handlers_merged;
  return *this;
}

shard::shard(const serve_options& o, unsigned number, unsigned count, int log_descriptor,
             page_filler show_metrics)
    : number_(number),
      count_(count),
      log_descriptor_(log_descriptor),
      log_({.form = o.log.value_or(http::log_form::plain)}),
      logs_(o.log),
      around_(o.around),
      show_metrics_(std::move(show_metrics)) {
  if (o.proxy_protocol)
    heralded_.emplace(http::proxy_protocol_options{.trusted = o.server.trusted_proxies,
                                                   .timeout = o.server.header_timeout});
  if (logs_) bus_.bind<answered, &http::access_log::add>(&log_, 10);
  if (o.metrics) answers_.emplace(bus_);
  web_.emplace([this](http::request& r) { return answer(r); }, options_of(o));
  now_ = std::make_unique<site>(bus_, part_of(o, count), show_metrics_);
}

http::server_options shard::options_of(const serve_options& o) {
  http::server_options limits = o.server;
  if (!o.is_proxy) limits.drain_bytes_max = limits.bounds.body_bytes_max;  // no part needs a body
  limits.extended_connect = !o.is_proxy || o.proxy.upgrades;
  limits.connections_max = part_of(limits.connections_max, count_);
  // connections_per_address_max is not divided: chance decides which worker accepts a connection,
  // and must not cause a refusal.
  limits.file_bytes_max = part_of(limits.file_bytes_max, count_);
  limits.overload.headers = o.fields_of_answers();
  limits.overload.exempt = [this](const http::request_head& head) {
    return bus_.raise<overdue>(head) == flow::halt;
  };
  limits.error_page = [this](const http::request_head* head, int status, std::string_view why) {
    return error(head, status, why);
  };
  // Without a listener to `answered`, the server skips the report altogether.
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

void shard::take(listener door, std::vector<more_door> more) {
  door_ = std::move(door);
  more_doors_ = std::move(more);
}

task<> shard::listen(const serve_options& o, address at,
                     std::shared_ptr<tcp::memory_budget> process) {
  co_await enter(own_color());
  net_ = provider_of(o, number_, std::move(process));
  door_ = net_.listen(at).door;
}

task<> shard::serve(const secure_door& tls) {
  scope side;
  side_ = &side;
  if (logs_) side.spawn(log_.write_to(log_descriptor_));
  now_->start();
  scope others;
  for (const more_door& d : more_doors_) {
    listener at = d.at;
    if (heralded_ && !d.local) at = http::listen_for_proxies(std::move(at), *heralded_);
    others.spawn(web_->serve(d.local ? std::move(at) : tls.over(std::move(at))));
  }
  std::exception_ptr failed;
  try {
    listener from = door_;
    if (heralded_) from = http::listen_for_proxies(std::move(from), *heralded_);
    co_await web_->serve(tls.over(std::move(from)));
  } catch (...) {
    failed = std::current_exception();
    others.cancel();
  }
  static_cast<void>(co_await as_expected(others.join()));
  side_ = nullptr;
  side.cancel();
  static_cast<void>(co_await as_expected(side.join()));
  if (logs_) co_await last_lines();
  if (failed) std::rethrow_exception(failed);
  // The kernel sends what is left after the program has ended; a stack in the program does not.
  if (net_.is_user())
    static_cast<void>(co_await as_expected(with_timeout(net_.settled(), last_bytes_timeout)));
}

task<> shard::leave() {
  co_await enter(own_color());
  door_ = {};
  more_doors_.clear();
  net_ = {};
}

task<> shard::last_lines() {
  const auto done =
      co_await as_expected(with_timeout(log_.flush(log_descriptor_), last_lines_timeout));
  if (!done) around_->print("the last lines of the log could not be written\n");
}

void shard::drain(nanoseconds grace) {
  web_->end_kept_connections();
  if (side_ != nullptr) {
    side_->spawn(close_door(grace));
  } else {
    web_->stop();  // the server has not begun, or has ended
  }
}

task<> shard::close_door(nanoseconds grace) {
  co_await close_doors(door_, more_doors_, grace);
  web_->stop();
}

shard::prepared::prepared(const serve_options& o, const page_filler& fill)
    : parts(unused, o, fill) {}

void shard::prepare(const serve_options& o) {
  prepared_ = std::make_unique<prepared>(part_of(o, count_), show_metrics_);
}

void shard::change(const serve_options& o) {
  prepared_.reset();  // gives back what the next site needs
  // The old and the new site are bound together for a moment, but no topic is raised then.
  auto next = std::make_unique<site>(bus_, part_of(o, count_), show_metrics_);
  web_->change_refusals(o.fields_of_answers());
  old_.push_back(std::exchange(now_, std::move(next)));
  old_.back()->retire();
  now_->start();
  std::erase_if(old_, [](const std::unique_ptr<site>& s) { return !s->busy(); });
}

task<shard_totals> shard::totals() {
  co_await enter(own_color());
  shard_totals all{.server = web_->counters(),
                   .folder = now_->counters(),
                   .upstreams = now_->upstreams(),
                   .answers = {},
                   .log_dropped = log_.dropped(),
                   .stack = totals_of(net_),
                   .handlers_merged = bus_.merged<asked>() + bus_.merged<made_here>() +
                                      bus_.merged<answered>() + bus_.merged<overdue>()};
  if (answers_) all.answers = answers_->table();
  co_return all;
}

}  // namespace heddle::serve
