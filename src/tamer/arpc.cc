// SPDX-License-Identifier: MIT
// Clients, servers and calls of libasync's arpc.h.
#define HEDDLE_ASYNC_INSIDE
#include "libasync/arpc.h"

#include <sys/un.h>

#include <array>
#include <climits>

#include "libasync/tame_trigger.h"
#include "tamer/rpc_connection.hh"

using heddle::libasync::call_program;
using heddle::libasync::rpc_connection;

const char* clnt_sperrno(clnt_stat how) noexcept {
  switch (how) {
    case RPC_SUCCESS:
      return "success";
    case RPC_CANTENCODEARGS:
      return "the arguments cannot be encoded";
    case RPC_CANTDECODERES:
      return "the reply cannot be decoded";
    case RPC_CANTSEND:
      return "the call cannot be sent: the connection has ended";
    case RPC_CANTRECV:
      return "the connection ended before the reply";
    case RPC_TIMEDOUT:
      return "timed out";
    case RPC_VERSMISMATCH:
      return "the server wants another version of RPC";
    case RPC_AUTHERROR:
      return "the server refuses the credentials";
    case RPC_PROGUNAVAIL:
      return "the server does not have the program";
    case RPC_PROGVERSMISMATCH:
      return "the server has other versions of the program";
    case RPC_PROCUNAVAIL:
      return "the server does not have the procedure";
    case RPC_CANTDECODEARGS:
      return "the server cannot decode the arguments";
    case RPC_SYSTEMERROR:
      return "the procedure failed";
    case RPC_UNKNOWNHOST:
      return "there is no such host";
    case RPC_FAILED:
      break;
  }
  return "the call failed";
}

AUTH* authunix_create_default() {
  auto* const made = new AUTH;
  std::array<char, HOST_NAME_MAX + 1> name{};
  static_cast<void>(::gethostname(name.data(), name.size() - 1));
  std::array<gid_t, NGROUPS_MAX> groups;
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  made->who = {.none = false,
               .stamp = static_cast<std::uint32_t>(timenow()),
               .machine = name.data(),
               .uid = ::geteuid(),
               .gid = ::getegid(),
               .gids = {}};
  for (int i = 0; i < std::min(count, 16); ++i)
    made->who.gids.push_back(groups[static_cast<std::size_t>(i)]);
  return made;
}

axprt::axprt(int fd, std::size_t record_bytes_max, const heddle::libasync::rpc_limits& limits)
    : under_(std::make_shared<rpc_connection>(fd, record_bytes_max, limits)) {}
axprt::~axprt() { under_->release(); }
bool axprt::ateof() const noexcept { return under_->ended(); }
int axprt::getreadfd() const noexcept { return under_->fd(); }

ref<axprt_stream> axprt_stream::alloc(int fd, std::size_t record_bytes_max,
                                      const heddle::libasync::rpc_limits& limits) {
  return New refcounted<axprt_stream>(fd, record_bytes_max, limits);
}
ref<axprt_unix> axprt_unix::alloc(int fd, std::size_t record_bytes_max,
                                  const heddle::libasync::rpc_limits& limits) {
  return New refcounted<axprt_unix>(fd, record_bytes_max, limits);
}
ptr<axprt_unix> axprt_unix_connect(const char* path, std::size_t record_bytes_max) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof to.sun_path) {
    errno = ENAMETOOLONG;
    return nullptr;
  }
  std::strcpy(to.sun_path, path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
    return axprt_unix::alloc(fd, record_bytes_max);
  const int error = errno;
  ::close(fd);
  errno = error;
  return nullptr;
}

callbase::callbase(ref<aclnt> c, const heddle::libasync::rpc_type* type, void* out, aclnt_cb done)
    : xid(c->connection_->beneath()->new_xid()),
      client_(std::move(c)),
      type_(type),
      out_(out),
      done_(std::move(done)) {
  ++client_->calls_;
  client_->connection_->beneath()->calls.emplace(xid, this);
}
callbase::~callbase() {
  --client_->calls_;
  client_->connection_->beneath()->calls.erase(xid);
  delete timer_;  // the function of the timer keeps no event
}
void callbase::cancel() { delete this; }
void callbase::finish(clnt_stat how) {
  const ref<aclnt> kept = client_;  // the callback may end the client
  const aclnt_cb done = std::move(done_);
  delete this;
  if (done) call_program(done, how);
}
void callbase::timeout(time_t seconds, long nanoseconds) {
  delete timer_;  // the function of the timer keeps no event
  timer_ = timecb_t::start(static_cast<double>(seconds) + static_cast<double>(nanoseconds) * 1e-9,
                           [this] {
                             timer_ = nullptr;  // a timer that fires frees itself
                             finish(RPC_TIMEDOUT);
                           });
}

aclnt::aclnt(ref<axprt> x, const rpc_program& program) : rp(program), connection_(std::move(x)) {
  connection_->beneath()->clients.push_back(this);
  rpc_connection::begin(connection_->beneath());
}
aclnt::~aclnt() { std::erase(connection_->beneath()->clients, this); }
ptr<aclnt> aclnt::alloc(ref<axprt> x, const rpc_program& program) {
  return New refcounted<aclnt>(std::move(x), program);
}
void aclnt::seteofcb(cbv::ptr done) {
  ended_ = std::move(done);
  if (ended_ && connection_->ateof()) dtrigger(std::exchange(ended_, nullptr));
}

