// SPDX-License-Identifier: MIT
// Reads and writes the records of a connection, and gives them to its calls and servers.
#define HEDDLE_ASYNC_INSIDE
#include "tamer/rpc_connection.hh"

#include "heddle/core/expected.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/sched/runtime.hh"
#include "tamer/loop_state.hh"

namespace heddle::libasync {
namespace {

stream stream_of(int fd) {
  sockaddr_storage local{};
  socklen_t len = sizeof local;
  ::make_async(fd);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &len) == 0 &&
      local.ss_family == AF_UNIX)
    return unix_stream(fd);
  return tcp_stream(fd);
}

clnt_stat outcome_of(const std::error_code& refusal) {
  if (refusal.category() != rpc::category()) return RPC_FAILED;
  switch (static_cast<rpc::errc>(refusal.value())) {
    case rpc::errc::program_unavailable:
      return RPC_PROGUNAVAIL;
    case rpc::errc::program_mismatch:
      return RPC_PROGVERSMISMATCH;
    case rpc::errc::procedure_unavailable:
      return RPC_PROCUNAVAIL;
    case rpc::errc::garbage_arguments:
      return RPC_CANTDECODEARGS;
    case rpc::errc::system_error:
      return RPC_SYSTEMERROR;
    case rpc::errc::rpc_mismatch:
      return RPC_VERSMISMATCH;
    case rpc::errc::authentication:
      return RPC_AUTHERROR;
    case rpc::errc::bad_reply:
    case rpc::errc::bad_record:
      break;
  }
  return RPC_CANTDECODERES;
}

}  // namespace

rpc_connection::rpc_connection(int fd, std::size_t record_bytes_max, const rpc_limits& l)
    : limits(l),
      fd_(fd),
      record_bytes_max_(record_bytes_max),
      stream_(stream_of(fd)),
      peer_(stream_.peer()),
      input_(record_bytes_max),
      output_(stream_, l.send_time),
      next_xid_(static_cast<std::uint32_t>(runtime::here().io().random())) {}

void rpc_connection::begin(const std::shared_ptr<rpc_connection>& self) {
  if (std::exchange(self->begun_, true)) return;
  spawn(read(self));
  spawn(write(self));
}

void rpc_connection::release() noexcept {
  stopping_.cancel();
  output_.changed.notify_all();
  output_.finish();
  if (!begun_) stream_.close();
}

bool rpc_connection::send(chain&& record) {
  if (record.size() > record_bytes_max_) return false;
  if (!ended_) output_.put(std::move(record));
  return true;
}

std::uint32_t rpc_connection::new_xid() {
  while (calls.contains(next_xid_)) ++next_xid_;
  return next_xid_++;
}

void rpc_connection::begin_answer(std::size_t bytes) noexcept {
  ++unanswered_;
  calls_bytes_ += bytes;
}
void rpc_connection::end_answer(std::size_t bytes) noexcept {
  --unanswered_;
  calls_bytes_ -= bytes;
  output_.changed.notify_all();
}

task<> rpc_connection::write(std::shared_ptr<rpc_connection> self) {
  try {
    co_await self->output_.run();
  } catch (const failure&) {
    // The reader ends with the stream, and tells the calls.
  }
  self->stream_.close();
}

task<> rpc_connection::read(std::shared_ptr<rpc_connection> self) {
  rpc_connection& c = *self;
  // If this task is cancelled, the program ends, and its calls end without their callbacks.
  struct ending {
    rpc_connection& c;
    ~ending() {
      while (!c.calls.empty()) c.calls.begin()->second->cancel();
    }
  } const at_end{c};
  time_point record_end = never;
  try {
    for (;;) {
      bool waited = false;
      for (;;) {
        while (c.full()) {
          waited = true;
          co_await c.output_.changed.wait();
        }
        if (c.stopping_.canceled()) break;
        std::optional<chain> record = c.input_.next();
        if (!record) break;
        record_end = never;
        c.take(std::move(*record));
      }
      // The time in which nothing was read is not the peer's.
      if (!c.input_.inside())
        record_end = never;
      else if (record_end == never || waited)
        record_end = add_saturated(clock::now(), c.limits.record_time);
      auto in = co_await as_expected(
          with_cancel(c.stopping_, with_deadline(c.stream_.receive(), record_end)));
      if (!in && worker::running().current_context().canceled()) co_return;
      if (!in || in->empty()) break;
      c.input_.feed(std::move(*in));
    }
  } catch (const failure& e) {
    if (e.code() != rpc::errc::bad_record) throw;
    warn << "a connection ends: " << e.what() << "\n";
  }
  c.finish();
}

