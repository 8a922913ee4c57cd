// SPDX-License-Identifier: MIT
// A connection of libasync's arpc.h: one task reads records and gives replies to callbase and calls
// to asrv; another one writes. It ends with the stream, with a bad record, or when its last axprt
// is gone and all records are sent.
// Thread: one color. Owns: the stream. Calls, clients and servers leave it by themselves.
#pragma once

#include <map>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"
#include "libasync/arpc.h"

namespace heddle::libasync {

class rpc_connection {
 public:
  rpc_connection(int fd, std::size_t record_bytes_max, const rpc_limits& limits);

  /// Starts both tasks, once: a client or a server is there.
  static void begin(const std::shared_ptr<rpc_connection>& self);
  /// No axprt is left.
  void release() noexcept;
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] int fd() const noexcept { return ended_ ? -1 : fd_; }
  [[nodiscard]] const address& peer() const noexcept { return peer_; }

  /// Queues a record; false if it is longer than a record may be.
  [[nodiscard]] bool send(chain&& record);
  [[nodiscard]] std::uint32_t new_xid();

  rpc_limits limits;
  std::map<std::uint32_t, callbase*> calls;
  std::vector<aclnt*> clients;
  std::vector<asrv*> servers;

  void begin_answer(std::size_t bytes) noexcept;
  void end_answer(std::size_t bytes) noexcept;

 private:
  static task<> read(std::shared_ptr<rpc_connection> self);
  static task<> write(std::shared_ptr<rpc_connection> self);
  [[nodiscard]] bool full() const noexcept {
    return !stopping_.canceled() &&
           (unanswered_ >= limits.calls_max || calls_bytes_ + output_.bytes() >= limits.bytes_max);
  }
  void take(chain record);
  void take_call(const chain& record);
  void take_reply(std::uint32_t xid, const chain& record);
  void finish();

  int fd_;
  std::size_t record_bytes_max_;
  stream stream_;
  address peer_;
  rpc::detail::record_input input_;
  rpc::detail::record_output output_;
  cancel_source stopping_;
  std::uint32_t next_xid_;
  std::uint32_t unanswered_ = 0;
  std::size_t calls_bytes_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

/// Calls a callback of the program. Its exception goes to tamer::loop().
template <class Callback, class... Args>
void call_program(const Callback& f, Args... args) noexcept {
  try {
    f(args...);
  } catch (...) {
    tame::function_failed(0);
  }
}

}  // namespace heddle::libasync
