// SPDX-License-Identifier: MIT
// The operations of a stack, and the way of a packet to its connection.
#include "heddle/tcp/stack.hh"

#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

/// The connection, if the name is alive.
pcb* find_pcb(core& k, connection c) noexcept {
  if (!k.pcbs.made(c.index)) return nullptr;
  pcb& p = k.pcbs[c.index];
  return p.generation == c.generation && p.now != state::closed ? &p : nullptr;
}

void on_tcp(core& k, const ip_head& ip, packet& p) {
  segment s;
  const drop bad = parse_segment(ip, s, p.sums_verified);
  if (bad != drop::none) {
    dropped(k, bad);
    return;
  }
  if (k.filter != nullptr) {
    const verdict v = k.filter(k.filter_context, s, k.now);
    if (v != verdict::pass) {
      dropped(k, drop::filtered);
      if (v == verdict::reset) answer_with_reset(k, s);
      return;
    }
  }
  const flow f = s.at_receiver();
  const std::uint64_t hash = k.table.hash(f);
  const int local = local_number(k, f.local.address);
  const std::uint32_t index = k.table.find(k.pcbs, hash, static_cast<std::uint8_t>(local), f);
  if (index != no_index) {
    on_connection(k, conn(k, index), s, p);
  } else if (time_wait_record* r = k.waits.find(hash); r != nullptr) {
    on_time_wait(k, *r, s, hash);
  } else {
    on_listener(k, s, p);
  }
}

/// A free port in the range for clients, at a place that an outsider cannot guess (RFC 6056).
std::uint16_t choose_port(core& k, std::uint8_t local, flow f) {
  constexpr std::uint32_t first = 32768, count = 61000 - first;
  const siphash_key key{k.opt.key[0] ^ 5, k.opt.key[1]};
  f.local.port = 0;
  const std::uint64_t hashed = hash_flow<2, 4>(key, f);
  const auto offset = static_cast<std::uint32_t>(hashed >> 32);
  std::uint32_t& next = k.port_next[hashed % k.port_next.size()];
  for (std::uint32_t tries = 0; tries < count; ++tries) {
    f.local.port = static_cast<std::uint16_t>(first + (offset + next++) % count);
    const std::uint64_t hash = k.table.hash(f);
    if (k.table.find(k.pcbs, hash, local, f) == no_index && k.waits.find(hash) == nullptr &&
        !k.listeners.contains(f.local.port))
      return f.local.port;
  }
  return 0;
}

std::uint32_t queue_limit(const core& k, const pcb& c) noexcept {
  constexpr std::uint32_t first = 1024 * 1024;
  const std::uint32_t two_windows = c.cwnd < UINT32_MAX / 2 ? 2 * c.cwnd : UINT32_MAX;
  return std::min(k.opt.send_queue_bytes, std::max(first, two_windows));
}

}  // namespace

stack::stack(const stack_options& options, network& out, user& events)
    : core_(std::make_unique<core>(options, out, events)) {
  HEDDLE_ASSERT(options.mtu >= 576 && options.mtu <= 65535, "give an mtu of 576 to 65535");
  HEDDLE_ASSERT(options.receive_window_bytes >= 1 &&
                    options.receive_window_bytes <= std::uint32_t{65535} << 14,
                "give a receive window of 1 byte to 1 GB");
  HEDDLE_ASSERT(options.challenges_max <= 1'000'000, "allow at most 1,000,000 challenges a second");
  HEDDLE_ASSERT(options.memory_bytes >= 65536, "give a stack 64 KB of memory or more");
  HEDDLE_ASSERT(options.retries_max <= 100 && options.keepalive_probes <= 100,
                "give at most 100 retries and probes");
}

stack::~stack() {
  core& k = *core_;
  // Gives pieces and packets back to their homes; users are not called.
  for (std::uint32_t i = 0; k.pcbs.made(i); ++i) {
    pcb& c = k.pcbs[i];
    if (c.now == state::closed || c.traffic == no_index) continue;
    traffic& t = k.traffics[c.traffic];
    forget_held(k, t);
    for (std::size_t n = 0; n < t.pieces.size(); ++n)
      if (t.pieces[n].home != nullptr) t.pieces[n].home->released(t.pieces[n].token);
  }
  if (k.opt.process_memory != nullptr) k.opt.process_memory->give_back(k.process_share);
}

