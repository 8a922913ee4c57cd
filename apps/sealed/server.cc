// SPDX-License-Identifier: MIT
// Sessions: greeting, request, answer, and the loop that seals and sends a file.
#include "server.hh"

#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"

namespace sealed {

using heddle::task;
using heddle::tcp_stream;
using heddle::with_timeout;

struct server::client {
  client(const tcp_stream& c, sent& s, cipher algorithm, const session_secrets& secrets)
      : conn(c),
        done(s),
        opener(algorithm, secrets.from_client),
        sealer(algorithm, secrets.from_server) {}

  const tcp_stream& conn;
  sent& done;
  record_opener opener;
  record_sealer sealer;
  sealed_record asked;
};

/// Counts a session while it is open, and in the end what it has sent. In color 0.
struct server::counted_session {
  explicit counted_session(server& s) noexcept : of(s) {
    of.counters_.open_max = std::max(of.counters_.open_max, ++of.counters_.open);
  }
  counted_session(const counted_session&) = delete;
  ~counted_session() {
    --of.counters_.open;
    of.count(done);
  }
  server& of;
  sent done;
};

void server::count(sent& done) noexcept {
  counters_.files += std::exchange(done.files, 0);
  counters_.bytes += std::exchange(done.bytes, 0);
}

server::server(heddle::directory root, const shared_key& key, server_options options)
    : key_(key),
      options_(std::move(options)),
      cache_(std::move(root), options_.cache),
      places_(options_.connections_max) {
  const std::size_t size = options_.records.record_bytes;
  if (size < record_bytes_min || size > record_bytes_max)
    throw trouble("records of " + std::to_string(size) + " bytes: from " +
                  std::to_string(record_bytes_min) + " to " + std::to_string(record_bytes_max) +
                  " are possible (--record)");
  if (options_.connections_max == 0) throw trouble("no connection is allowed (--connections)");
  // A batch ends where a record ends.
  options_.batch_bytes = std::max(options_.batch_bytes / size * size, size);
}

task<> server::serve(const heddle::tcp_listener& door) {
  heddle::scope sessions;
  try {
    for (;;) {
      heddle::semaphore::hold place = co_await places_.acquire();
      sessions.spawn(session_in(co_await door.accept(), std::move(place)));
    }
  } catch (...) {
    sessions.fail(std::current_exception());
  }
  co_await sessions.join();
}

task<> server::session_in(tcp_stream conn, heddle::semaphore::hold place) {
  const heddle::semaphore::hold until_end = std::move(place);
  co_await session(std::move(conn));
}

task<> server::session(tcp_stream conn) {
  const heddle::color own(++counters_.connections);
  counted_session counted(*this);
  const heddle::address peer = conn.peer();
  std::string why;
  try {
    co_await converse(std::move(conn), own, counted.done);
    co_return;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    why = e.what();
  } catch (const std::exception& e) {
    why = e.what();  // one client's trouble is no other's
  }
  ++counters_.failures;
  if (options_.note) options_.note(peer.to_string() + ": " + why);
}

task<> server::converse(tcp_stream conn, heddle::color own, sent& done) {
  co_await heddle::enter(own);
  const tcp_stream here = std::move(conn);  // closed in this color
  client c(here, done, options_.records.algorithm,
           co_await with_timeout(greet(here), options_.greeting_timeout));
  for (;;) {
    const bool more =
        co_await with_timeout(read_record(here, text_bytes_max, c.asked), options_.idle_timeout);
    if (!more) co_return;
    if (!c.opener.open(c.asked.head, c.asked.body))
      throw trouble("a request was not sealed with this server's key");
    if (c.asked.header.type != record_type::request) throw trouble("a record that is no request");
    co_await answer(c, std::string(c.asked.text()));
  }
}

task<session_secrets> server::greet(const tcp_stream& conn) {
  client_greeting theirs;
  const bool whole = co_await read_greeting(conn, theirs);
  if (!whole) throw trouble("the client left before it had greeted");
  check_greeting(theirs);
  const key_pair own;
  const server_greeting ours = greet_client(own, options_.records);
  const session_secrets secrets = secrets_of_server(own, key_, theirs, ours);
  co_await conn.write(ours);
  co_return secrets;
}

task<> server::answer(client& c, std::string name) {
  content file;
  std::string reason;
  try {
    file = co_await cached(std::move(name), c.done);
  } catch (const refusal& r) {
    reason = r.what();
  }
  if (file != nullptr) {
    co_await send_file(c, std::move(file));
  } else {
    co_await send_text(c, record_type::refusal, std::move(reason));
  }
}

task<content> server::cached(std::string name, sent& done) {
  co_await heddle::enter(heddle::color(0));
  count(done);
  try {
    co_return co_await cache_.get(std::move(name));
  } catch (const refusal&) {
    ++counters_.refusals;
    throw;
  }
}

task<> server::send_file(client& c, content file) {
  const std::size_t record = options_.records.record_bytes;
  const std::size_t most = std::min(options_.batch_bytes, file->size());
  co_await send_text(c, record_type::answer, size_text(file->size()));
  std::string batch(sealed_size(most, record), '\0');
  for (std::size_t at = 0; at < file->size(); at += most) {
    const std::string_view part = std::string_view(*file).substr(at, most);
    const std::size_t sealed = c.sealer.seal_data(part, record, batch);
    co_await with_timeout(c.conn.write(std::string_view(batch.data(), sealed)),
                          options_.write_timeout);
    c.done.bytes += part.size();
  }
  ++c.done.files;
}

task<> server::send_text(client& c, record_type type, std::string text) {
  std::string record(text.size() + record_overhead, '\0');
  c.sealer.seal(type, text, record);
  co_await with_timeout(c.conn.write(std::string_view(record)), options_.write_timeout);
}

}  // namespace sealed
