// SPDX-License-Identifier: MIT
// A server of ONC RPC (RFC 5531) over any stream. Procedures are functions that may wait; their
// types come from an .x file (heddle rpcgen). A connection can have many calls under way, and gets
// each reply as soon as it is ready.
//
//   class calculator {
//    public:
//     task<std::int32_t> add(const rpc::call&, pair p) { co_return p.a + p.b; }
//   };
//   calculator c;
//   rpc::server s;
//   s.on<CALC_V1::ADD>(&calculator::add, c);
//   co_await s.serve(tcp_listener::listen(address::loopback(7070)));
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/task.hh"
#include "heddle/io/listener.hh"
#include "heddle/rpc/call.hh"
#include "heddle/sync/peer_counts.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

namespace heddle::rpc {

/// Limits of a server.
struct server_options {
  std::size_t record_bytes_max = (std::size_t{1} << 20) + 4096;  ///< bytes of one call
  std::uint32_t calls_max = 64;  ///< under way on a connection; then no more is read from it
  /// Bytes of a connection's calls under way and unsent replies; beyond it, no more is read from
  /// the connection. A reply counts before it exists where the procedure says how large it may be
  /// (on() with a size); others may go beyond the limit by the replies of calls under way.
  std::size_t bytes_max = std::size_t{8} << 20;
  std::uint32_t connections_max = 4096;  ///< then no more are accepted
  /// Connections of one IPv4 address or IPv6 /64 network; further ones are closed. 0: three
  /// quarters of connections_max. Connections without an address (Unix sockets) have no share.
  std::uint32_t connections_per_address_max = 0;
  nanoseconds idle = std::chrono::minutes(6);          ///< without a call, until it is closed
  nanoseconds record_time = std::chrono::seconds(30);  ///< from a record's first byte to its last
  nanoseconds send_time = std::chrono::seconds(30);    ///< for each 256 KiB of replies
  xdr::reader_limits arguments = {};                   ///< limits of one call's arguments
};

/// Numbers since the start.
struct server_counters {
  std::uint64_t connections = 0;
  std::uint32_t open = 0;                 ///< connections now
  std::uint64_t refused_connections = 0;  ///< beyond the share of their address
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;  ///< replies that are no success
  std::uint64_t broken = 0;   ///< connections that ended by an error or a limit
};

namespace detail {

/// The size of a reply that is not known before it exists.
struct no_reply_size {};

/// A procedure of any type. The task gives the result as XDR; an empty task says that the arguments
/// cannot be read. `reply_bytes` gets the size that the reply may have, if the procedure knows it.
class procedure {
 public:
  virtual ~procedure() = default;
  [[nodiscard]] virtual task<chain> start(call from, xdr::reader& in, std::size_t& reply_bytes) = 0;
  const char* name = "";
};

template <class P, class F, class Size = no_reply_size>
class procedure_of final : public procedure {
 public:
  explicit procedure_of(F f, Size size = Size()) : f_(std::move(f)), size_(std::move(size)) {
    name = P::name;
  }

  task<chain> start(call from, xdr::reader& in,
                    [[maybe_unused]] std::size_t& reply_bytes) override {
    if constexpr (std::is_void_v<typename P::argument>) {
      return in.left() == 0 ? run(std::move(from)) : task<chain>();
    } else {
      typename P::argument a{};
      if (!in.read(a) || in.left() != 0) return {};
      if constexpr (!std::same_as<Size, no_reply_size>) reply_bytes = size_(std::as_const(a));
      return run_with(std::move(from), std::move(a));
    }
  }

 private:
  task<chain> run(call from) {
    if constexpr (std::is_void_v<typename P::result>) {
      co_await f_(from);
      co_return chain();
    } else {
      const typename P::result r = co_await f_(from);
      co_return xdr::encode(r);
    }
  }
  template <class A>
  task<chain> run_with(call from, A a) {
    if constexpr (std::is_void_v<typename P::result>) {
      co_await f_(from, std::move(a));
      co_return chain();
    } else {
      const typename P::result r = co_await f_(from, std::move(a));
      co_return xdr::encode(r);
    }
  }

  F f_;
  [[no_unique_address]] Size size_;
};

class server_connection;

}  // namespace detail

/// Thread: one color, that of serve(); procedures run in it too. A procedure that enters another
/// color (core/enter.hh) gives its result back to this one.
/// Owns: the procedures; the objects that they are members of must outlive serve(). The server must
///   outlive serve().
/// Cancel: cancelling serve() cancels all calls under way. stop() lets them end.
/// Fails: a call that cannot be served gets the refusal of RFC 5531. A procedure that throws gives
///   SYSTEM_ERR, and is reported (failed-handler). A record that is no call, or too long, ends its
///   connection.
class server {
 public:
  explicit server(server_options options = server_options());
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Answers calls of procedure P by a member function, or by f(const call&, argument). A void
  /// argument is left out. Procedure 0 of each version answers by itself. Call it before serve().
  template <class P, class Object>
    requires(!std::is_void_v<typename P::argument>)
  void on(task<typename P::result> (Object::*f)(const call&, typename P::argument), Object& o) {
    on<P>([f, &o](const call& c, typename P::argument&& a) { return (o.*f)(c, std::move(a)); });
  }
  template <class P, class Object>
    requires(std::is_void_v<typename P::argument>)
  void on(task<typename P::result> (Object::*f)(const call&), Object& o) {
    on<P>([f, &o](const call& c) { return (o.*f)(c); });
  }
  template <class P, class F>
  void on(F f) {
    add(P::program, P::version, P::number,
        std::make_unique<detail::procedure_of<P, F>>(std::move(f)));
  }
  /// The same, for a procedure with large replies: size(argument) gives the bytes that the reply
  /// may take at most, which then count for server_options::bytes_max while the call is under way.
  ///
  ///   s.on<STORE_V1::READ>(f, [](const read_arguments& a) -> std::size_t { return a.count; });
  template <class P, class F, class Size>
    requires std::is_invocable_r_v<std::size_t, Size&, const typename P::argument&>
  void on(F f, Size size) {
    add(P::program, P::version, P::number,
        std::make_unique<detail::procedure_of<P, F, Size>>(std::move(f), std::move(size)));
  }

  /// Serves connections until stop() or until it is cancelled. Throws as listener::accept() does.
  [[nodiscard]] task<> serve(listener door);
  /// Serves one connection until it ends.
  [[nodiscard]] task<> serve_stream(stream connection);
  /// Accepts no more, and ends connections when their calls are answered.
  void stop() noexcept;

  [[nodiscard]] const server_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const server_options& options() const noexcept { return options_; }

 private:
  friend class detail::server_connection;
  using procedures = std::map<std::uint32_t, std::unique_ptr<detail::procedure>>;
  using versions = std::map<std::uint32_t, procedures>;

  void add(std::uint32_t program, std::uint32_t version, std::uint32_t number,
           std::unique_ptr<detail::procedure> p);
  class open_place;
  task<> serve_counted(stream s, open_place place);
  task<> connection(stream s, open_place place);
  [[nodiscard]] std::uint32_t most_of(const address& peer) const noexcept;

  server_options options_;
  server_counters counters_;
  peer_counts peers_;
  std::map<std::uint32_t, versions> programs_;
  cancel_source stopping_;
};

}  // namespace heddle::rpc