void stack::add_address(const ip_address& a) {
  HEDDLE_ASSERT(core_->addresses.size() < 256, "a stack has at most 256 addresses");
  if (local_number(*core_, a) < 0) core_->addresses.push_back(a);
}

bool stack::listen(std::uint16_t port, std::uint32_t backlog) {
  return port != 0 && core_->listeners.try_emplace(port, listener{backlog, 0}).second;
}

void stack::unlisten(std::uint16_t port) { core_->listeners.erase(port); }

void stack::take_accepted(connection name) noexcept {
  pcb* const c = find_pcb(*core_, name);
  if (c == nullptr || !c->has(pcb_accepted)) return;
  c->clear(pcb_accepted);
  const auto at = core_->listeners.find(c->local_port);
  if (at != core_->listeners.end() && at->second.waiting > 0) --at->second.waiting;
}

result<connection> stack::connect(const endpoint& local, const endpoint& remote, instant now) {
  core& k = *core_;
  k.now = std::max(k.now, now);
  flow f{local, remote};
  const int number = local_number(k, local.address);
  const auto fail = [](std::errc code) { return std::unexpected(std::make_error_code(code)); };
  if (number < 0) return fail(std::errc::address_not_available);
  if (remote.port == 0 || !remote.address.is_unicast() || remote.address.is_loopback() ||
      remote.address.is_v4() != local.address.is_v4())
    return fail(std::errc::invalid_argument);
  const auto at = static_cast<std::uint8_t>(number);
  if (f.local.port == 0) f.local.port = choose_port(k, at, f);
  if (f.local.port == 0) return fail(std::errc::address_not_available);
  const std::uint64_t hash = k.table.hash(f);
  if (k.table.find(k.pcbs, hash, at, f) != no_index || k.waits.find(hash) != nullptr)
    return fail(std::errc::address_in_use);
  if (!fits(k, connection_bytes(k), memory_for::opening, refusal::connect))
    return fail(std::errc::not_enough_memory);
  const std::uint32_t index = new_pcb(k, at, f);
  if (index == no_index) return fail(std::errc::not_enough_memory);
  conn x(k, index);
  pcb& c = x.c;
  c.set(pcb_active | pcb_syn_due);
  c.snd_una = c.snd_nxt = initial_sequence(k, f);
  ++c.snd_nxt;
  c.mss = static_cast<std::uint16_t>(mss_of(k, remote.address.is_v4()));
  c.rcv_edge = c.rcv_nxt + first_window(k);
  move(c, state::syn_sent);
  set_idle_timer(k, x, k.now + k.opt.timeout_initial_us);
  mark_dirty(k, x);
  return x.name();
}

bool stack::write(connection name, const send_piece& piece) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr || c->has(pcb_finish) || piece.bytes.empty()) return false;
  const std::uint32_t queued =
      c->traffic == no_index ? 0 : k.traffics[c->traffic].data_end - c->snd_una;
  const std::uint32_t limit = queue_limit(k, *c);
  if (piece.bytes.size() > limit || queued > limit - piece.bytes.size()) return false;
  const std::size_t kept = piece.bytes.size() + piece_bytes;
  const std::size_t block = c->traffic == no_index ? sizeof(traffic) : 0;
  const bool much = queued + piece.bytes.size() > small_queue_bytes;
  const memory_for what = much ? memory_for::sending_much : memory_for::sending;
  if (!fits(k, kept + block, what, refusal::write)) return false;
  charge(k, kept);
  traffic& t = busy(k, *c);
  if (t.pieces.empty()) t.moved_at = k.now;
  t.pieces.push_back({t.data_end, static_cast<std::uint32_t>(piece.bytes.size()),
                      piece.bytes.data(), piece.home, piece.token});
  t.data_end += static_cast<std::uint32_t>(piece.bytes.size());
  mark_dirty(k, conn(k, name.index));
  return true;
}

