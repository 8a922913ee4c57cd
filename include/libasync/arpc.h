/* SPDX-License-Identifier: MIT
 * libasync's RPC over room rpc: axprt_stream is a connection, aclnt calls procedures over it, asrv
 * answers calls with svccb. A connection may have clients and servers at once. Types and the
 * rpc_program come from an .x file (heddle rpcgen --libasync). Needs heddle::rpc.
 * Callbacks run from the loop, never inside of call(). Thread: one color.
 */
#pragma once

#include <memory>

#include "heddle/rpc/call.hh"
#include "rpc_stat_names.h"
#include "rpctypes.h"

class aclnt;
class asrv;

namespace heddle::libasync {

class rpc_connection;

/// A type of XDR, for code that knows it only at run time.
struct rpc_type {
  std::size_t size;
  void* (*make)();
  void (*destroy)(void*);
  void (*write)(xdr::writer&, const void*);
  bool (*read)(xdr::reader&, void*);
};
template <class T>
inline constexpr rpc_type rpc_type_of{
    sizeof(T), +[]() -> void* { return new T(); }, +[](void* v) { delete static_cast<T*>(v); },
    +[](xdr::writer& out, const void* v) { out.write(*static_cast<const T*>(v)); },
    +[](xdr::reader& in, void* v) { return in.read(*static_cast<T*>(v)); }};
template <>
inline constexpr rpc_type rpc_type_of<void>{0, +[]() -> void* { return nullptr; }, +[](void*) {},
                                            +[](xdr::writer&, const void*) {},
                                            +[](xdr::reader&, void*) { return true; }};

/// Limits of a connection; of one record, see axprt_stream::alloc().
struct rpc_limits {
  std::uint32_t calls_max = 1024;                ///< calls without a reply; then it is not read
  std::size_t bytes_max = std::size_t{8} << 20;  ///< bytes of these calls and of unsent records
  nanoseconds record_time = std::chrono::seconds(30);  ///< from a record's first byte to its last
  nanoseconds send_time = std::chrono::seconds(30);    ///< time for each 256 KiB
  xdr::reader_limits values = {};                      ///< limits of reading arguments and results
};

}  // namespace heddle::libasync

/// A procedure of a program.
struct rpcgen_table {
  u_int32_t number;
  const char* name;
  const heddle::libasync::rpc_type* arg;
  const heddle::libasync::rpc_type* res;
};
/// A version of a program, which an .x file describes.
struct rpc_program {
  u_int32_t progno;
  u_int32_t versno;
  const rpcgen_table* tbl;
  u_int32_t nproc;
  const char* name;
  [[nodiscard]] const rpcgen_table* find(u_int32_t proc) const noexcept {
    for (u_int32_t i = 0; i != nproc; ++i)
      if (tbl[i].number == proc) return &tbl[i];
    return nullptr;
  }
};

/// Credentials of a call; null is AUTH_NONE. The caller frees it by auth_destroy().
struct AUTH {
  heddle::rpc::credentials who;
};
/// AUTH_SYS of this process: its host name, user and groups (at most 16).
[[nodiscard]] AUTH* authunix_create_default();
inline void auth_destroy(AUTH* a) { delete a; }

/// The AUTH_SYS credentials of a call.
struct authunix_parms {
  u_int32_t aup_time = 0;
  const char* aup_machname = "";
  u_int32_t aup_uid = 0;
  u_int32_t aup_gid = 0;
  u_int32_t aup_len = 0;
  const u_int32_t* aup_gids = nullptr;
};

/// A connection. It ends when the last handle is gone and all records are sent.
class axprt : public virtual refcount {
 public:
  enum { defps = 0x10400 };

  axprt(const axprt&) = delete;
  axprt& operator=(const axprt&) = delete;
  ~axprt() override;
  /// Whether the connection has ended.
  [[nodiscard]] bool ateof() const noexcept;
  [[nodiscard]] int getreadfd() const noexcept;
  [[nodiscard]] const std::shared_ptr<heddle::libasync::rpc_connection>& beneath() const noexcept {
    return under_;
  }

 protected:
  axprt(int fd, std::size_t record_bytes_max, const heddle::libasync::rpc_limits& limits);

 private:
  std::shared_ptr<heddle::libasync::rpc_connection> under_;
};

/// A connected stream socket. Records of more than `record_bytes_max` bytes are refused: a received
/// one ends the connection, and a call or a reply gets RPC_CANTENCODEARGS or SYSTEM_ERR.
class axprt_stream : public axprt {
 public:
  /// Takes the descriptor.
  [[nodiscard]] static ref<axprt_stream> alloc(int fd, std::size_t record_bytes_max = defps,
                                               const heddle::libasync::rpc_limits& limits = {});
  [[nodiscard]] int getfd() const noexcept { return getreadfd(); }

