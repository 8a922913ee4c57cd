// SPDX-License-Identifier: MIT
// Matches replies with calls.
#include "heddle/rpc/client.hh"

#include <map>
#include <string>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::rpc {

namespace {

/// A call under way, in the frame of exchange().
struct open_call {
  event<> ended;
  rendezvous<> done;           // dies before the event, which is then not expected any more
  chain record;                // the reply
  std::exception_ptr failure;  // or the reason why none comes
};

}  // namespace

class detail::client_connection {
 public:
  client_connection(stream s, client_options o)
      : options(std::move(o)),
        permits(std::max<std::uint32_t>(options.calls_max, 1)),
        next_xid(static_cast<std::uint32_t>(runtime::here().io().random())),
        output(s, options.send_time),
        stream_(std::move(s)),
        input_(options.record_bytes_max) {}

  static task<> run(std::shared_ptr<client_connection> self) {
    std::exception_ptr error;
    try {
      co_await with_scope(&client_connection::work, std::ref(*self));
    } catch (...) {
      error = std::current_exception();
    }
    self->end(error);
  }

  /// Fails all calls, those to come too. The first reason counts.
  void end(const std::exception_ptr& error) noexcept {
    if (ended || !error) return;
    ended = error;
    stream_.close();
    for (const auto& [xid, each] : calls) {
      each->failure = error;
      each->ended.trigger();
    }
    calls.clear();
    output.changed.notify_all();
  }

  client_options options;
  semaphore permits;
  std::uint32_t next_xid;
  record_output output;
  std::map<std::uint32_t, open_call*> calls;
  std::exception_ptr ended;
  std::uint64_t late = 0;

 private:
  static task<> work(scope& tasks, client_connection& c) {
    tasks.spawn(c.output.run());
    co_await c.read_replies();
    c.end(std::make_exception_ptr(failure(std::make_error_code(std::errc::connection_reset),
                                          "rpc: the server ended the connection")));
    c.output.finish();
  }

  task<> read_replies() {
    time_point record_end = never;
    for (;;) {
      while (std::optional<chain> record = input_.next()) {
        record_end = never;
        take(std::move(*record));
      }
      if (input_.inside() && record_end == never)
        record_end = add_saturated(clock::now(), options.record_time);
      received in = co_await with_deadline(stream_.receive(), record_end);
      if (in.empty()) {
        if (input_.inside()) throw failure(errc::bad_record, "rpc: a reply was cut short");
        co_return;
      }
      input_.feed(std::move(in));
    }
  }

  void take(chain record) {
    if (record.size() < 8) throw failure(errc::bad_record, "rpc: a record is no reply");
    xdr::reader in(record);
    std::uint32_t xid = 0;
    static_cast<void>(in.read(xid));
    const auto at = calls.find(xid);
    if (at == calls.end()) {
      ++late;
      return;
    }
    open_call& one = *at->second;
    calls.erase(at);
    one.record = std::move(record);
    one.ended.trigger();
  }

  stream stream_;
  record_input input_;
};

namespace {

std::string named(const detail::procedure_id& of, const std::string& what) {
  return std::string(of.name) + ": " + what;
}

task<chain> exchange_in_time(detail::client_connection& c, const detail::procedure_id& of,
                             chain argument) {
  if (c.ended) std::rethrow_exception(c.ended);
  const semaphore::hold permit = co_await c.permits.acquire();
  while (c.output.bytes() >= c.options.bytes_max && !c.ended) co_await c.output.changed.wait();
  if (c.ended) std::rethrow_exception(c.ended);
  while (c.calls.contains(c.next_xid)) ++c.next_xid;
  const std::uint32_t xid = c.next_xid++;
  xdr::writer out;
  detail::write_call(out, {xid, 2, of.program, of.version, of.number}, c.options.who);
  chain record = out.take();
  record.append(std::move(argument));
  open_call one;
  one.ended = one.done.make_event();
  c.calls.emplace(xid, &one);
  struct leaving {
    detail::client_connection& c;
    std::uint32_t xid;
    const open_call* one;
    ~leaving() {
      const auto at = c.calls.find(xid);
      if (at != c.calls.end() && at->second == one) c.calls.erase(at);
    }
  } const at_end{c, xid, &one};
  c.output.put(std::move(record));
  co_await one.done;
  if (one.failure) std::rethrow_exception(one.failure);
  xdr::reader in(one.record);
  detail::reply_head head;
  if (!detail::read_reply(in, head))
    throw failure(errc::bad_reply, named(of, "the reply breaks RFC 5531"));
  if (head.refusal) throw failure(head.refusal, named(of, head.text));
  one.record.remove_prefix(in.at());
  co_return std::move(one.record);
}

}  // namespace

task<chain> detail::exchange(std::shared_ptr<client_connection> on, procedure_id of,
                             chain argument) {
  HEDDLE_ASSERT(on != nullptr, "this client was moved from; make a new one");
  co_return co_await with_timeout(exchange_in_time(*on, of, std::move(argument)),
                                  on->options.call_time);
}

void detail::refuse_argument(const procedure_id& of, const std::string& why) {
  throw failure(std::make_error_code(std::errc::invalid_argument),
                named(of, "the argument cannot be sent: " + why));
}

void detail::refuse_result(const procedure_id& of, const std::string& why) {
  throw failure(errc::bad_reply,
                named(of, "the result cannot be read: " + why + "; compare the .x files"));
}

client::client(stream connection, client_options options)
    : connection_(std::make_shared<detail::client_connection>(std::move(connection), options)),
      results_(options.results) {
  spawn(detail::client_connection::run(connection_));
}

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    close();
    connection_ = std::move(other.connection_);
    results_ = other.results_;
  }
  return *this;
}

client::~client() { close(); }

void client::close() noexcept {
  if (connection_) connection_->end(std::make_exception_ptr(failure(canceled_error())));
}
bool client::open() const noexcept { return connection_ && !connection_->ended; }
std::size_t client::under_way() const noexcept { return connection_->calls.size(); }
std::uint64_t client::late_replies() const noexcept { return connection_->late; }

}  // namespace heddle::rpc
