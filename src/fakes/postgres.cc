// SPDX-License-Identifier: MIT
// The database as a server: accepting connections, commits, faults.
#include "heddle/fakes/postgres.hh"

#include <utility>

#include "fakes/accepting.hh"
#include "fakes/pg_core.hh"
#include "fakes/pg_error.hh"
#include "fakes/pg_session.hh"
#include "heddle/base/error.hh"
#include "heddle/core/expected.hh"

namespace heddle::fakes {

using namespace detail;

postgres_server::core::core(postgres_options with)
    : options(std::move(with)), store(options), log(options.folder, options.log_bytes_max) {}

task<> postgres_server::core::commit(const pg_transaction& t) {
  if (t.changes().empty()) co_return;  // all that it read was true at its begin
  const mutex::hold held = co_await commits.lock();
  t.validate();
  store.check_room(t.changes());
  if (!options.folder.empty()) {
    const auto kept = co_await as_expected(log.append(t.changes(), options.sync_commits));
    if (!kept && kept.error() == std::errc::operation_canceled) throw failure(kept.error());
    if (!kept)
      throw pg_error(
          sqlstate::io_failed,
          "the commit could not be written, and its outcome is unknown: " + kept.error().message());
    if (!*kept)
      throw pg_error(sqlstate::disk_full,
                     "the log is full: postgres_options::log_bytes_max allows " +
                         std::to_string(options.log_bytes_max) + " bytes");
  }
  store.apply(t.changes());
  ++counters.commits;
}

void postgres_server::core::cancel(std::uint32_t number, std::uint32_t secret) {
  for (pg_session* each : sessions) {
    if (!each->is(number, secret)) continue;
    ++counters.cancels;
    each->cancel_statement();
  }
}

task<> postgres_server::core::prepare() {
  if (options.folder.empty()) co_return;
  const mutex::hold held = co_await commits.lock();  // several listeners may begin at once
  if (!log.is_open()) co_await log.open(store, options.sync_commits);
}

task<> postgres_server::core::session(stream on) {
  const bool full = served >= options.connections_max;
  struct place {
    std::uint32_t& served;
    bool taken;
    ~place() { served -= taken ? 1 : 0; }
  } const own_place{served, !full};
  served += full ? 0 : 1;
  pg_session own(*this, std::move(on), ++last_number);
  const auto ended = co_await as_expected(own.run(full));
  // Broken connections end alone; a cancelled task ends with serve().
  if (!ended && ended.error() == std::errc::operation_canceled && !own.dropped())
    throw failure(ended.error());
}

task<> postgres_server::core::accept_all(scope& s, const listener& door) {
  co_await prepare();
  const auto take = [this, &s](stream on) {
    ++counters.connections;
    // As many again as the limit get in, to be told so or to send a CancelRequest.
    if (faults.connections == postgres_faults::door::resets ||
        s.live() >= std::size_t{2} * options.connections_max) {
      on.reset_on_close();
    } else {
      s.spawn(session(std::move(on)));
    }
  };
  co_await accept_each(door, take);
}

postgres_server::postgres_server(postgres_options options)
    : core_(std::make_unique<core>(std::move(options))) {}
postgres_server::~postgres_server() = default;

task<> postgres_server::serve(const listener& door) {
  const auto all = [this, &door](scope& s) { return core_->accept_all(s, door); };
  co_await with_scope(all);
}

void postgres_server::set_faults(postgres_faults faults) {
  if (faults.delay < nanoseconds::zero())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "postgres_faults::delay is negative");
  core_->faults = faults;
  ++core_->faults_epoch;
  core_->faults_changed.notify_all();
}

void postgres_server::drop_connections() noexcept {
  for (pg_session* each : core_->sessions) each->drop();
  core_->faults_changed.notify_all();
}

std::map<std::string, std::string> postgres_server::rows(std::string_view table) const {
  return core_->store.rows(std::string(table));
}

const postgres_counters& postgres_server::counters() const noexcept { return core_->counters; }

std::uint32_t postgres_server::connections_open() const noexcept {
  return static_cast<std::uint32_t>(core_->sessions.size());
}

}  // namespace heddle::fakes