void rpc_connection::finish() {
  ended_ = true;
  output_.finish();
  while (!calls.empty()) calls.begin()->second->finish(RPC_CANTRECV);
  // A callback may end clients and servers, so each round begins anew.
  for (;;) {
    const auto with_callback =
        std::ranges::find_if(clients, [](const aclnt* each) { return each->ended_ != nullptr; });
    if (with_callback == clients.end()) break;
    const ref<aclnt> kept = mkref(*with_callback);
    call_program(std::exchange(kept->ended_, nullptr));
  }
  for (;;) {
    const auto open = std::ranges::find_if(servers, [](const asrv* s) { return !s->at_end_; });
    if (open == servers.end()) break;
    const ref<asrv> kept = mkref(*open);
    kept->connection_ended();
  }
}

void rpc_connection::take(chain record) {
  std::uint32_t xid = 0;
  std::uint32_t kind = 0;
  xdr::reader in(record);
  if (!in.read(xid) || !in.read(kind) || kind > 1)
    throw failure(rpc::errc::bad_record, "rpc: a record is neither a call nor a reply");
  if (kind == 0) return take_call(record);
  take_reply(xid, record);
}

void rpc_connection::take_reply(std::uint32_t xid, const chain& record) {
  const auto at = calls.find(xid);
  if (at == calls.end()) return;  // the call was cancelled, or its time was over
  callbase* const call = at->second;
  xdr::reader in(record, limits.values);
  rpc::detail::reply_head head;
  if (!rpc::detail::read_reply(in, head)) return call->finish(RPC_CANTDECODERES);
  if (head.refusal) return call->finish(outcome_of(head.refusal));
  const bool good = call->out_ == nullptr || call->type_->read(in, call->out_);
  call->finish(good && (call->out_ == nullptr || in.left() == 0) ? RPC_SUCCESS : RPC_CANTDECODERES);
}

void rpc_connection::take_call(const chain& record) {
  xdr::reader in(record, limits.values);
  rpc::detail::call_head head;
  rpc::credentials who;
  auto state = rpc::detail::credential_state::good;
  if (!rpc::detail::read_call(in, head, who, state))
    throw failure(rpc::errc::bad_record, "rpc: a record is no call");
  xdr::writer out;
  using rpc::detail::reply_status;
  const auto refuse = [&](reply_status why, std::uint32_t low = 0, std::uint32_t high = 0) {
    rpc::detail::write_accepted(out, head.xid, why, low, high);
    static_cast<void>(send(out.take()));
  };
  if (head.rpc_version != 2) {
    rpc::detail::write_rpc_mismatch(out, head.xid);
    return static_cast<void>(send(out.take()));
  }
  if (state != rpc::detail::credential_state::good) {
    rpc::detail::write_auth_error(out, head.xid,
                                  state == rpc::detail::credential_state::bad
                                      ? rpc::detail::auth_bad_credentials
                                      : rpc::detail::auth_rejected);
    return static_cast<void>(send(out.take()));
  }
  asrv* found = nullptr;
  std::uint32_t low = ~std::uint32_t{0};
  std::uint32_t high = 0;
  for (asrv* const each : servers) {
    if (each->stopped_ || !each->done_ || each->rp.progno != head.program) continue;
    low = std::min(low, each->rp.versno);
    high = std::max(high, each->rp.versno);
    if (each->rp.versno == head.version) found = each;
  }
  if (found == nullptr && low <= high) return refuse(reply_status::program_mismatch, low, high);
  if (found == nullptr) return refuse(reply_status::program_unavailable);
  const rpcgen_table* const procedure = found->rp.find(head.procedure);
  if (procedure == nullptr) return refuse(reply_status::procedure_unavailable);
  auto* const call = new svccb(mkref(found), procedure, head.xid, record.size(), std::move(who));
  if (!procedure->arg->read(in, call->argument_) || in.left() != 0) {
    delete call;
    return refuse(reply_status::garbage_arguments);
  }
  const asrv::asrv_cb done = found->done_;  // the call may end its server
  call_program(done, call);
}

}  // namespace heddle::libasync
