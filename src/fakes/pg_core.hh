// SPDX-License-Identifier: MIT
// The part of the database that its sessions share: data, log, faults, limits, and the list of
// sessions for CancelRequest and drop_connections().
#pragma once

#include <list>
#include <memory>
#include <string>

#include "fakes/pg_log.hh"
#include "fakes/pg_store.hh"
#include "heddle/core/scope.hh"
#include "heddle/fakes/postgres.hh"
#include "heddle/sync/condition.hh"
#include "heddle/sync/mutex.hh"

namespace heddle::fakes {

namespace detail {
class pg_session;
}

struct postgres_server::core {
  explicit core(postgres_options with);

  /// Checks a transaction against the commits since its begin, makes it durable, then visible.
  /// One at a time: until a record is synced, no transaction may see what it says.
  /// Fails: pg_error.
  task<> commit(const detail::pg_transaction& t);
  /// Ends the delay before a statement of this session, if number and secret are right.
  void cancel(std::uint32_t number, std::uint32_t secret);

  task<> prepare();
  task<> accept_all(scope& s, const listener& door);
  task<> session(stream on);

  postgres_options options;
  postgres_faults faults;
  std::uint64_t faults_epoch = 0;  // rises with each set_faults()
  condition faults_changed;
  detail::pg_store store;
  detail::pg_log log;
  mutex commits;
  std::list<detail::pg_session*> sessions;
  std::uint32_t last_number = 0;  // number of the newest session
  std::uint32_t served = 0;       // sessions within connections_max
  postgres_counters counters;
};

}  // namespace heddle::fakes
