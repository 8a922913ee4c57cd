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
  n.arguments_hash = std::hash<std::string>()(arguments.to_string());
  n.xid = from.xid;
  n.procedure = procedure;
  return n;
}

heddle::color repeats::color_of(const call_name& name) noexcept {
  return heddle::color(first_color_of_repeats + name.client_hash % 16);
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
  in.bytes -= cost_of(*at, r->second);
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

repeats::under_way::under_way(shard& in, const call_name& name) : in_(in), name_(name) {
  in_.replies.try_emplace(name);
}

repeats::under_way::~under_way() {
  if (!kept_) in_.replies.erase(name_);
  in_.changed.notify_all();
}

void repeats::under_way::keep(std::string bytes, const repeat_options& options) {
  reply& r = in_.replies.find(name_)->second;
  r.bytes = std::move(bytes);
  r.when = heddle::clock::now();
  r.done = true;
  r.in_order = in_.order.insert(in_.order.end(), name_);
  in_.bytes += cost_of(name_, r);
  kept_ = true;
  const std::size_t of_client = ++in_.of_client[name_.client];
  if (of_client > std::max<std::size_t>(options.calls_max, 1)) {
    auto at = in_.order.begin();
    while (at->client != name_.client) ++at;
    forget(in_, at);
  }
  // What is too old goes first, and then the oldest until the rest fits.
  while (in_.order.size() > 1) {
    const reply& oldest = in_.replies.find(in_.order.front())->second;
    if (in_.bytes <= options.bytes_max / 16 && r.when - oldest.when <= options.time) break;
    forget(in_, in_.order.begin());
  }
}

}  // namespace nfs
