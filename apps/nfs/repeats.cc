// SPDX-License-Identifier: MIT
// The table of kept replies: by client, in shards. An entry is first marked as being worked on, and
// gets its reply later; old ones go when time, number or bytes are over.
#include "repeats.hh"

#include <algorithm>
#include <functional>

namespace nfs {
namespace {

constexpr std::uint64_t first_color_of_repeats = 0x6e66735265700000;  // "nfsRep"

}  // namespace

repeats::repeats(repeat_options options) : options_(options) {}
repeats::~repeats() = default;

repeats::call_name repeats::name_of(const heddle::rpc::call& from, std::uint32_t procedure,
                                    const heddle::chain& arguments) {
  call_name n;
  n.client = from.peer.host() + ' ' + from.who.machine;
  n.client_hash = std::hash<std::string>()(n.client);
  // The user is part of what was asked: another one must not get this one's reply.
  std::string asked = arguments.to_string();
  const auto add = [&asked](std::uint32_t word) {
    asked.append(reinterpret_cast<const char*>(&word), sizeof word);
  };
  add(from.who.none ? 1 : 0);
  add(from.who.uid);
  add(from.who.gid);
  for (const std::uint32_t gid : from.who.gids) add(gid);
  n.arguments_hash = std::hash<std::string>()(asked);
  n.xid = from.xid;
  n.procedure = procedure;
  return n;
}

heddle::color repeats::color_of(const call_name& name) noexcept {
  return heddle::color(first_color_of_repeats + name.client_hash % shard_count);
}

std::size_t repeats::cost_of(const call_name& name, const reply& r) noexcept {
  return sizeof(reply) + 3 * sizeof(call_name) + 2 * name.client.size() + r.bytes.size();
}

heddle::task<const std::string*> repeats::find(shard& in, const call_name& name) {
  for (;;) {
    const auto at = in.replies.find(name);
    if (at == in.replies.end()) co_return nullptr;
    if (at->second.done) {
      if (heddle::clock::now() - at->second.when <= options_.time) co_return &at->second.bytes;
      forget(in, at->second.in_order);
      co_return nullptr;
    }
    co_await in.changed.wait();
  }
}

void repeats::forget(shard& in, std::list<call_name>::iterator at) {
  const auto r = in.replies.find(*at);
  bytes_.fetch_sub(cost_of(*at, r->second), std::memory_order_relaxed);
  const auto count = in.of_client.find(at->client);
  if (--count->second == 0) in.of_client.erase(count);
  in.replies.erase(r);
  in.order.erase(at);
}

std::size_t repeats::kept() const noexcept {
  std::size_t n = 0;
  for (const shard& s : shards_) n += s.order.size();
  return n;
}

repeats::under_way::under_way(repeats& of, shard& in, const call_name& name)
    : of_(of), in_(in), name_(name) {
  in_.replies.try_emplace(name);
}

repeats::under_way::~under_way() {
  if (!kept_) in_.replies.erase(name_);
  in_.changed.notify_all();
}

void repeats::under_way::keep(std::string bytes) {
  const repeat_options& options = of_.options_;
  reply& r = in_.replies.find(name_)->second;
  r.bytes = std::move(bytes);
  r.when = heddle::clock::now();
  r.done = true;
  r.in_order = in_.order.insert(in_.order.end(), name_);
  of_.bytes_.fetch_add(cost_of(name_, r), std::memory_order_relaxed);
  kept_ = true;
  const std::size_t of_client = ++in_.of_client[name_.client];
  if (of_client > std::max<std::size_t>(options.calls_max, 1)) {
    auto at = in_.order.begin();
    while (at->client != name_.client) ++at;
    of_.forget(in_, at);
  }
  // What is too old goes first, and then the oldest until the rest fits. Each shard drops its own
  // replies only, so one that gets no calls keeps what it has until they are too old.
  while (in_.order.size() > 1) {
    const reply& oldest = in_.replies.find(in_.order.front())->second;
    const bool fits = of_.bytes_.load(std::memory_order_relaxed) <= options.bytes_max;
    if (fits && r.when - oldest.when <= options.time) break;
    of_.forget(in_, in_.order.begin());
  }
}

}  // namespace nfs