 protected:
  using axprt::axprt;
};

/// A Unix socket. It passes no descriptors.
class axprt_unix : public axprt_stream {
 public:
  [[nodiscard]] static ref<axprt_unix> alloc(int fd, std::size_t record_bytes_max = defps,
                                             const heddle::libasync::rpc_limits& limits = {});

 protected:
  using axprt_stream::axprt_stream;
};
/// Connects to a Unix socket; null with errno if that fails.
[[nodiscard]] ptr<axprt_unix> axprt_unix_connect(const char* path,
                                                 std::size_t record_bytes_max = axprt::defps);

using aclnt_cb = callback<void, clnt_stat>::ref;

/// A call under way. It is freed before its callback is called.
class callbase {
 public:
  callbase(const callbase&) = delete;
  callbase& operator=(const callbase&) = delete;
  /// Ends the call with RPC_TIMEDOUT after this time.
  void timeout(time_t seconds, long nanoseconds = 0);
  /// Ends the call without its callback. A reply that comes is dropped.
  void cancel();
  const u_int32_t xid;

 private:
  friend class aclnt;
  friend class heddle::libasync::rpc_connection;
  callbase(ref<aclnt> c, const heddle::libasync::rpc_type* type, void* out, aclnt_cb done);
  ~callbase();
  void finish(clnt_stat how);
  ref<aclnt> client_;
  const heddle::libasync::rpc_type* type_;
  void* out_;
  aclnt_cb done_;
  timecb_t* timer_ = nullptr;
};

/// A client of one program. It lives while calls are under way.
class aclnt : public virtual refcount {
 public:
  [[nodiscard]] static ptr<aclnt> alloc(ref<axprt> x, const rpc_program& program);
  ~aclnt() override;

  /// Calls a procedure: `in` is its argument, which is encoded at once, and `out` gets its result;
  /// both are null for void. The result is null if the call could not begin; its callback is called
  /// with the reason.
  callbase* call(u_int32_t proc, const void* in, void* out, aclnt_cb done, AUTH* auth = nullptr);
  callbase* timedcall(time_t seconds, long nanoseconds, u_int32_t proc, const void* in, void* out,
                      aclnt_cb done, AUTH* auth = nullptr);
  callbase* timedcall(time_t seconds, u_int32_t proc, const void* in, void* out, aclnt_cb done,
                      AUTH* auth = nullptr) {
    return timedcall(seconds, 0, proc, in, out, std::move(done), auth);
  }
  template <class... Args>
  clnt_stat scall(Args&&...) {
    static_assert(sizeof...(Args) == 0 && sizeof...(Args) != 0,
                  "libasync: aclnt::scall() blocks the loop and is not part of Heddle: use call() "
                  "in a twait");
    return RPC_FAILED;
  }
  [[nodiscard]] bool calls_outstanding() const noexcept { return calls_ != 0; }
  /// Called once, when the connection has ended. Calls under way end with RPC_CANTRECV before.
  void seteofcb(cbv::ptr done);
  [[nodiscard]] const ref<axprt>& xprt() const noexcept { return connection_; }
  const rpc_program& rp;

 protected:
  aclnt(ref<axprt> x, const rpc_program& program);

 private:
  friend class callbase;
  friend class heddle::libasync::rpc_connection;
  ref<axprt> connection_;
  cbv::ptr ended_;
  std::size_t calls_ = 0;
};

/// A call that a server answers, once, by reply(), replyref(), reject() or ignore(); then it is
/// freed. After the end of the connection the answer goes nowhere.
class svccb {
 public:
  svccb(const svccb&) = delete;
  svccb& operator=(const svccb&) = delete;

  [[nodiscard]] u_int32_t xid() const noexcept { return xid_; }
  [[nodiscard]] u_int32_t prog() const noexcept;
  [[nodiscard]] u_int32_t vers() const noexcept;
  [[nodiscard]] u_int32_t proc() const noexcept { return procedure_->number; }
  [[nodiscard]] const ptr<asrv>& getsrv() const noexcept { return server_; }
  /// The argument, which lives as long as this; null for void.
  [[nodiscard]] void* getvoidarg() const noexcept { return argument_; }
  template <class T>
  [[nodiscard]] T* getarg() const noexcept {
    return static_cast<T*>(argument_);
  }
  /// A result to fill in, which lives as long as this.
  [[nodiscard]] void* getvoidres();
  template <class T>
  [[nodiscard]] T* getres() {
    return static_cast<T*>(getvoidres());
  }
  /// The caller's AUTH_SYS credentials, or null. They prove nothing.
  [[nodiscard]] const authunix_parms* getaup() const noexcept {
    return who_.none ? nullptr : &unix_;
  }
  /// The caller's address, or null if it has none.
  [[nodiscard]] const sockaddr* getsa() const noexcept;

