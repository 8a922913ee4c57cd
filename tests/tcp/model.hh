// SPDX-License-Identifier: MIT
// A peer made of bytes: it reads a script of random choices, sends segments near the edges of what
// is right, and checks what the stack must never do. Used by a test with seeds and by a fuzzer.
//
// Invariants: the user gets a prefix of the peer's stream, each byte once; the stack sends only
// written bytes, never beyond the window that was offered; its ACK never goes back and never covers
// what it did not get; what it offered it does not take back; pieces and packets all come home;
// data in flight has a timer; memory is bounded.
#pragma once

#include <cstdlib>
#include <set>
#include <vector>

#include "heddle/tcp/stack.hh"
#include "tests/tcp/joined.hh"

namespace heddle::tcp::test {

class model final : public network, public user, public piece_home, public packet::home {
 public:
  /// No more choices are looked at than the stream of `given_` has room for.
  model(const std::uint8_t* data, std::size_t size)
      : at_(data), left_(std::min<std::size_t>(size, 4000)) {
    stack_options o = options_of(7);
    const unsigned kind = byte();
    o.sack = (kind & 1) != 0;
    o.timestamps = (kind & 2) != 0;
    o.window_scale = (kind & 4) != 0;
    o.half_open_max = (kind & 8) != 0 ? 0 : 4;
    o.algorithm = (kind & 16) != 0 ? &reno() : &cubic();
    consumes_ = (kind & 32) != 0;
    passive_ = (kind & 64) != 0;
    const unsigned size_of_window = byte();
    window_ = size_of_window < 16 ? size_of_window + 1 : 2048 + size_of_window * 1024;
    o.receive_window_bytes = window_;
    o.send_queue_bytes = 100'000;
    o.out_of_order_max = 32;
    o.mtu = 576 + byte() * 8;
    o.retries_max = 4;
    stack_.emplace(o, *this, *this);
    stack_->add_address(own_.address);
    stack_->listen(80);
  }

  void run() {
    open();
    while (left_ > 0) {
      step();
      verify();
    }
    // The rest of time: everything must end.
    for (int i = 0; i < 100'000 && stack_->next_due() != never_due; ++i) {
      now_ = std::max(now_, stack_->next_due());
      stack_->advance(now_);
      stack_->flush(now_);
      if (i == 2000 && stack_->alive(c_)) stack_->abort(c_);
    }
    if (stack_->alive(c_)) stack_->abort(c_);
    stack_->flush(now_);
    stack_.reset();
    demand(pieces_.empty(), "a piece did not come home");
    demand(packets_out_ == 0, "a packet did not come home");
  }
  [[nodiscard]] std::uint64_t received_bytes() const { return received_; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return highest_ - iss_ - 1; }

 private:
  static void demand(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "model: %s\n", what);
    std::abort();
  }
  unsigned byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  unsigned number() {
    const unsigned high = byte();
    return high << 8 | byte();
  }

  void open() {
    if (!passive_) {
      own_.port = 40000;
      c_ = *stack_->connect(own_, peer_, now_);
      stack_->flush(now_);
    }
    segment s = base();
    s.flags = passive_ ? flag_syn : flag_syn | flag_ack;
    s.seq = irs_;
    s.mss = static_cast<std::uint16_t>(100 + byte() * 8);
    s.sack_permitted = true;
    s.window_scale = 2;
    s.has_timestamps = true;
    s.ts_value = clock();
    s.ts_echo = echo_;
    s.ack = iss_ + 1;
    s.window = 65535;
    inject(s, 0);
    syn_seen_ = syn_;
    if (passive_) {
      segment a = base();
      a.flags = flag_ack;
      a.seq = irs_ + 1;
      a.ack = iss_ + 1;
      a.window = 20'000;
      stamp(a);
      inject(a, 0);
    }
  }
  segment base() const {
    segment s;
    s.source = peer_;
    s.destination = own_;
    return s;
  }
  [[nodiscard]] std::uint32_t clock() const {
    return static_cast<std::uint32_t>(now_ / 1000) + 5000;
  }
  void stamp(segment& s) {
    s.has_timestamps = syn_.has_timestamps;
    s.ts_value = clock();
    s.ts_echo = echo_;
  }
  [[nodiscard]] unsigned shift() const { return syn_.window_scale >= 0 ? 2 : 0; }