callbase* aclnt::call(u_int32_t proc, const void* in, void* out, aclnt_cb done, AUTH* auth) {
  const auto fail = [&](clnt_stat how) -> callbase* {
    if (done) dtrigger(std::move(done), how);
    return nullptr;
  };
  const rpcgen_table* const procedure = rp.find(proc);
  if (procedure == nullptr) return fail(RPC_PROCUNAVAIL);
  if (connection_->ateof()) return fail(RPC_CANTSEND);
  auto* const made = new callbase(mkref(this), procedure->res, out, done);
  heddle::xdr::writer record;
  bool good = true;
  try {
    heddle::rpc::detail::write_call(record, {made->xid, 2, rp.progno, rp.versno, proc},
                                    auth == nullptr ? heddle::rpc::credentials() : auth->who);
    procedure->arg->write(record, in);
  } catch (const std::invalid_argument&) {
    good = false;
  }
  if (good && connection_->beneath()->send(record.take())) return made;
  made->cancel();
  return fail(RPC_CANTENCODEARGS);
}
callbase* aclnt::timedcall(time_t seconds, long nanoseconds, u_int32_t proc, const void* in,
                           void* out, aclnt_cb done, AUTH* auth) {
  callbase* const made = call(proc, in, out, std::move(done), auth);
  if (made != nullptr) made->timeout(seconds, nanoseconds);
  return made;
}

svccb::svccb(ref<asrv> server, const rpcgen_table* procedure, u_int32_t xid, std::size_t bytes,
             heddle::rpc::credentials who)
    : server_(std::move(server)),
      procedure_(procedure),
      xid_(xid),
      bytes_(bytes),
      who_(std::move(who)),
      argument_(procedure->arg->make()) {
  unix_ = {.aup_time = who_.stamp,
           .aup_machname = who_.machine.c_str(),
           .aup_uid = who_.uid,
           .aup_gid = who_.gid,
           .aup_len = static_cast<u_int32_t>(who_.gids.size()),
           .aup_gids = who_.gids.data()};
  ++server_->unanswered_;
  server_->connection_->beneath()->begin_answer(bytes_);
}
svccb::~svccb() {
  procedure_->arg->destroy(argument_);
  procedure_->res->destroy(result_);
  server_->connection_->beneath()->end_answer(bytes_);
  --server_->unanswered_;
  if (server_->at_end_ && server_->unanswered_ == 0 && server_->delays_end_ && server_->done_)
    call_program(std::exchange(server_->done_, nullptr), static_cast<svccb*>(nullptr));
}
u_int32_t svccb::prog() const noexcept { return server_->rp.progno; }
u_int32_t svccb::vers() const noexcept { return server_->rp.versno; }
const sockaddr* svccb::getsa() const noexcept {
  const heddle::address& peer = server_->connection_->beneath()->peer();
  return peer.native_len() == 0 ? nullptr : peer.native();
}
void* svccb::getvoidres() {
  if (result_ == nullptr) result_ = procedure_->res->make();
  return result_;
}
void svccb::reply(const void* result) {
  using heddle::rpc::detail::reply_status;
  rpc_connection& to = *server_->connection_->beneath();
  heddle::xdr::writer record;
  std::string why = "it is longer than a record may be";
  try {
    heddle::rpc::detail::write_accepted(record, xid_, reply_status::success);
    procedure_->res->write(record, result);
    if (to.send(record.take())) return ignore();
  } catch (const std::invalid_argument& e) {
    why = e.what();
  }
  warn << "the result of " << procedure_->name << " cannot be sent: " << why << "\n";
  reject(SYSTEM_ERR);
}
void svccb::reject(accept_stat why) {
  heddle::xdr::writer record;
  heddle::rpc::detail::write_accepted(record, xid_,
                                      static_cast<heddle::rpc::detail::reply_status>(why),
                                      server_->rp.versno, server_->rp.versno);
  static_cast<void>(server_->connection_->beneath()->send(record.take()));
  ignore();
}
void svccb::reject(auth_stat why) {
  heddle::xdr::writer record;
  heddle::rpc::detail::write_auth_error(record, xid_, static_cast<std::uint32_t>(why));
  static_cast<void>(server_->connection_->beneath()->send(record.take()));
  ignore();
}

asrv::asrv(ref<axprt> x, const rpc_program& program, asrv_cb done, bool delays_end, cbv::ptr ended)
    : rp(program),
      connection_(std::move(x)),
      done_(std::move(done)),
      ended_(std::move(ended)),
      delays_end_(delays_end) {
  connection_->beneath()->servers.push_back(this);
  rpc_connection::begin(connection_->beneath());
}
asrv::~asrv() { std::erase(connection_->beneath()->servers, this); }
void asrv::connection_ended() {
  at_end_ = true;
  if (delays_end_ && unanswered_ != 0) {
    if (ended_) call_program(std::exchange(ended_, nullptr));
    return;
  }
  if (done_) call_program(std::exchange(done_, nullptr), static_cast<svccb*>(nullptr));
}
ptr<asrv> asrv::alloc(ref<axprt> x, const rpc_program& program, asrv_cb::ptr done) {
  return New refcounted<asrv>(std::move(x), program, std::move(done), false, nullptr);
}
ptr<asrv_delayed_eof> asrv_delayed_eof::alloc(ref<axprt> x, const rpc_program& program,
                                              asrv_cb::ptr done, cbv::ptr ended) {
  return New refcounted<asrv_delayed_eof>(std::move(x), program, std::move(done), true,
                                          std::move(ended));
}
