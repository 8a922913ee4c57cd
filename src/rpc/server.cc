// SPDX-License-Identifier: MIT
// Accepts connections, reads calls, and sends replies as their procedures end.
#include "heddle/rpc/server.hh"

#include <algorithm>

#include "heddle/core/exception_lines.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"

namespace heddle::rpc {
namespace {

constexpr nanoseconds full_pause = std::chrono::milliseconds(10);  // if connections_max are open

void report_failed_procedure(const char* name) {
  const std::exception_ptr error = std::current_exception();
  worker& w = worker::running();
  if (!w.reports(diagnostic_kind::failed_handler)) return;
  const std::vector<site> lines = exception_lines(error);
  diagnostic d{.kind = diagnostic_kind::failed_handler, .error = error, .stack = lines};
  d.made = lines.empty() ? 0 : lines.front();
  d.object = name;
  d.help =
      "catch it in the procedure, and return a result that tells the client; it got SYSTEM_ERR";
  w.sched.report(d);
}

}  // namespace

/// One connection: reading in one task, writing in another, each call in its own.
class detail::server_connection {
 public:
  server_connection(server& of, stream s)
      : of_(of),
        options_(of.options_),
        stream_(std::move(s)),
        peer_(stream_.peer()),
        input_(options_.record_bytes_max),
        output_(stream_, options_.send_time) {}

  static task<> run(scope& tasks, server_connection& c) {
    tasks.spawn(c.output_.run());
    co_await c.read_calls(tasks);
    while (c.under_way_ != 0) co_await c.output_.changed.wait();
    c.output_.finish();
  }

 private:
  /// Whether no more is read until calls have ended or replies have left.
  [[nodiscard]] bool full() const noexcept {
    return under_way_ >= options_.calls_max || calls_bytes_ + output_.bytes() >= options_.bytes_max;
  }

  task<> read_calls(scope& tasks) {
    time_point record_end = never;
    for (;;) {
      bool waited = full();
      while (full()) co_await output_.changed.wait();
      while (std::optional<chain> record = input_.next()) {
        record_end = never;
        take(tasks, std::move(*record));
        waited = waited || full();
        while (full()) co_await output_.changed.wait();
      }
      // The time in which nothing was read is not the peer's.
      if (!input_.inside())
        record_end = never;
      else if (record_end == never || waited)
        record_end = add_saturated(clock::now(), options_.record_time);
      const time_point due = std::min(record_end, add_saturated(last_active_, options_.idle));
      auto in =
          co_await as_expected(with_cancel(of_.stopping_, with_deadline(stream_.receive(), due)));
      if (!in && of_.stopping_.canceled()) co_return;
      if (!in && in.error() == std::errc::timed_out && clock::now() < record_end) {
        if (under_way_ != 0) last_active_ = clock::now();
        if (clock::now() < add_saturated(last_active_, options_.idle)) continue;
        co_return;  // idle
      }
      if (!in) throw failure(in.error());
      if (in->empty()) {
        if (input_.inside()) throw failure(errc::bad_record, "rpc: a record was cut short");
        co_return;
      }
      last_active_ = clock::now();
      input_.feed(std::move(*in));
    }
  }

  void take(scope& tasks, chain record) {
    ++of_.counters_.calls;
    xdr::reader in(record, options_.arguments);
    call_head head;
    credentials who;
    credential_state state = credential_state::good;
    if (!read_call(in, head, who, state))
      throw failure(errc::bad_record, "rpc: a record is no call");
    xdr::writer out;
    if (head.rpc_version != 2) {
      write_rpc_mismatch(out, head.xid);
      return refuse(out);
    }
    if (state != credential_state::good) {
      write_auth_error(out, head.xid,
                       state == credential_state::bad ? auth_bad_credentials : auth_rejected);
      return refuse(out);
    }
    reply_status status = reply_status::success;
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    procedure* const found = find(head, status, low, high);
    if (found == nullptr) {
      write_accepted(out, head.xid, status, low, high);
      if (status != reply_status::success) return refuse(out);
      return output_.put(out.take());  // procedure 0
    }
    std::size_t reply_bytes = 0;
    task<chain> work = found->start({head.xid, peer_, std::move(who)}, in, reply_bytes);
    if (!work) {
      write_accepted(out, head.xid, reply_status::garbage_arguments);
      return refuse(out);
    }
    ++under_way_;
    const std::size_t bytes = record.size() + reply_bytes;
    calls_bytes_ += bytes;
    tasks.spawn(answer(std::move(work), head.xid, bytes, found->name));
  }

