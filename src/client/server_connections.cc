// SPDX-License-Identifier: MIT
// Chooses connections for requests, keeps unused connections, and forgets closed ones.
#include "heddle/client/detail/server_connections.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/layer.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http::detail {
namespace {

/// Whether the peer has ended an unused connection, or sent bytes that nothing asked for.
task<bool> has_ended(const stream& on) {
  // Long enough for the driver to look once.
  const auto known = co_await as_expected(with_timeout(on.readable(), nanoseconds(1)));
  if (!known && known.error() == std::errc::operation_canceled) throw failure(known.error());
  co_return known || known.error() != std::errc::timed_out;
}

/// Whether the stream has a layer such as TLS: bytes below it are seen only by a check.
bool is_layered(const stream& on) noexcept { return layer_of(on) != nullptr; }

[[noreturn]] void refuse_place(std::error_code code, lacking what) {
  if (code == std::errc::operation_canceled) throw failure(code);
  throw no_place(code, what);
}

[[noreturn]] void refuse_http2() {
  throw no_place(std::make_error_code(std::errc::protocol_not_supported), lacking::http1);
}

}  // namespace

server_connections::server_connections(offered versions, std::uint32_t most,
                                       std::shared_ptr<const client_options> options,
                                       std::shared_ptr<unused_limit> unused)
    : versions_(versions),
      options_(std::move(options)),
      limit_(std::move(unused)),
      room_(std::max<std::uint32_t>(most, 1)) {}

bool server_connections::speaks_http2(const stream& on, bool http1_only) const noexcept {
  if (versions_ == offered::http2) return !http1_only;
  const stream_layer* const layer = layer_of(on);
  return layer != nullptr && layer->application_protocol() == "h2";
}

// Unused connections of HTTP/1.1.

void server_connections::keep(stream&& on) {
  if (limit_->shut || limit_->count >= limit_->most) return on.close();
  idle_.push_back({std::move(on), worker::running().now});
  ++limit_->count;
}

stream server_connections::take_idle() {
  while (!idle_.empty()) {
    idle_connection last = std::move(idle_.back());
    idle_.pop_back();
    --limit_->count;
    // RFC 9112 section 9.2: bytes that came before the request was sent are no answer to it.
    const bool old = add_saturated(last.since, limit_->time) < worker::running().now;
    if (!old && last.on.take().empty()) return std::move(last.on);
    last.on.close();
  }
  return {};
}

task<> server_connections::sweep() {
  // The least recently used come first; the others are in use again soon.
  const time_point now = worker::running().now;
  const nanoseconds rests_least = std::min(sweep_interval, limit_->time);
  for (std::size_t i = 0; i < idle_.size() && add_saturated(idle_[i].since, rests_least) < now;) {
    idle_connection each = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    --limit_->count;
    bool over = add_saturated(each.since, limit_->time) < now;
    if (!over) over = co_await has_ended(each.on);
    if (over || limit_->shut) {
      each.on.close();
      continue;
    }
    ++limit_->count;
    i = std::min(i, idle_.size());  // requests may have taken some meanwhile
    idle_.insert(idle_.begin() + static_cast<std::ptrdiff_t>(i), std::move(each));
    ++i;
  }
}

void server_connections::close_all() noexcept {
  limit_->count -= idle_.size() + std::exchange(unused_links_, 0);
  for (idle_connection& each : std::exchange(idle_, {})) each.on.close();
  for (const shared_link& each : std::exchange(links_, {})) {
    each.on->changed = nullptr;
    each.on->ended = nullptr;
    each.on->leave(true);
  }
}

// Connections of HTTP/2.

place server_connections::free_stream() const {
  place found;
  for (const shared_link& each : links_) {
    if (!each.on->takes_requests()) continue;
    found.permit = each.on->permits.try_acquire();
    if (!found.permit) continue;
    found.link = each.on;
    found.reused = true;
    break;
  }
  return found;
}

/// The connection for which the fewest requests wait, if there are as many as there may be.
std::shared_ptr<http2_link> server_connections::full_link() const {
  std::uint32_t open = 0;
  std::shared_ptr<http2_link> found;
  for (const shared_link& each : links_) {
    if (!each.on->takes_requests()) continue;
    ++open;
    if (found == nullptr || each.on->permits.waiting() < found->permits.waiting()) found = each.on;
  }
  return open >= std::max<std::uint32_t>(options_->http2.connections_max, 1) ? found : nullptr;
}