  /// A number near what is right, mostly right.
  sequence near(sequence right, sequence other) {
    const unsigned kind = byte();
    if (kind < 128) return right;
    if (kind < 160) return other;
    if (kind < 224) return right + number() - 0x2000;
    return right + (kind & 7) - 4;
  }

  void step() {
    switch (byte() % 16) {
      case 0:
      case 1:
      case 2:
      case 3: {  // data and ACKs
        segment s = base();
        s.flags = flag_ack;
        const std::size_t length = byte() < 64 ? 0 : number() % 1500;
        s.seq = near(contiguous_, ack_seen_);
        s.ack = near(highest_, una_);
        s.window = static_cast<std::uint16_t>(number() >> 4);
        stamp(s);
        inject(s, length);
        break;
      }
      case 4: {  // an ACK with blocks
        segment s = base();
        s.flags = flag_ack;
        s.seq = contiguous_;
        s.ack = una_;
        s.window = 8000;
        stamp(s);
        s.sack_count = static_cast<std::uint8_t>(1 + byte() % 3);
        for (std::size_t i = 0; i < s.sack_count; ++i) {
          const sequence b = una_ + number() % 5000;
          s.sacks[i] = {b, b + number() % 3000};
        }
        inject(s, 0);
        break;
      }
      case 5: {  // any flags
        segment s = base();
        s.flags = static_cast<std::uint8_t>(byte());
        // Our model takes the peer's FIN from case 6 only.
        s.flags = static_cast<std::uint8_t>(s.flags & ~flag_fin);
        s.seq = near(contiguous_, ack_seen_);
        s.ack = near(highest_, una_);
        s.window = static_cast<std::uint16_t>(number());
        if (s.has(flag_rst) && byte() < 200)
          s.flags = static_cast<std::uint8_t>(s.flags & ~flag_rst);
        if (s.has(flag_syn)) s.flags = static_cast<std::uint8_t>(s.flags & ~flag_rst);
        if (!s.has(flag_syn)) stamp(s);
        inject(s, s.has(flag_syn) ? 0 : byte());
        break;
      }
      case 6: {  // FIN at the end of all that was sent
        if (byte() > 40) break;
        segment s = base();
        s.flags = flag_ack | flag_fin;
        if (!fin_sent_) {
          fin_sent_ = true;
          fin_at_ = furthest_;
        }
        s.seq = fin_at_;
        s.ack = una_;
        s.window = 4000;
        stamp(s);
        inject(s, 0);
        break;
      }
      case 7:
      case 8:
        write(1 + number() % 6000);
        break;
      case 9:
        if (unread_ != 0 && stack_->alive(c_)) {
          const std::uint32_t n = std::min<std::uint32_t>(unread_, number());
          unread_ -= n;
          stack_->consumed(c_, n);
        }
        break;
      case 10:
      case 11:
        pass(number() * 16);
        break;
      case 12:
        pass(instant{number()} * 1000);
        break;
      case 13: {
        const unsigned what = byte();
        if (what < 20) stack_->finish(c_);
        if (what == 20) close();
        if (what == 21) stack_->abort(c_);
        if (what == 22) stack_->set_keepalive(c_, true, now_);
        if (what > 200) stack_->set_nagle(c_, (what & 1) != 0);
        break;
      }
      case 14: {  // the right ACK of everything
        segment s = base();
        s.flags = flag_ack;
        s.seq = contiguous_;
        s.ack = una_ = highest_;
        s.window = 16'000;
        stamp(s);
        inject(s, 0);
        break;
      }
      default:
        stack_->flush(now_);
    }
    stack_->flush(now_);
  }
  void close() {
    stack_->close(c_);
    closed_ = true;
    unread_ = 0;
  }
  void pass(instant time) {
    const instant until = now_ + time;
    while (stack_->next_due() <= until) {
      now_ = std::max(now_, stack_->next_due());
      stack_->advance(now_);
      stack_->flush(now_);
    }
    now_ = until;
  }
  void write(std::size_t n) {
    auto* const bytes = new std::vector<std::byte>(n);
    for (std::size_t i = 0; i < n; ++i) (*bytes)[i] = stream_byte(1, written_ + i);
    const auto token = reinterpret_cast<std::uint64_t>(bytes);
    pieces_.insert(token);
    if (stack_->write(c_, {*bytes, this, token})) {
      written_ += n;
    } else {
      pieces_.erase(token);
      delete bytes;
    }
  }