std::size_t stack::room(connection name) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr || c->has(pcb_finish)) return 0;
  const std::uint32_t queued =
      c->traffic == no_index ? 0 : k.traffics[c->traffic].data_end - c->snd_una;
  const std::uint32_t limit = queue_limit(k, *c);
  if (queued >= limit) return 0;
  const std::size_t own = limit - queued;
  const std::size_t left = memory_left(k, memory_for::sending_much);
  // A piece takes at most half of the memory that is left, so that no connection takes all.
  const std::size_t extra = piece_bytes + sizeof(traffic);
  if (left >= 2 * (own + extra)) return own;
  if (left >= write_bytes_min + extra)
    return std::min(own, std::max(left / 2 - extra, write_bytes_min));
  // With less memory left, only short answers are accepted.
  const memory_for what =
      queued + write_bytes_min > small_queue_bytes ? memory_for::sending_much : memory_for::sending;
  if (!fits(k, write_bytes_min + extra, what, refusal::write)) return 0;
  return std::min(own, write_bytes_min);
}

std::uint32_t stack::send_queue_limit(connection name) const noexcept {
  const pcb* const c = find_pcb(*core_, name);
  return c == nullptr ? 0 : queue_limit(*core_, *c);
}

void stack::consumed(connection name, std::uint32_t bytes) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr) return;
  HEDDLE_ASSERT(bytes <= c->unread, "consume no more than was received");
  set_unread(k, *c, c->unread - bytes);
  if (!c->receiving()) return;
  // A step that is worth an ACK of its own.
  const std::uint32_t step = std::min<std::uint32_t>(k.opt.receive_window_bytes / 2, 2u * c->mss);
  if (edge_to_offer(k, *c) - c->rcv_edge >= step && c->rcv_edge != edge_to_offer(k, *c)) {
    c->set(pcb_ack_now);
    mark_dirty(k, conn(k, name.index));
  }
}

void stack::finish(connection name) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr || c->has(pcb_finish)) return;
  c->set(pcb_finish);
  if (c->now == state::established) move(*c, state::fin_wait_1);
  if (c->now == state::close_wait) move(*c, state::last_ack);
  mark_dirty(k, conn(k, name.index));
}

void stack::close(connection name) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr) return;
  conn x(k, name.index);
  if (c->now == state::syn_sent) {  // nothing to finish
    end(k, x, ending::aborted);
    return;
  }
  c->set(pcb_read_shut);
  set_unread(k, *c, 0);
  if (c->now == state::fin_wait_2) set_idle_timer(k, x, k.now + k.opt.fin_wait_us);
  finish(name);
}

void stack::abort(connection name) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr) return;
  send_reset(k, *c);
  end(k, conn(k, name.index), ending::aborted);
}

void stack::set_nagle(connection name, bool on) {
  pcb* const c = find_pcb(*core_, name);
  if (c == nullptr) return;
  if (on) {
    c->clear(pcb_nagle_off);
  } else {
    c->set(pcb_nagle_off);
    mark_dirty(*core_, conn(*core_, name.index));
  }
}

void stack::set_keepalive(connection name, bool on, instant now) {
  core& k = *core_;
  pcb* const c = find_pcb(k, name);
  if (c == nullptr) return;
  k.now = std::max(k.now, now);
  if (!on) {
    c->clear(pcb_keepalive);
    if (c->synchronized() && !(c->now == state::fin_wait_2 && c->has(pcb_read_shut)))
      c->clear(pcb_idle_timer);
    return;
  }
  c->set(pcb_keepalive);
  if (c->synchronized()) restart_keepalive(k, conn(k, name.index));
}

void stack::set_user(connection name, std::uint64_t value) {
  if (pcb* const c = find_pcb(*core_, name); c != nullptr) c->user = value;
}

std::uint64_t stack::get_user(connection name) const {
  const pcb* const c = find_pcb(*core_, name);
  return c == nullptr ? 0 : c->user;
}