  procedure* find(const call_head& head, reply_status& status, std::uint32_t& low,
                  std::uint32_t& high) {
    const auto program = of_.programs_.find(head.program);
    if (program == of_.programs_.end()) {
      status = reply_status::program_unavailable;
      return nullptr;
    }
    const auto version = program->second.find(head.version);
    if (version == program->second.end()) {
      status = reply_status::program_mismatch;
      low = program->second.begin()->first;
      high = program->second.rbegin()->first;
      return nullptr;
    }
    const auto at = version->second.find(head.procedure);
    if (at != version->second.end()) return at->second.get();
    if (head.procedure != 0) status = reply_status::procedure_unavailable;
    return nullptr;
  }

  void refuse(xdr::writer& out) {
    ++of_.counters_.refused;
    output_.put(out.take());
  }

  task<> answer(task<chain> work, std::uint32_t xid, std::size_t bytes, const char* name) {
    // However it ends, the call is not under way any more.
    struct ending {
      server_connection& c;
      std::size_t bytes;
      ~ending() {
        --c.under_way_;
        c.calls_bytes_ -= bytes;
        c.last_active_ = clock::now();
        c.output_.changed.notify_all();
      }
    } const at_end{*this, bytes};
    chain result;
    reply_status status = reply_status::success;
    try {
      result = co_await std::move(work);
    } catch (...) {
      if (heddle::detail::is_cancellation(std::current_exception()) &&
          worker::running().current_context().canceled())
        throw;
      report_failed_procedure(name);
      status = reply_status::system_error;
      ++of_.counters_.refused;
    }
    xdr::writer out;
    write_accepted(out, xid, status);
    chain record = out.take();
    record.append(std::move(result));
    output_.put(std::move(record));
  }

  server& of_;
  const server_options& options_;
  stream stream_;
  address peer_;
  record_input input_;
  record_output output_;
  time_point last_active_ = clock::now();
  std::uint32_t under_way_ = 0;
  std::size_t calls_bytes_ = 0;
};

server::server(server_options options) : options_(options) {}
server::~server() = default;

void server::add(std::uint32_t program, std::uint32_t version, std::uint32_t number,
                 std::unique_ptr<detail::procedure> p) {
  programs_[program][version][number] = std::move(p);
}

/// An open connection, counted from its accept to the end of its task.
class server::open_place {
 public:
  open_place(server& of, peer_counts::place of_peer) noexcept : of_(&of), of_peer_(of_peer) {
    ++of.counters_.connections;
    ++of.counters_.open;
  }
  open_place(open_place&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), of_peer_(other.of_peer_) {}
  ~open_place() {
    if (of_ == nullptr) return;
    --of_->counters_.open;
    if (of_peer_ != peer_counts::none) of_->peers_.leave(of_peer_);
  }

 private:
  server* of_;
  peer_counts::place of_peer_;
};

std::uint32_t server::most_of(const address& peer) const noexcept {
  if (!peer) return options_.connections_max;
  const std::uint32_t asked = options_.connections_per_address_max;
  return asked != 0 ? asked : options_.connections_max - options_.connections_max / 4;
}

task<> server::serve_stream(stream s) {
  return serve_counted(std::move(s), open_place(*this, peer_counts::none));
}

task<> server::serve_counted(stream s, [[maybe_unused]] open_place place) {
  detail::server_connection c(*this, s);
  std::exception_ptr error;
  try {
    co_await with_scope(&detail::server_connection::run, std::ref(c));
  } catch (...) {
    error = std::current_exception();
  }
  s.close();
  if (!error) co_return;
  ++counters_.broken;
  std::rethrow_exception(error);
}

/// A connection's failure concerns no other connection; it is counted.
task<> server::connection(stream s, open_place place) {
  try {
    co_await serve_counted(std::move(s), std::move(place));
  } catch (...) {
    if (worker::running().current_context().canceled()) throw;
  }
}

task<> server::serve(listener door) {
  scope connections;
  std::exception_ptr error;
  {
    heddle::detail::context_switch inside(worker::running(), connections.context_of_tasks());
    try {
      for (;;) {
        while (counters_.open >= options_.connections_max && !stopping_.canceled())
          static_cast<void>(co_await as_expected(with_cancel(stopping_, sleep_for(full_pause))));
        auto s = co_await as_expected(with_cancel(stopping_, door.accept()));
        if (!s && stopping_.canceled()) break;
        if (!s) throw failure(s.error());
        const address peer = s->peer();
        const peer_counts::place of_peer = peers_.enter(peer, most_of(peer));
        if (of_peer == peer_counts::none) {
          ++counters_.refused_connections;
          continue;
        }
        connections.spawn(connection(std::move(*s), open_place(*this, of_peer)));
      }
    } catch (...) {
      error = std::current_exception();
    }
  }
  door.close();
  if (error) connections.fail(error);
  co_await connections.join();
}

void server::stop() noexcept { stopping_.cancel(); }

}  // namespace heddle::rpc