  struct lent {
    std::vector<std::byte> bytes;
    packet view;
  };
  void inject(const segment& s, std::size_t length) {
    // Bytes beyond our FIN would be another stream.
    if (fin_sent_ && before(fin_at_, s.seq + static_cast<sequence>(length)))
      length = before(s.seq, fin_at_) ? fin_at_ - s.seq : 0;
    std::vector<std::byte> text(length);
    for (std::size_t i = 0; i < length; ++i)
      text[i] = stream_byte(2, sequence(s.seq - irs_ - 1 + i));
    const std::span<const std::byte> piece(text);
    std::byte header[header_bytes_max];
    const std::size_t n = write_headers(s, {&piece, 1}, header);
    auto* const p = new lent;
    p->bytes.assign(header, header + n);
    p->bytes.insert(p->bytes.end(), text.begin(), text.end());
    p->view = packet(p->bytes, *this);
    lent_.insert({&p->view, p});
    ++packets_out_;
    if (s.has(flag_ack) && at_most(s.ack, highest_)) {
      const sequence edge = s.ack + (std::uint32_t{s.window} << (s.has(flag_syn) ? 0 : shift()));
      if (before(edge_, edge)) edge_ = edge;
    }
    note_sent(s.seq, length);
    stack_->input(p->view, now_);
    p->view.release();
    stack_->flush(now_);
  }
  /// Which bytes of the stream were injected, and how far without a gap.
  void note_sent(sequence begin, std::size_t length) {
    if (length == 0) return;
    for (std::size_t i = 0; i < length; ++i) {
      const std::uint32_t at = begin - irs_ - 1 + static_cast<std::uint32_t>(i);
      if (at < given_.size()) given_[at] = true;  // else before the stream, or far beyond
    }
    while (contiguous_ - irs_ - 1 < given_.size() && given_[contiguous_ - irs_ - 1]) ++contiguous_;
    const sequence end = begin + static_cast<sequence>(length);
    if (before(furthest_, end)) furthest_ = end;
    if (before(furthest_, contiguous_)) furthest_ = contiguous_;
  }