/// Notes that the new connection is one of HTTP/2, so other requests get streams of it, too.
void server_connections::share(place& made) {
  made.link = std::make_shared<http2_link>(std::exchange(made.alone, {}), options_);
  links_.push_back({made.link, std::move(made.permit)});
  made.permit = made.link->permits.try_acquire();
  http2_link& on = *made.link;
  on.changed = [this, &on] { note_use(on); };
  on.ended = [this, &on] { forget(on); };
  spawn(http2_link::run(made.link));
}

void server_connections::note_use(http2_link& link) {
  const auto at = std::ranges::find(links_, &link, [](const auto& each) { return each.on.get(); });
  const bool unused = link.unused();
  if (at == links_.end() || std::exchange(at->counted, unused) == unused) return;
  unused_links_ += unused ? 1 : -1;
  limit_->count += unused ? 1 : -1;
  if (unused && (limit_->shut || limit_->count > limit_->most)) link.leave();
}

void server_connections::forget(const http2_link& link) noexcept {
  const auto at = std::ranges::find(links_, &link, [](const auto& each) { return each.on.get(); });
  if (at == links_.end()) return;
  if (at->counted) {
    --unused_links_;
    --limit_->count;
  }
  links_.erase(at);
}

// Places.

place server_connections::find_now(const wanted& by) {
  if (shares(by)) return free_stream();
  if (by.fresh || by.unrepeatable || idle_.empty() || is_layered(idle_.back().on)) return {};
  gate::hold permit = room_.try_acquire();
  if (!permit) return {};
  stream on = take_idle();
  if (!on) return {};  // every unused connection was unfit: the permit is free again
  return {.alone = std::move(on), .permit = std::move(permit), .reused = true};
}

/// A connection of HTTP/1.1, or a new one, which may turn out to be of HTTP/2.
task<place> server_connections::place_alone(wanted by, dialer& connects) {
  place made;
  auto permit = co_await as_expected(with_deadline(room_.acquire(), by.due));
  if (!permit) refuse_place(permit.error(), lacking::connection);
  made.permit = std::move(*permit);
  if (!by.fresh) made.alone = take_idle();
  while (made.alone) {
    made.reused = true;
    bool over = by.unrepeatable || is_layered(made.alone);
    if (over) over = co_await has_ended(made.alone);
    if (!over) co_return made;
    made.alone.close();
    made.alone = take_idle();
  }
  made.reused = false;
  const bool http1_only = by.http1_only || only_http1();
  made.alone = co_await connects.dial(http1_only);
  const bool http2 = speaks_http2(made.alone, http1_only);
  if (http2 && http1_only) refuse_http2();
  if (!http1_only) spoken_ = http2 ? version::http2 : version::http1;
  if (http2) share(made);
  co_return made;
}

/// Makes the first connection. It chooses the version, so other requests wait for it meanwhile.
task<place> server_connections::place_first(wanted by, dialer& connects) {
  try {
    co_return co_await place_alone(by, connects);
  } catch (const no_place&) {
    throw;
  } catch (const std::system_error& e) {
    // The end of this request's own time says nothing about the server: others may wait longer.
    const bool own_end = e.code() == std::errc::timed_out && clock::now() >= by.due;
    if (e.code() == std::errc::operation_canceled || own_end) throw;
    ++failures_;
    last_failure_ = std::current_exception();
    throw;
  }
}

task<place> server_connections::find(wanted by, dialer& connects) {
  while (shares(by)) {
    place found = free_stream();
    if (found) co_return found;
    if (const std::shared_ptr<http2_link> full = full_link()) {
      auto permit = co_await as_expected(
          with_deadline(with_cancel(full->gone, full->permits.acquire()), by.due));
      if (permit && full->takes_requests())
        co_return place{.link = full, .permit = std::move(*permit), .reused = true};
      if (!permit && !full->gone.canceled()) refuse_place(permit.error(), lacking::stream);
      continue;
    }
    const std::uint64_t failures = failures_;
    const auto turn = co_await as_expected(with_deadline(connecting_.lock(), by.due));
    if (!turn) refuse_place(turn.error(), lacking::version);
    if (failures_ != failures) std::rethrow_exception(last_failure_);
    if (!shares(by) || full_link() != nullptr) continue;
    found = free_stream();
    if (found) co_return found;
    co_return co_await place_first(by, connects);
  }
  co_return co_await place_alone(by, connects);
}

}  // namespace heddle::http::detail
