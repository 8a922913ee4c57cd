// SPDX-License-Identifier: MIT
// Repeats: a client whose connection broke sends its call again, with the same xid. A change that
// was made must not be made twice (the second REMOVE would say NOENT), so the replies of calls that
// are not idempotent are kept for a while, and a repeat gets the first reply.
//
//   co_return co_await kept.once<NFS_V3::REMOVE>(from, arguments, remove(arguments));
//
// A call is known by its client (address without port, machine), user, xid, procedure and
// arguments. The work goes on when its connection breaks, so that there is a reply to keep.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "heddle/base/clock.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/task.hh"
#include "heddle/rpc/call.hh"
#include "heddle/sync/condition.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

namespace nfs {

struct repeat_options {
  std::size_t calls_max = 1024;                               ///< replies kept of a client
  heddle::nanoseconds time = std::chrono::seconds(120);       ///< for which a reply is kept
  std::size_t bytes_max = std::size_t{4} << 20;               ///< in all, with what keeping costs
  heddle::nanoseconds work_time = std::chrono::seconds(600);  ///< of one call, when it is cut off
};

/// Thread: any color. The replies are in 16 colors, by client.
class repeats {
 public:
  explicit repeats(repeat_options options = {});
  ~repeats();

  /// The kept reply of this call, or the result of `work`, which is then kept.
  template <class P>
  [[nodiscard]] heddle::task<typename P::result> once(const heddle::rpc::call& from,
                                                      const typename P::argument& a,
                                                      heddle::task<typename P::result> work) {
    const call_name name = name_of(from, P::number, heddle::xdr::encode(a));
    co_await heddle::enter(color_of(name));
    shard& in = shards_[name.client_hash % shards_.size()];
    typename P::result r{};
    const std::string* const first = co_await find(in, name);
    if (first != nullptr) {
      const heddle::chain bytes{std::string(*first)};
      if (auto read = heddle::xdr::decode<typename P::result>(bytes)) r = std::move(*read);
      co_return r;
    }
    under_way mine(*this, in, name);
    r = co_await heddle::shield(std::move(work), options_.work_time);
    mine.keep(heddle::xdr::encode(r).to_string());
    co_return r;
  }

  /// Replies kept now; exact in a program of one worker, for tests.
  [[nodiscard]] std::size_t kept() const noexcept;

 private:
  static constexpr std::size_t shard_count = 16;

  struct call_name {
    std::string client;
    std::uint64_t client_hash = 0;
    std::uint64_t arguments_hash = 0;
    std::uint32_t xid = 0;
    std::uint32_t procedure = 0;
    friend bool operator==(const call_name&, const call_name&) = default;
  };
  struct name_hash {
    std::size_t operator()(const call_name& n) const noexcept {
      return n.client_hash ^ n.arguments_hash ^ (std::uint64_t{n.xid} * 0x9e3779b97f4a7c15u);
    }
  };
  struct reply {
    std::string bytes;
    heddle::time_point when;
    bool done = false;
    std::list<call_name>::iterator in_order;
  };
  struct shard {
    std::unordered_map<call_name, reply, name_hash> replies;
    std::list<call_name> order;  // those that are done, the oldest first
    std::unordered_map<std::string, std::size_t> of_client;
    heddle::condition changed;
  };
  /// A call that is being worked on; without keep() it is forgotten at the end.
  class under_way {
   public:
    under_way(repeats& of, shard& in, const call_name& name);
    under_way(const under_way&) = delete;
    under_way& operator=(const under_way&) = delete;
    ~under_way();
    void keep(std::string bytes);

   private:
    repeats& of_;
    shard& in_;
    const call_name& name_;
    bool kept_ = false;
  };

  static call_name name_of(const heddle::rpc::call& from, std::uint32_t procedure,
                           const heddle::chain& arguments);
  static heddle::color color_of(const call_name& name) noexcept;
  /// The bytes of the kept reply, or nullptr; waits if the call is being worked on.
  heddle::task<const std::string*> find(shard& in, const call_name& name);
  void forget(shard& in, std::list<call_name>::iterator at);
  static std::size_t cost_of(const call_name& name, const reply& r) noexcept;

  repeat_options options_;
  std::array<shard, shard_count> shards_;
  std::atomic<std::size_t> bytes_ = 0;  // of all shards; by itself: it orders nothing
};

}  // namespace nfs