bool stack::alive(connection name) const noexcept { return find_pcb(*core_, name) != nullptr; }

std::optional<connection_info> stack::info(connection name) const {
  core& k = *core_;
  const pcb* const c = find_pcb(k, name);
  if (c == nullptr) return std::nullopt;
  connection_info i;
  i.between = flow_of(k, *c);
  i.now = c->now;
  i.mss = full_segment(k, *c);
  i.window_bytes = c->cwnd;
  i.threshold_bytes = c->ssthresh;
  i.peer_window_bytes = c->snd_wnd;
  i.unread_bytes = c->unread;
  i.round_trip_us = c->srtt_us;
  i.round_trip_variance_us = c->rttvar_us;
  i.timeout_us = timeout_us(k, *c);
  i.timestamps = c->has(pcb_timestamps);
  i.sack = c->has(pcb_sack);
  i.retries = c->retries;
  i.user = c->user;
  if (c->traffic != no_index) {
    const traffic& t = k.traffics[c->traffic];
    i.in_flight_bytes = in_flight(*c, t);
    i.queued_bytes = t.data_end - earlier(c->snd_una, t.data_end);
    i.out_of_order_bytes = t.held_bytes;
    i.recovering = t.mode != recovery::open;
  }
  return i;
}

void stack::set_filter(filter f, void* context) noexcept {
  core_->filter = f;
  core_->filter_context = context;
}

void stack::set_watcher(watcher w, void* context) noexcept {
  core_->watcher = w;
  core_->watcher_context = context;
}

void stack::input(packet& p, instant now) {
  core& k = *core_;
  k.now = std::max(k.now, now);
  ++k.count.packets_in;
  ip_head ip;
  drop bad = parse_ip(p.bytes(), ip, p.sums_verified);
  if (bad == drop::none &&
      (!ip.source.is_unicast() || ip.source.is_loopback() || local_number(k, ip.destination) < 0))
    bad = drop::address;
  if (bad != drop::none) {
    dropped(k, bad);
    return;
  }
  if (ip.protocol == protocol_tcp) {
    on_tcp(k, ip, p);
  } else if (ip.protocol == protocol_icmp || ip.protocol == protocol_icmp6) {
    on_icmp(k, ip, p.sums_verified);
  } else {
    dropped(k, drop::ip_protocol);
  }
}

void stack::advance(instant now) {
  core& k = *core_;
  k.now = std::max(k.now, now);
  run_timers(k);
  end_stalled(k);
  ease(k);
}

void stack::flush(instant now) {
  core& k = *core_;
  k.now = std::max(k.now, now);
  ease(k);
  // By number: a flush may make connections dirty, at most once each while the list is read.
  for (std::size_t i = 0; i < k.dirty.size(); ++i) {
    conn x(k, k.dirty[i]);
    if (!x.c.has(pcb_dirty)) continue;
    x.c.clear(pcb_dirty);
    flush_connection(k, x);
    if (k.watcher != nullptr && !x.gone() && x.c.traffic != no_index)
      k.watcher(k.watcher_context, *info(x.name()), k.now);
  }
  k.dirty.clear();
  settle_memory(k);
}

instant stack::next_due() const noexcept {
  const core& k = *core_;
  return std::min({k.timers.next(), k.waits.next(k.now), k.ease_due});
}

const stack_counters& stack::counters() const noexcept { return core_->count; }
memory_state stack::memory() const noexcept {
  const core& k = *core_;
  memory_state m{memory_used(k), k.opt.memory_bytes, 0, 0, k.ease_due != never_due};
  if (const memory_budget* const b = k.opt.process_memory.get(); b != nullptr) {
    m.process_used = b->used();
    m.process_limit = b->limit();
  }
  return m;
}
std::size_t stack::connection_count() const noexcept { return core_->pcbs.used(); }
std::size_t stack::time_wait_count() const noexcept { return core_->waits.size(); }
std::size_t stack::busy_count() const noexcept { return core_->traffics.used(); }
std::size_t stack::idle_connection_bytes() noexcept { return idle_bytes; }

}  // namespace heddle::tcp
