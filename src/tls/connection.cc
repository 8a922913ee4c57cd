// SPDX-License-Identifier: MIT
// Handshakes, reading, writing and ending, each as one straight-line function.
#include "tls/connection.hh"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/tls/challenge.hh"
#include "tls/ssl_engine.hh"
#include "tls/world.hh"

namespace heddle::tls::detail {
namespace {

// Plaintext sealed for one send. Less costs more calls. A send that is tried at once may find the
// socket full: then more sealed bytes leave the CPU cache before they are sent.
constexpr std::size_t gather_bytes = out_buffer::gather_bytes;
constexpr std::size_t gather_at_once_bytes = gather_bytes / 4;
// A driver that batches sends (io_uring) takes nothing in try_write(). After so many sends in a
// row that took nothing, try_push() tries only every skips_max-th time.
constexpr std::uint8_t misses_max = 2;
constexpr std::uint8_t skips_max = 64;

}  // namespace

connection::connection(stream over, std::shared_ptr<server_state> site,
                       std::shared_ptr<handshake_turns> turns)
    : inner_(std::move(over)), site_(std::move(site)), opening_(std::make_unique<opening>()) {
  opening_->turns = std::move(turns);
}

connection::connection(stream over, std::shared_ptr<client_state> tls, std::string host)
    : inner_(std::move(over)), tls_(std::move(tls)), opening_(std::make_unique<opening>()) {
  opening_->host = std::move(host);
}

const limits& connection::bounds() const noexcept {
  return site_ ? site_->options().bounds : tls_->options().bounds;
}

void connection::throw_why() const {
  throw_trouble(engine_ ? engine_->why() : opening_->before_engine);
}

session connection::agreed() const {
  if (engine_) return engine_->agreed();
  return {.server_name = opening_->host, .trouble = opening_->before_engine.text};
}

void connection::begin() {
  ssl_handle ssl;
  if (site_) {
    opening_->sites = site_->sites();
    use_random_numbers_of_world();
    ssl.reset(SSL_new(opening_->sites->first()));
    drop_errors();
    if (!ssl) throw std::bad_alloc();
  } else {
    ssl = tls_->open(opening_->host);
  }
  engine_ =
      std::make_unique<ssl_engine>(std::move(ssl), site_ != nullptr, bounds(),
                                   site_ && site_->options().own_records ? site_.get() : nullptr);
}

task<> connection::feed_more() {
  received in = co_await inner_.receive();
  if (in) {
    if (!engine_->established()) opening_->asks_head |= in.text().starts_with("HEAD ");
    engine_->feed(std::move(in));
  } else {
    engine_->feed_end();
  }
}

task<engine::step> connection::shake_elsewhere(color where) {
  co_await enter(where);
  co_return engine_->shake();
}

task<> connection::shake() {
  std::shared_ptr<semaphore> share;  // the turns of the peer's address
  semaphore::hold own, turn;
  if (site_) {
    // A silent connection takes no turn and no SSL object: wait for its first bytes.
    if (!co_await inner_.readable()) {
      opening_->before_engine = {std::errc::connection_aborted,
                                 "the connection ended before the TLS handshake"};
      throw_why();
    }
    if (opening_->turns) {
      share = opening_->turns->of(inner_.peer());
      if (share != nullptr) own = co_await share->acquire();
      turn = co_await opening_->turns->all.acquire();
    }
  }
  begin();
  for (;;) {
    engine::step next{};
    if (site_ && !site_->options().handshake_colors.empty()) {
      next = co_await shake_elsewhere(site_->next_color());
    } else {
      next = engine_->shake();
    }
    if (next == engine::step::failed) co_await fail();
    if (next == engine::step::done) {
      challenge_ = site_ && engine_->alpn() == challenge_protocol;
      // Replace the engine before any wait: a reader or writer that runs then needs the new one.
      if (auto heir = engine_->successor()) engine_ = std::move(heir);
    }
    co_await flush();
    if (next == engine::step::done) break;
    co_await feed_more();
  }
  opening_->sites.reset();  // the SSL object has what it needs
}

void connection::report(time_point since) {
  const auto& log = site_ ? site_->options().log : tls_->options().log;
  if (log) log({.peer = inner_.peer(), .agreed = agreed(), .took = clock::now() - since});
}

task<> connection::handshake() {
  if (established()) co_return;
  {
    const auto held = co_await opening_->shaking.lock();
    if (!established()) co_await handshake_in_turn();
  }
  drop_opening();
}

/// Frees the memory of a server's handshake unless a task still waits for it. A client keeps its
/// host.
void connection::drop_opening() noexcept {
  if (site_ && opening_ && !opening_->shaking.locked() && opening_->shaking.waiting() == 0)
    opening_.reset();
}

task<> connection::handshake_in_turn() {
  if (opening_->before_engine || (engine_ && engine_->broken())) throw_why();
  const time_point since = clock::now();
  std::optional<trouble> failed;
  try {
    co_await with_timeout(shake(), bounds().handshake_timeout);
  } catch (const std::system_error& e) {
    const auto code = static_cast<std::errc>(e.code().value());
    failed = e.code() == std::errc::timed_out
                 ? trouble{code,
                           "the peer did not finish the TLS handshake within "
                           "limits::handshake_timeout"}
                 : trouble{code, e.what()};
  } catch (const std::bad_alloc&) {
    failed = trouble{std::errc::not_enough_memory, "no memory for a TLS handshake"};
  }
  if (failed) {
    if (!engine_)
      opening_->before_engine = std::move(*failed);
    else if (!engine_->broken())
      engine_->fail(std::move(*failed));
  }
  report(since);
  if (failed) throw_why();
}

stream* connection::waits_for() noexcept {
  return engine_ && engine_->is_out_of_input() && engine_->out().empty() ? &inner_ : nullptr;
}

task<received> connection::pull() {
  co_await handshake();
  // A connection for a challenge carries no data (RFC 8737 section 4).
  if (challenge_) co_return received();
  for (;;) {
    received in;
    switch (engine_->open(in)) {
      case engine::step::done:
        if (!engine_->out().empty()) co_await flush();  // an answer to a key update
        co_return in;
      case engine::step::failed:
        co_await fail();
        break;
      case engine::step::wants_input:
        if (!engine_->out().empty()) co_await flush();
        co_await feed_more();
    }
  }
}

bool connection::flushed_at_once() noexcept {
  if (flushing_.locked()) return false;
  for (;;) {
    if (sending_.empty()) sending_.swap(engine_->out());
    if (sending_.empty()) return !inner_.flush_due();
    const std::size_t sent = inner_.try_write(sending_.bytes()).bytes;
    if (sent == 0) return false;
    sending_.drop_prefix(sent);
    if (!sending_.empty()) return false;
  }
}

task<bool> connection::flush_some() {
  if (flushed_at_once()) co_return true;
  const auto held = co_await flushing_.lock();
  if (sending_.empty()) sending_.swap(engine_->out());
  // Without bytes of its own, this flushes the stream below.
  std::size_t sent = 0;
  const auto done = co_await as_expected(inner_.write_some(sending_.bytes(), sent));
  sending_.drop_prefix(sent);
  if (!done) throw failure(done.error());
  co_return sending_.empty() && engine_->out().empty() && !inner_.flush_due();
}

task<> connection::flush() {
  if (flushed_at_once()) co_return;
  for (bool all_left = false; !all_left;) all_left = co_await flush_some();
}

task<> connection::answer_plain_http() {
  constexpr std::string_view head =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 53\r\n"
      "Connection: close\r\n\r\n";
  constexpr std::string_view body = "This port speaks HTTPS: use https:// in the address.\n";
  static_assert(body.size() == 53);
  co_await inner_.write({head, opening_->asks_head ? std::string_view() : body});
  inner_.shutdown_write();
  // To close a connection with unread bytes would reset it, and the answer might be lost.
  std::size_t left = bounds().handshake_bytes_max;
  for (received in = co_await inner_.receive(); !in.empty() && in.size() < left;
       in = co_await inner_.receive())
    left -= in.size();
}

task<> connection::fail() {
  if (site_ && engine_->why().plain_http) {
    static_cast<void>(
        co_await as_expected(with_timeout(answer_plain_http(), bounds().close_timeout)));
    throw_why();
  }
  static_cast<void>(co_await as_expected(with_timeout(flush(), bounds().close_timeout)));
  throw_why();
}

task<> connection::push(chain out) {
  kept_ = 0;
  co_await handshake();
  if (out.empty()) {
    co_await flush();
    co_await inner_.writable();
    co_return;
  }
  for (;;) {
    if (engine_->broken()) throw_why();
    co_await flush();
    if (out.empty()) co_return;
    std::array<::iovec, 16> entries;
    std::array<byte_view, 16> texts;
    const std::size_t count = out.fill(entries.data(), entries.size());
    for (std::size_t i = 0; i != count; ++i)
      texts[i] = byte_view(entries[i].iov_base, entries[i].iov_len);
    const std::size_t sealed = engine_->seal(std::span(texts).first(count), gather_bytes);
    out.remove_prefix(sealed);
    kept_ += sealed;
  }
}

sent_now connection::try_push(byte_view head, const piece& body) noexcept {
  if (!established() || engine_->broken() || flushing_.locked() || !sending_.empty() ||
      !engine_->out().empty())
    return {};
  if (misses_ >= misses_max && ++skipped_ % skips_max != 0) return {};
  const std::size_t size = head.size() + body.size();
  std::size_t done = 0;
  try {
    while (done != size) {
      const std::size_t of_head = std::min(done, head.size());
      const byte_view texts[] = {
          byte_view(head.data() + of_head, head.size() - of_head),
          byte_view(body.bytes().data() + (done - of_head), body.size() - (done - of_head))};
      const std::size_t sealed = engine_->seal(texts, gather_at_once_bytes);
      if (sealed == 0) break;
      done += sealed;
      if (flushed_at_once()) {
        misses_ = 0;
        continue;
      }
      if (misses_ < misses_max && done == sealed) ++misses_;
      return {.bytes = done, .flush_due = true};
    }
  } catch (const std::bad_alloc&) {
    engine_->fail({std::errc::not_enough_memory, {}});
  }
  return {.bytes = done};
}

void connection::end_below(bool close) noexcept {
  if (close) {
    inner_.close();
    return;
  }
  try {
    inner_.shutdown_write();
  } catch (const std::system_error&) {
    // The connection is gone, which its reader will see.
  }
}

task<> connection::end_later(std::shared_ptr<connection> self, bool close) {
  static_cast<void>(
      co_await as_expected(with_timeout(self->flush(), self->bounds().close_timeout)));
  self->end_below(close);
}

void connection::end(bool close) noexcept {
  if (engine_ && !reset_) {
    engine_->say_end();
    if (!flushed_at_once()) {
      try {
        runtime::here().spawn(end_later(shared_from_this(), close));
        return;
      } catch (const std::bad_alloc&) {
        // Without memory for the task, bytes that could not be sent at once are dropped.
      }
    }
  }
  end_below(close);
}

void connection::reset_on_close() noexcept {
  reset_ = true;
  inner_.reset_on_close();
}

void connection::cut() noexcept {
  reset_ = true;
  inner_.cut();  // sealed bytes that have not left stay unsent
}

}  // namespace heddle::tls::detail
