// SPDX-License-Identifier: MIT
// A client of ONC RPC (RFC 5531) over one connection. Any number of calls may be under way; replies
// are matched by their numbers, in any order.
//
//   rpc::client c(co_await tcp_connect(address::loopback(7070)));
//   const std::int32_t sum = co_await c.call<CALC_V1::ADD>({1, 2});
//   co_await with_timeout(c.call<CALC_V1::ADD>({1, 2}), 100ms);
#pragma once

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "heddle/base/language.hh"
#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"
#include "heddle/rpc/call.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

namespace heddle::rpc {

/// Limits of a client.
struct client_options {
  std::size_t record_bytes_max = (std::size_t{1} << 20) + 4096;  ///< bytes of one reply
  std::uint32_t calls_max = 1024;                                ///< under way; further calls wait
  std::size_t bytes_max = std::size_t{8} << 20;     ///< bytes of unsent calls; further calls wait
  nanoseconds call_time = std::chrono::minutes(1);  ///< from the call to its reply
  nanoseconds record_time = std::chrono::seconds(30);  ///< from a reply's first byte to its last
  nanoseconds send_time = std::chrono::seconds(30);    ///< for each 256 KiB of calls
  xdr::reader_limits results = {};
  credentials who = {};  ///< sent with each call
};

namespace detail {

class client_connection;

/// A procedure's numbers and name.
struct procedure_id {
  std::uint32_t program;
  std::uint32_t version;
  std::uint32_t number;
  const char* name;
};

/// Sends a call and gives its result as XDR.
[[nodiscard]] task<chain> exchange(std::shared_ptr<client_connection> on, procedure_id of,
                                   chain argument);
[[noreturn]] void refuse_argument(const procedure_id& of, const std::string& why);
[[noreturn]] void refuse_result(const procedure_id& of, const std::string& why);

template <class P>
inline constexpr procedure_id id_of{P::program, P::version, P::number, P::name};

/// An argument as XDR, or why XDR cannot carry it. The call reports that where it is awaited.
using written_argument = std::expected<chain, std::string>;

template <class A>
[[nodiscard]] written_argument write_argument(const A& a) {
  try {
    return xdr::encode(a);
  } catch (const std::invalid_argument& e) {
    return std::unexpected(std::string(e.what()));
  }
}

template <class P>
[[nodiscard]] task<typename P::result> call_on(std::shared_ptr<client_connection> on,
                                               xdr::reader_limits limits,
                                               written_argument argument) {
  if (!argument) refuse_argument(id_of<P>, argument.error());
  const chain bytes = co_await exchange(std::move(on), id_of<P>, std::move(*argument));
  if constexpr (std::is_void_v<typename P::result>) {
    if (!bytes.empty()) refuse_result(id_of<P>, "bytes are left after it");
  } else {
    auto value = xdr::decode<typename P::result>(bytes, limits);
    if (!value) refuse_result(id_of<P>, value.error());
    co_return std::move(*value);
  }
}

}  // namespace detail

/// Thread: one color.
/// Owns: the connection. When the client ends, calls under way fail with operation_canceled.
/// Cancel: a call that is cancelled or late leaves the connection as it is; its reply is dropped.
/// Fails: calls throw failure: with a code of rpc::errc if the server refuses the call, timed_out
///   after call_time, invalid_argument for an argument that XDR cannot carry, such as a text that
///   is too long (nothing is sent), and the connection's error for all calls when the connection
///   ends.
class client {
 public:
  /// Call it inside a runtime: a task that reads replies starts.
  explicit client(stream connection, client_options options = client_options());
  client(client&&) noexcept = default;
  client& operator=(client&& other) noexcept;
  ~client();

  /// Calls procedure P. The argument is written at once.
  template <class P>
    requires(!std::is_void_v<typename P::argument>)
  [[nodiscard]] task<typename P::result> call(const typename P::argument& a) {
    return detail::call_on<P>(connection_, results_, detail::write_argument(a));
  }
  template <class P>
    requires(std::is_void_v<typename P::argument>)
  [[nodiscard]] task<typename P::result> call() {
    return detail::call_on<P>(connection_, results_, chain());
  }

  /// Ends the connection; calls under way fail with operation_canceled.
  void close() noexcept;
  /// Whether the connection has not ended.
  [[nodiscard]] bool open() const noexcept;
  /// Calls without a reply yet.
  [[nodiscard]] std::size_t under_way() const noexcept;
  /// Replies that no call waited for: of calls that were cancelled or late.
  [[nodiscard]] std::uint64_t late_replies() const noexcept;

 private:
  std::shared_ptr<detail::client_connection> connection_;
  xdr::reader_limits results_;
};

}  // namespace heddle::rpc
