// SPDX-License-Identifier: MIT
// Each script of tests/tcp/scripts is a test; its name is the script's first line.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "support/test.hh"
#include "support/tree.hh"
#include "tcp/script.hh"
#include "tests/tcp/joined.hh"

namespace heddle::tcp::test {

namespace {

constexpr std::string_view flag_letters = "FSRP.UEC";  // "." is ACK

class pinned_packet final : public packet::home {
 public:
  explicit pinned_packet(std::vector<std::byte> bytes)
      : bytes_(std::move(bytes)), view({bytes_.data(), bytes_.size()}, *this) {}
  void take_back(packet&) noexcept override { delete this; }

 private:
  std::vector<std::byte> bytes_;

 public:
  packet view;
};

instant duration_of(const std::string& w) {
  std::size_t end = 0;
  const double n = std::stod(w, &end);
  const std::string unit = w.substr(end);
  if (unit == "us" || unit == "") return static_cast<instant>(n);
  if (unit == "ms") return static_cast<instant>(n * 1000);
  if (unit == "s") return static_cast<instant>(n * 1'000'000);
  throw "no unit of time: " + unit;
}

}  // namespace

std::uint8_t script_player::flags_of(const std::string& text) {
  unsigned flags = 0;
  for (char c : text) {
    const std::size_t at = flag_letters.find(c);
    if (at == std::string_view::npos && c != '-') throw "no flags: " + text;
    if (c != '-') flags |= 1u << at;
  }
  return static_cast<std::uint8_t>(flags);
}

std::string script_player::show(const sent_segment& s, sequence ours, sequence theirs) {
  std::ostringstream o;
  for (std::size_t i = 0; i < 8; ++i)
    if ((s.s.flags >> i & 1) != 0) o << flag_letters[i];
  o << " seq " << static_cast<std::int32_t>(s.s.seq - ours) << " ack "
    << static_cast<std::int32_t>(s.s.ack - theirs) << " win " << s.s.window << " len " << s.length;
  if (s.s.mss != 0) o << " mss " << s.s.mss;
  if (s.s.window_scale >= 0) o << " scale " << int{s.s.window_scale};
  if (s.s.sack_permitted) o << " sackok";
  if (s.s.sack_count != 0) o << " sack";
  for (std::size_t i = 0; i < s.s.sack_count; ++i)
    o << ' ' << static_cast<std::int32_t>(s.s.sacks[i].begin - theirs) << '-'
      << static_cast<std::int32_t>(s.s.sacks[i].end - theirs);
  return o.str();
}

std::uint32_t script_player::peer_clock() const {
  return 1000 + static_cast<std::uint32_t>((now_ - 10'000'000) / 1000);
}

void script_player::transmit(const outgoing& p) noexcept {
  std::vector<std::byte> whole(p.header.begin(), p.header.end());
  for (const auto& piece : p.payload) whole.insert(whole.end(), piece.begin(), piece.end());
  ip_head ip;
  sent_segment s;
  s.at = now_;
  if (parse_ip(whole, ip) != drop::none || parse_segment(ip, s.s) != drop::none) {
    wrong_byte_ = true;
    return;
  }
  s.length = s.s.payload.size();
  if (s.s.has(flag_syn) && ours_ != s.s.seq) ours_before_ = std::exchange(ours_, s.s.seq);
  if (s.s.has_timestamps) {
    if (!clock_) clock_ = s.s.ts_value;
    last_ts_ = s.s.ts_value;
  }
  for (std::size_t i = 0; i < s.length; ++i)
    if (s.s.payload[i] != stream_byte(1, s.s.seq - *ours_ - 1 + i)) wrong_byte_ = true;
  s.s.payload = {};
  out_.push_back(s);
}

void script_player::received(connection c, std::span<const std::byte> bytes, packet&) noexcept {
  for (std::byte b : bytes)
    if (b != stream_byte(2, received_bytes_++)) wrong_byte_ = true;
  events_.push_back("received " + std::to_string(bytes.size()));
  if (auto_consume_) stack_->consumed(c, static_cast<std::uint32_t>(bytes.size()));
}

void script_player::set(words& w) {
  const std::string name = w.next();
  if (name == "v6") {
    v6_ = true;
    return;
  }
  if (name == "keep") {  // received bytes stay unread
    auto_consume_ = false;
    return;
  }
  const std::string value = w.next();
  const auto n = static_cast<std::uint32_t>(std::atoll(value.c_str()));
  stack_options& o = options_;
  if (name == "mtu")
    o.mtu = n;
  else if (name == "window")
    o.receive_window_bytes = n;
  else if (name == "initial_window")
    o.initial_window_segments = n;
  else if (name == "half_open")
    o.half_open_max = n;
  else if (name == "connections")
    o.connections_max = n;
  else if (name == "time_wait")
    o.time_wait_max = n;
  else if (name == "out_of_order")
    o.out_of_order_max = n;
  else if (name == "challenges")
    o.challenges_max = n;
  else if (name == "challenges_each")
    o.challenges_each = n;
  else if (name == "timeout_min_ms")
    o.timeout_min_us = n * 1000;
  else if (name == "retries")
    o.retries_max = static_cast<std::uint8_t>(n);
  else if (name == "open_retries")
    o.open_retries_max = static_cast<std::uint8_t>(n);
  else if (name == "ack_delay_ms")
    o.ack_delay_us = n * 1000;
  else if (name == "keepalive_idle_s")
    o.keepalive_idle_s = n;
  else if (name == "keepalive_probes")
    o.keepalive_probes = static_cast<std::uint8_t>(n);
  else if (name == "timestamps")
    o.timestamps = value == "on";
  else if (name == "sack")
    o.sack = value == "on";
  else if (name == "scale")
    o.window_scale = value == "on";
  else if (name == "algorithm")
    o.algorithm = value == "reno" ? &reno() : &cubic();
  else
    throw "no setting: " + name;
}

void script_player::start() {
  if (stack_) return;
  options_.key = {42, 43};
  stack_ = std::make_unique<stack>(options_, *this, *this);
  own_ = {*ip_address::parse(v6_ ? "fd00::1" : "10.0.0.1"), 80};
  peer_ = {*ip_address::parse(v6_ ? "fd00::9" : "10.0.0.9"), 5000};
  stack_->add_address(own_.address);
  stack_->listen(80, 8);
}

void script_player::run_to(instant then) {
  while (stack_->next_due() <= then) {
    now_ = std::max(now_, stack_->next_due());
    stack_->advance(now_);
    stack_->flush(now_);
  }
  now_ = std::max(now_, then);
}

void script_player::go_to(instant then) {
  start();
  time_ = then;
  run_to(then);
}

void script_player::expect_nothing() const {
  if (!out_.empty())
    throw "sent and not expected: " + show(out_.front(), ours_.value_or(0), theirs_) + " at +" +
        std::to_string((out_.front().at - time_) / 1000) + "ms";
}

void script_player::inject_segment(const segment& s, std::size_t length, bool bad_sum) {
  std::vector<std::byte> payload(length);
  for (std::size_t i = 0; i < length; ++i)
    payload[i] = stream_byte(2, (s.seq + (s.has(flag_syn) ? 1 : 0) - theirs_ - 1) + i);
  const std::span<const std::byte> piece(payload);
  std::byte header[header_bytes_max];
  const std::size_t n = write_headers(s, {&piece, 1}, header);
  std::vector<std::byte> whole(header, header + n);
  whole.insert(whole.end(), payload.begin(), payload.end());
  if (bad_sum) whole[n - 1] ^= std::byte{1};
  auto* const p = new pinned_packet(std::move(whole));
  stack_->input(p->view, now_);
  p->view.release();
  stack_->flush(now_);
}

void script_player::inject(words& w) {
  if (w.all.back() != "quiet") expect_nothing();
  segment s;
  s.source = peer_;
  s.destination = own_;
  s.flags = flags_of(w.next());
  s.window = static_cast<std::uint16_t>(peer_window_ >> (s.has(flag_syn) ? 0 : scale_));
  s.seq = theirs_;
  std::size_t length = 0;
  bool bad_sum = false;
  bool bare = !timestamps_;
  while (w.more()) {
    const std::string f = w.next();
    if (f == "seq")
      s.seq = theirs_ + static_cast<sequence>(w.number());
    else if (f == "ack")
      s.ack = ours_.value_or(0) + static_cast<sequence>(w.number());
    else if (f == "win")
      s.window = static_cast<std::uint16_t>(w.number());
    else if (f == "len")
      length = static_cast<std::size_t>(w.number());
    else if (f == "mss")
      s.mss = static_cast<std::uint16_t>(w.number());
    else if (f == "scale")
      s.window_scale = static_cast<std::int8_t>(w.number());
    else if (f == "sackok")
      s.sack_permitted = true;
    else if (f == "badsum")
      bad_sum = true;
    else if (f == "bare")
      bare = true;
    else if (f == "quiet")
      out_.clear();
    else if (f == "from")
      s.source.port = static_cast<std::uint16_t>(w.number());
    else if (f == "to")
      s.destination.port = static_cast<std::uint16_t>(w.number());
    else if (f == "ts") {
      s.has_timestamps = true;
      s.ts_value = static_cast<std::uint32_t>(w.number());
      s.ts_echo = clock_.value_or(0) + static_cast<std::uint32_t>(w.number());
    } else if (f == "sack") {
      while (w.more() && s.sack_count < sack_blocks_max) {
        const std::string block = w.next();
        const std::size_t dash = block.find('-', 1);
        s.sacks[s.sack_count++] = {
            *ours_ + static_cast<sequence>(std::stoll(block.substr(0, dash))),
            *ours_ + static_cast<sequence>(std::stoll(block.substr(dash + 1)))};
      }
    } else {
      throw "no field: " + f;
    }
  }
  if (!bare && !s.has_timestamps) {
    s.has_timestamps = true;
    s.ts_value = peer_clock();
    s.ts_echo = last_ts_;
  }
  inject_segment(s, length, bad_sum);
}

void script_player::inject_icmp(words& w) {
  expect_nothing();
  const std::string what = w.next();
  std::uint32_t mtu = 0, bytes = 1500;
  sequence seq = ours_.value_or(0);
  while (w.more()) {
    const std::string f = w.next();
    if (f == "mtu")
      mtu = static_cast<std::uint32_t>(w.number());
    else if (f == "seq")
      seq += static_cast<sequence>(w.number());
    else if (f == "bytes")
      bytes = static_cast<std::uint32_t>(w.number());
    else
      throw "no field: " + f;
  }
  segment quoted;
  quoted.source = own_;
  quoted.destination = peer_;
  if (current_.index != UINT32_MAX)
    if (const auto i = stack_->info(current_)) {
      quoted.source = i->between.local;
      quoted.destination = i->between.remote;
    }
  quoted.seq = seq;
  std::byte inner[header_bytes_max];
  const std::size_t n = write_headers(quoted, {}, inner);
  const std::size_t ip = v6_ ? 40 : 20;
  std::vector<std::byte> p(ip + 8);
  p.insert(p.end(), inner, inner + n);
  std::byte* const icmp = p.data() + ip;
  checksum sum;
  const ip_address router = *ip_address::parse(v6_ ? "fd00::fe" : "10.0.0.254");
  if (v6_) {
    put16(icmp + 8 + 4, bytes - 40);
    icmp[0] = static_cast<std::byte>(what == "too_big" ? 2 : 1);
    icmp[1] = static_cast<std::byte>(what == "port" ? 4 : 0);
    put32(icmp + 4, mtu);
    p[0] = std::byte{0x60};
    put16(p.data() + 4, static_cast<std::uint32_t>(8 + n));
    p[6] = std::byte{protocol_icmp6};
    std::memcpy(p.data() + 8, router.bytes.data(), 16);
    std::memcpy(p.data() + 24, own_.address.bytes.data(), 16);
    sum.add_pseudo(router, own_.address, protocol_icmp6, static_cast<std::uint32_t>(8 + n));
  } else {
    put16(icmp + 8 + 2, bytes);
    icmp[0] = std::byte{3};
    icmp[1] = static_cast<std::byte>(what == "too_big" ? 4 : what == "port" ? 3 : 1);
    put16(icmp + 6, mtu);
    p[0] = std::byte{0x45};
    put16(p.data() + 2, static_cast<std::uint32_t>(p.size()));
    p[9] = std::byte{protocol_icmp};
    std::memcpy(p.data() + 12, router.bytes.data() + 12, 4);
    std::memcpy(p.data() + 16, own_.address.bytes.data() + 12, 4);
    checksum head;
    head.add({p.data(), 20});
    put16(p.data() + 10, head.value());
  }
  sum.add({icmp, p.size() - ip});
  put16(icmp + 2, sum.value());
  auto* const made = new pinned_packet(std::move(p));
  stack_->input(made->view, now_);
  made->view.release();
  stack_->flush(now_);
}

void script_player::expect(words& w) {
  // Deadlines of resting connections are rounded up to 256 us, some after others.
  constexpr instant tolerance = 3000;
  stack_->flush(now_);
  while (out_.empty() && stack_->next_due() <= time_ + tolerance) run_to(stack_->next_due());
  const std::string flags = w.next();
  if (out_.empty()) throw std::string("nothing was sent");
  const sent_segment s = out_.front();
  out_.pop_front();
  const auto fail = [&](const std::string& what) {
    throw what + " is wrong in: " + show(s, ours_.value_or(0), theirs_);
  };
  if (s.at < time_ - tolerance || s.at > time_ + tolerance)
    throw "sent " + std::to_string(s.at - time_) +
        " us later than that: " + show(s, ours_.value_or(0), theirs_);
  if (s.s.flags != flags_of(flags)) fail("flags");
  std::size_t length = 0;
  bool any_sack = true;
  const auto compare = [&](const char* name, long long is, long long wanted) {
    if (is != wanted) fail(name);
  };
  while (w.more()) {
    const std::string f = w.next();
    if (f == "seq")
      compare("seq", static_cast<std::int32_t>(s.s.seq - *ours_), w.number());
    else if (f == "rawseq")
      compare("seq", s.s.seq, w.number());
    else if (f == "beyond") {
      const auto least = static_cast<std::int32_t>(w.number());
      if (!ours_before_ || static_cast<std::int32_t>(s.s.seq - *ours_before_) <= least) fail("seq");
    } else if (f == "ack")
      compare("ack", static_cast<std::int32_t>(s.s.ack - theirs_), w.number());
    else if (f == "rawack")
      compare("ack", s.s.ack, w.number());
    else if (f == "win")
      compare("win", s.s.window, w.number());
    else if (f == "len")
      length = static_cast<std::size_t>(w.number());
    else if (f == "mss")
      compare("mss", s.s.mss, w.number());
    else if (f == "scale")
      compare("scale", s.s.window_scale, w.number());
    else if (f == "sackok")
      compare("sackok", s.s.sack_permitted, 1);
    else if (f == "nosackok")
      compare("sackok", s.s.sack_permitted, 0);
    else if (f == "nots")
      compare("ts", s.s.has_timestamps, 0);
    else if (f == "nosack")
      compare("sack", s.s.sack_count, 0);
    else if (f == "to")
      compare("to", s.s.destination.port, w.number());
    else if (f == "ts") {
      compare("ts", s.s.has_timestamps, 1);
      compare("ts", static_cast<std::int32_t>(s.s.ts_value - *clock_), w.number());
      compare("ts echo", s.s.ts_echo, w.number());
    } else if (f == "sack") {
      std::size_t n = 0;
      for (; w.more(); ++n) {
        const std::string block = w.next();
        const std::size_t dash = block.find('-', 1);
        const sack_block wanted{
            theirs_ + static_cast<sequence>(std::stoll(block.substr(0, dash))),
            theirs_ + static_cast<sequence>(std::stoll(block.substr(dash + 1)))};
        if (n >= s.s.sack_count || s.s.sacks[n] != wanted) fail("sack");
      }
      if (n != s.s.sack_count) fail("sack");
      any_sack = false;
    } else {
      throw "no field: " + f;
    }
  }
  (void)any_sack;
  if (s.length != length) fail("len");
}

void script_player::expect_event(words& w) {
  std::string wanted = w.next();
  while (w.more()) wanted += " " + w.next();
  std::string seen;
  while (!events_.empty()) {
    const std::string e = events_.front();
    events_.pop_front();
    if (e == wanted) return;
    seen += (seen.empty() ? "" : ", ") + e;
  }
  throw "the user was not told: " + wanted + " (but: " + seen + ")";
}

void script_player::handshake(words& w, bool passive) {
  expect_nothing();
  segment s;
  s.source = peer_;
  s.mss = 1000;
  std::uint32_t window = 65535;
  instant round_trip = 0;
  while (w.more()) {
    const std::string f = w.next();
    if (f == "mss")
      s.mss = static_cast<std::uint16_t>(w.number());
    else if (f == "scale")
      s.window_scale = static_cast<std::int8_t>(w.number());
    else if (f == "sack")
      s.sack_permitted = true;
    else if (f == "ts")
      s.has_timestamps = timestamps_ = true;
    else if (f == "win")
      window = static_cast<std::uint32_t>(w.number());
    else if (f == "rtt")
      round_trip = duration_of(w.next());
    else
      throw "no field: " + f;
  }
  if (!passive) {
    own_.port = 40000;
    const auto c = stack_->connect(own_, peer_, now_);
    if (!c) throw std::string("connect failed");
    current_ = *c;
    stack_->flush(now_);
  }
  s.destination = own_;
  s.flags = passive ? flag_syn : flag_syn | flag_ack;
  s.seq = theirs_;
  s.window = static_cast<std::uint16_t>(std::min(window, 65535u));
  if (!passive) {
    s.ack = *ours_ + 1;
    out_.clear();
    go_to(time_ + round_trip);
  }
  s.ts_value = peer_clock();
  s.ts_echo = passive ? 0 : last_ts_;
  inject_segment(s, 0, false);
  out_.clear();
  if (s.window_scale >= 0) scale_ = static_cast<std::uint8_t>(s.window_scale);
  peer_window_ = window;
  if (passive) {
    go_to(time_ + round_trip);
    segment a;
    a.source = peer_;
    a.destination = own_;
    a.flags = flag_ack;
    a.seq = theirs_ + 1;
    a.ack = *ours_ + 1;
    a.window = static_cast<std::uint16_t>(window >> scale_);
    a.has_timestamps = timestamps_;
    a.ts_value = peer_clock();
    a.ts_echo = last_ts_;
    inject_segment(a, 0, false);
    stack_->take_accepted(current_);
  }
  expect_nothing();
}

void script_player::check(words& w) {
  const std::string what = w.next();
  const auto same = [&](long long is, long long wanted) {
    if (is != wanted) throw what + " is " + std::to_string(is);
  };
  const stack_counters& n = stack_->counters();
  if (what == "drop") {
    const std::string name = w.next();
    for (std::size_t i = 0; i < drop_count; ++i)
      if (name_of(static_cast<drop>(i)) == name)
        return same(static_cast<long long>(n.drops[i]), w.number());
    throw "no reason: " + name;
  }
  if (what == "connections")
    return same(static_cast<long long>(stack_->connection_count()), w.number());
  if (what == "time_waits")
    return same(static_cast<long long>(stack_->time_wait_count()), w.number());
  if (what == "busy") return same(static_cast<long long>(stack_->busy_count()), w.number());
  if (what == "released") return same(static_cast<long long>(released_), w.number());
  if (what == "timeouts") return same(static_cast<long long>(n.timeouts), w.number());
  if (what == "recoveries") return same(static_cast<long long>(n.fast_recoveries), w.number());
  if (what == "undone") return same(static_cast<long long>(n.undone), w.number());
  if (what == "challenges") return same(static_cast<long long>(n.challenges_sent), w.number());
  if (what == "withheld") return same(static_cast<long long>(n.challenges_withheld), w.number());
  if (what == "cookies") return same(static_cast<long long>(n.cookies_sent), w.number());
  if (what == "probes") return same(static_cast<long long>(n.tail_probes), w.number());
  if (what == "retransmitted")
    return same(static_cast<long long>(n.segments_retransmitted), w.number());
  const auto i = stack_->info(current_);
  if (what == "state") {
    const std::string wanted = w.next();
    const std::string is = i ? std::string(name_of(i->now)) : "closed";
    if (is != wanted) throw "the state is " + is;
    return;
  }
  if (!i) throw std::string("the connection is gone");
  if (what == "cwnd") return same(i->window_bytes, w.number());
  if (what == "threshold") return same(i->threshold_bytes, w.number());
  if (what == "mss") return same(i->mss, w.number());
  if (what == "rto_ms") return same(i->timeout_us / 1000, w.number());
  if (what == "srtt_ms") return same((i->round_trip_us + 500) / 1000, w.number());
  if (what == "in_flight") return same(i->in_flight_bytes, w.number());
  if (what == "unread") return same(i->unread_bytes, w.number());
  if (what == "held") return same(i->out_of_order_bytes, w.number());
  if (what == "peer_window") return same(i->peer_window_bytes, w.number());
  throw "nothing to check is called " + what;
}

void script_player::call(const std::string& what, words& w) {
  expect_nothing();
  if (what == "connect") {
    own_.port = 40000;
    const auto c = stack_->connect(own_, peer_, now_);
    if (!c) throw std::string("connect failed");
    current_ = *c;
  } else if (what == "write" || what == "refused_write") {
    const auto n = static_cast<std::size_t>(w.number());
    std::vector<std::byte>& bytes = written_.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = stream_byte(1, written_bytes_ + i);
    const bool taken = stack_->write(current_, {bytes, this, 0});
    if (taken != (what == "write")) throw std::string(taken ? "it was taken" : "it was refused");
    if (taken) written_bytes_ += n;
  } else if (what == "consume") {
    stack_->consumed(current_, static_cast<std::uint32_t>(w.number()));
  } else if (what == "finish") {
    stack_->finish(current_);
  } else if (what == "close") {
    stack_->close(current_);
  } else if (what == "abort") {
    stack_->abort(current_);
  } else if (what == "nagle") {
    stack_->set_nagle(current_, w.next() == "on");
  } else if (what == "keepalive") {
    stack_->set_keepalive(current_, w.next() == "on", now_);
  } else if (what == "unlisten") {
    stack_->unlisten(80);
  } else if (what == "take") {
    stack_->take_accepted(current_);
  } else {
    throw "no such line: " + what;
  }
  stack_->flush(now_);
}

void script_player::line(const std::string& text) {
  words w;
  std::istringstream in(text.substr(0, text.find('#')));
  for (std::string word; in >> word;) w.all.push_back(word);
  if (!w.more()) return;
  std::string what = w.next();
  if (what == "set") return set(w);
  if (what[0] == '+') {
    go_to(time_ + duration_of(what.substr(1)));
    if (!w.more()) return;
    what = w.next();
  }
  start();
  if (what == "<")
    inject(w);
  else if (what == ">")
    expect(w);
  else if (what == "*")
    expect_event(w);
  else if (what == "?")
    check(w);
  else if (what == "icmp")
    inject_icmp(w);
  else if (what == "passive")
    handshake(w, true);
  else if (what == "active")
    handshake(w, false);
  else if (what == "none")
    expect_nothing();
  else
    call(what, w);
  if (wrong_byte_) throw std::string("a byte of the stream is wrong");
  if (w.more()) throw "too many words: " + w.next();
}

std::string script_player::play(std::string_view text) {
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string each; std::getline(in, each);) {
    ++number;
    try {
      line(each);
      if (in.peek() == EOF && stack_) expect_nothing();
    } catch (const std::string& wrong) {
      return "line " + std::to_string(number) + " (" + each + "): " + wrong;
    }
  }
  return "";
}

namespace {

class tcp_script_test : public ::testing::Test {
 public:
  explicit tcp_script_test(std::filesystem::path file) : file_(std::move(file)) {}
  void TestBody() override {
    std::ifstream in(file_);
    std::stringstream text;
    text << in.rdbuf();
    script_player player;
    EXPECT_EQ(player.play(text.str()), "") << file_.filename();
  }

 private:
  std::filesystem::path file_;
};

const bool tcp_scripts_registered = [] {
  std::vector<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(
           std::filesystem::path(::heddle::test::source_dir()) / "tests/tcp/scripts"))
    if (each.path().extension() == ".tcp") files.push_back(each.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string first;
    std::getline(in, first);
    static std::deque<std::string> names;
    names.push_back(first.substr(std::min<std::size_t>(2, first.size())));
    ::testing::RegisterTest("tcp_script", names.back().c_str(), nullptr, nullptr, file.c_str(), 1,
                            [file]() -> ::testing::Test* { return new tcp_script_test(file); });
  }
  return !files.empty();
}();

}  // namespace

}  // namespace heddle::tcp::test

HEDDLE_TEST(tcp_script, "there are scripts") {
  EXPECT_TRUE(heddle::tcp::test::tcp_scripts_registered);
}