  /// `result` is of the procedure's type; null for void.
  void reply(const void* result);
  template <class T>
  void replyref(const T& result) {
    HEDDLE_ASSERT(sizeof(T) == procedure_->res->size,
                  "replyref() got a value of another type than the procedure's result");
    reply(&result);
  }
  void reject(accept_stat why);
  void reject(auth_stat why);
  /// Sends no reply.
  void ignore() { delete this; }

 private:
  friend class heddle::libasync::rpc_connection;
  svccb(ref<asrv> server, const rpcgen_table* procedure, u_int32_t xid, std::size_t bytes,
        heddle::rpc::credentials who);
  ~svccb();
  ptr<asrv> server_;
  const rpcgen_table* procedure_;
  u_int32_t xid_;
  std::size_t bytes_;
  heddle::rpc::credentials who_;
  authunix_parms unix_;
  void* argument_;
  void* result_ = nullptr;
};

/// A server of one program. Its callback gets each call, and null at the end of the connection.
class asrv : public virtual refcount {
 public:
  using asrv_cb = callback<void, svccb*>::ref;
  [[nodiscard]] static ptr<asrv> alloc(ref<axprt> x, const rpc_program& program,
                                       asrv_cb::ptr done = nullptr);
  ~asrv() override;
  void setcb(asrv_cb done) { done_ = std::move(done); }
  /// While stopped, calls get PROG_UNAVAIL.
  void stop() noexcept { stopped_ = true; }
  void start() noexcept { stopped_ = false; }
  [[nodiscard]] const ref<axprt>& xprt() const noexcept { return connection_; }
  const rpc_program& rp;

 protected:
  asrv(ref<axprt> x, const rpc_program& program, asrv_cb done, bool delays_end, cbv::ptr ended);

 private:
  friend class svccb;
  friend class heddle::libasync::rpc_connection;
  void connection_ended();
  ref<axprt> connection_;
  asrv_cb done_;
  cbv::ptr ended_;
  std::size_t unanswered_ = 0;
  bool stopped_ = false;
  bool delays_end_;  ///< null comes after the last answer
  bool at_end_ = false;
};

/// As asrv; the null at the end of the connection comes when all calls are answered. `ended` is
/// called at the end of the connection if calls are not answered then.
class asrv_delayed_eof : public asrv {
 public:
  [[nodiscard]] static ptr<asrv_delayed_eof> alloc(ref<axprt> x, const rpc_program& program,
                                                   asrv_cb::ptr done = nullptr,
                                                   cbv::ptr ended = nullptr);

 protected:
  using asrv::asrv;
};

/// A call without its client: number, argument and result. Functions that rpcgen writes give it to
/// functions such as tame_rpc::rcall.
class rpc_bundle_t {
 public:
  rpc_bundle_t(u_int32_t proc, const void* arg, void* res) noexcept
      : proc_(proc), arg_(arg), res_(res) {}
  [[nodiscard]] u_int32_t proc() const noexcept { return proc_; }
  [[nodiscard]] const void* arg() const noexcept { return arg_; }
  [[nodiscard]] void* res() const noexcept { return res_; }

 private:
  u_int32_t proc_;
  const void* arg_;
  void* res_;
};

namespace heddle::libasync {

/// The base of the classes `..._srv_t<S>` that rpcgen writes: a call with the types of its
/// procedure.
template <class S, class Argument, class Result>
class typed_call {
 public:
  explicit typed_call(S* call) noexcept : call_(call) {}
  [[nodiscard]] const Argument* getarg() const noexcept
    requires(!std::is_void_v<Argument>)
  {
    return call_->template getarg<Argument>();
  }
  [[nodiscard]] Result* getres()
    requires(!std::is_void_v<Result>)
  {
    return call_->template getres<Result>();
  }
  template <class R>
    requires(!std::is_void_v<Result> && std::convertible_to<const R&, Result>)
  void reply(const R& result) {
    if constexpr (std::is_same_v<R, Result>) {
      call_->replyref(result);
    } else {
      call_->replyref(static_cast<Result>(result));
    }
  }
  void reply()
    requires(std::is_void_v<Result>)
  {
    call_->reply(nullptr);
  }
  template <class Why>
  void reject(Why why) {
    call_->reject(why);
  }

 private:
  S* call_;
};

}  // namespace heddle::libasync