  void verify() {
    const auto i = stack_->info(c_);
    if (!i) return;
    demand(i->out_of_order_bytes <= window_, "more is held than the window allows");
    demand(i->unread_bytes <= window_ + 65535, "more is unread than the window allows");
    demand(i->queued_bytes <= 100'001, "more is queued than the bound allows");
    if (i->in_flight_bytes != 0)
      demand(stack_->next_due() != never_due, "data is in flight without a timer");
  }

  void transmit(const outgoing& p) noexcept override {
    std::vector<std::byte> whole(p.header.begin(), p.header.end());
    for (const auto& piece : p.payload) whole.insert(whole.end(), piece.begin(), piece.end());
    ip_head ip;
    segment s;
    demand(parse_ip(whole, ip) == drop::none && parse_segment(ip, s) == drop::none,
           "a malformed packet was sent");
    if (s.has(flag_rst)) return;
    if (s.has_timestamps) echo_ = s.ts_value;
    if (s.has(flag_syn)) {
      if (!open_) {
        iss_ = s.seq;
        highest_ = una_ = s.seq + 1;
        edge_ = highest_;
        syn_ = s;
      }
      return;
    }
    if (!open_ || over_) return;  // a SYN may open another connection, which is not looked at
    const std::uint32_t offset = s.seq - iss_ - 1;
    for (std::size_t i = 0; i < s.payload.size(); ++i) {
      demand(offset + i < written_, "bytes were sent that were not written");
      demand(s.payload[i] == stream_byte(1, offset + i), "a wrong byte was sent");
    }
    const sequence end = s.seq + static_cast<sequence>(s.payload.size());
    if (!s.payload.empty()) {
      demand(at_most(end, edge_), "data was sent beyond the window");
      demand(whole.size() <= 576 + 255 * 8, "a packet is larger than the MTU");
    }
    if (before(highest_, s.end())) highest_ = s.end();
    demand(at_most(ack_seen_, s.ack), "an ACK went back");
    demand(at_most(s.ack, contiguous_ + (fin_sent_ ? 1 : 0)), "an ACK covers what was not sent");
    ack_seen_ = s.ack;
    const sequence offered = s.ack + (std::uint32_t{s.window} << own_shift());
    demand(at_most(offered_ - (1u << own_shift()), offered), "the window was taken back");
    if (before(offered_, offered)) offered_ = offered;
  }
  [[nodiscard]] unsigned own_shift() const {
    return syn_.window_scale >= 0 ? static_cast<unsigned>(syn_.window_scale) : 0;
  }
  void begin(connection c) {
    c_ = c;
    open_ = true;
  }
  void accepted(connection c, std::uint16_t) noexcept override {
    stack_->take_accepted(c);
    // A second connection after the first one ended is not looked at.
    if (open_) {
      stack_->abort(c);
    } else {
      begin(c);
    }
  }
  void connected(connection c) noexcept override { begin(c); }
  void received(connection c, std::span<const std::byte> bytes, packet& from) noexcept override {
    if (c != c_) return;
    demand(!finished_, "bytes came after the end");
    for (std::byte b : bytes) demand(b == stream_byte(2, received_++), "a wrong byte was received");
    from.retain();
    from.release();
    if (consumes_) {
      stack_->consumed(c, static_cast<std::uint32_t>(bytes.size()));
    } else {
      unread_ += static_cast<std::uint32_t>(bytes.size());
    }
  }
  void acknowledged(connection, std::uint32_t n) noexcept override {
    acked_ += n;
    demand(acked_ <= written_, "more was acknowledged than written");
  }
  void finished(connection c) noexcept override {
    if (c != c_) return;
    demand(!finished_ && fin_sent_, "an end that the peer did not send");
    finished_ = true;
  }
  void ended(connection c, std::uint64_t, ending) noexcept override {
    unread_ = 0;
    if (c == c_) over_ = true;
  }
  void released(std::uint64_t token) noexcept override {
    demand(pieces_.erase(token) == 1, "a piece came home twice");
    delete reinterpret_cast<std::vector<std::byte>*>(token);
  }
  void take_back(packet& p) noexcept override {
    const auto at = lent_.find(&p);
    demand(at != lent_.end(), "a packet came home twice");
    delete at->second;
    lent_.erase(at);
    --packets_out_;
  }

  const std::uint8_t* at_;
  std::size_t left_;
  std::optional<stack> stack_;
  endpoint own_{ip_address::v4(10, 0, 0, 1), 80}, peer_{ip_address::v4(10, 0, 0, 9), 5000};
  connection c_;
  instant now_ = 1'000'000;
  bool consumes_ = false, passive_ = false, open_ = false, closed_ = false, over_ = false;
  std::uint32_t window_ = 0, unread_ = 0;
  sequence irs_ = 0xfffff000, iss_ = 0, una_ = 0, highest_ = 0, edge_ = 0;
  sequence contiguous_ = irs_ + 1, furthest_ = irs_ + 1, ack_seen_ = irs_ + 1, offered_ = irs_ + 1;
  segment syn_, syn_seen_;
  std::uint32_t echo_ = 0;
  bool fin_sent_ = false, finished_ = false;
  sequence fin_at_ = 0;
  std::uint64_t written_ = 0, received_ = 0, acked_ = 0;
  std::vector<bool> given_ = std::vector<bool>(1 << 21);
  std::set<std::uint64_t> pieces_;
  std::map<packet*, lent*> lent_;
  std::size_t packets_out_ = 0;
};

}  // namespace heddle::tcp::test
