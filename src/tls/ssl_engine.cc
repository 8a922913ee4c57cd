// SPDX-License-Identifier: MIT
// Handshake, records and their BIO. A record that is whole in the block that brought it is
// opened there: OpenSSL has copied the ciphertext by then, and plaintext is never longer. Only a
// record that spans blocks needs memory.
#include "tls/ssl_engine.hh"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tls/record_engine.hh"
#include "tls/server_state.hh"

namespace heddle::tls::detail {
namespace {

// Head, tag, type and nonce of a record in either version.
constexpr std::size_t record_overhead = record_head_bytes + 8 + 16 + 1;
// A text of at least this size gets records of its own; shorter texts are copied together.
constexpr std::size_t gather_below = 4096;
constexpr std::string_view client_label = "CLIENT_TRAFFIC_SECRET_0 ";
constexpr std::string_view server_label = "SERVER_TRAFFIC_SECRET_0 ";

ssl_engine& engine_of(BIO* bio) noexcept { return *static_cast<ssl_engine*>(BIO_get_data(bio)); }

}  // namespace

const BIO_METHOD* ssl_engine::method() {
  static const BIO_METHOD* const made = [] {
    BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "heddle");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_read(m, &bio_read);
    BIO_meth_set_write(m, &bio_write);
    BIO_meth_set_ctrl(m, &bio_control);
    return m;
  }();
  return made;
}

ssl_engine::ssl_engine(ssl_handle ssl, bool accepts, const limits& bounds, server_state* hands_over)
    : engine(bounds), ssl_(std::move(ssl)), hands_over_(hands_over) {
  BIO* const bio = BIO_new(method());
  if (bio == nullptr) {
    drop_errors();
    throw std::bad_alloc();
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_msg_callback(ssl_.get(), &seen_message);
  SSL_set_msg_callback_arg(ssl_.get(), this);
  if (hands_over_ != nullptr) SSL_set_app_data(ssl_.get(), this);
  accepts ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
}

ssl_engine::~ssl_engine() = default;

/// Keeps a secret from a line of OpenSSL's key log. A line is a label, the client's random bytes
/// and the secret, in hexadecimal digits.
void ssl_engine::keep_secret(const SSL* ssl, const char* line) {
  auto* const self = static_cast<ssl_engine*>(SSL_get_app_data(ssl));
  if (self == nullptr) return;
  const std::string_view text(line);
  const std::string_view secret = text.substr(text.rfind(' ') + 1);
  if (text.starts_with(client_label)) {
    static_cast<void>(self->of_client_.assign_hex(secret));
  } else if (text.starts_with(server_label)) {
    static_cast<void>(self->of_server_.assign_hex(secret));
    self->records_sent_ = 0;  // the server's keys change right after this secret is made
  }
}

std::unique_ptr<engine> ssl_engine::successor() {
  SSL* const ssl = ssl_.get();
  // Once a record was opened, OpenSSL's keys may have changed.
  if (hands_over_ == nullptr || state() != engine_state::fresh ||
      SSL_version(ssl) != TLS1_3_VERSION || SSL_has_pending(ssl) != 0)
    return nullptr;
  const std::optional<suite> kind = suite_of(SSL_get_current_cipher(ssl));
  if (!kind || of_client_.size != hash_bytes(*kind) || of_server_.size != hash_bytes(*kind))
    return nullptr;
  const record_start start{.kind = *kind,
                           .of_peer = std::span(of_client_.bytes).first(of_client_.size),
                           .of_us = std::span(of_server_.bytes).first(of_server_.size),
                           .sent = records_sent_,
                           .agreed = hands_over_->shared(agreed())};
  auto next = std::make_unique<record_engine>(start, bounds_);
  next->take_over(std::move(in_), eaten_, std::move(out_), input_ended_);
  eaten_ = 0;
  return next;
}

int ssl_engine::bio_read(BIO* bio, char* into, int size) {
  ssl_engine& self = engine_of(bio);
  BIO_clear_retry_flags(bio);
  const std::size_t left = self.in_.size() - self.eaten_;
  if (left == 0) {
    if (self.input_ended_) return 0;
    BIO_set_retry_read(bio);
    return -1;
  }
  const std::size_t taken = std::min(left, static_cast<std::size_t>(size));
  if (!self.established()) {
    self.shake_bytes_ += taken;
    if (self.shake_bytes_ > self.bounds_.handshake_bytes_max) {
      self.refuse(refusal::too_much);
      return -1;
    }
  }
  std::memcpy(into, self.in_.data().data() + self.eaten_, taken);
  self.eaten_ += taken;
  return static_cast<int>(taken);
}

int ssl_engine::bio_write(BIO* bio, const char* bytes, int size) {
  ssl_engine& self = engine_of(bio);
  BIO_clear_retry_flags(bio);
  if (self.refusal_ == refusal::too_much) return -1;
  if (!self.out_.append(bytes, static_cast<std::size_t>(size))) {
    self.refuse(refusal::out_of_memory);
    return -1;
  }
  return size;
}

void ssl_engine::seen_message(int is_ours, int, int kind, const void*, std::size_t, SSL*,
                              void* self) {
  auto& engine_here = *static_cast<ssl_engine*>(self);
  if (kind == SSL3_RT_HEADER && is_ours != 0) ++engine_here.records_sent_;
  if (kind == SSL3_RT_HANDSHAKE && is_ours == 0 && engine_here.established() &&
      engine_here.too_many_late_messages())
    engine_here.refuse(refusal::too_much);
}

long ssl_engine::bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command != BIO_CTRL_EOF) return 0;
  const ssl_engine& self = engine_of(bio);
  return self.input_ended_ && self.eaten_ == self.in_.size() ? 1 : 0;
}

trouble ssl_engine::describe(const char* what) {
  if (refusal_ == refusal::out_of_memory) {
    drop_errors();
    return {std::errc::not_enough_memory, std::string(what) + ": out of memory"};
  }
  if (refusal_ == refusal::too_much) {
    drop_errors();
    return {std::errc::protocol_error,
            std::string(what) + (established() ? ": more key updates than limits::key_updates_max"
                                               : ": more than limits::handshake_bytes_max")};
  }
  trouble t = take_errors(what);
  if (const long verdict = SSL_get_verify_result(ssl_.get());
      verdict != X509_V_OK && t.code == std::errc::permission_denied)
    (t.text += ": ") += X509_verify_cert_error_string(verdict);
  if (t.text == what && input_ended_)
    t = {std::errc::connection_aborted, std::string(what) + ": the connection ended"};
  return t;
}

engine::step ssl_engine::fail_step(int answer, const char* what) {
  const int code = SSL_get_error(ssl_.get(), answer);
  if (code == SSL_ERROR_WANT_READ && refusal_ != refusal::too_much) {
    drop_errors();
    return step::wants_input;  // all of the block was eaten
  }
  fail(describe(what));
  return step::failed;
}

engine::step ssl_engine::shake() {
  if (broken()) return step::failed;
  drop_errors();
  const int answer = SSL_do_handshake(ssl_.get());
  if (answer != 1) {
    const step next = fail_step(answer, "the TLS handshake failed");
    if (next == step::wants_input) let_go();
    return next;
  }
  if (!established()) move_to(engine_state::fresh);
  at_record_ = true;
  drop_errors();
  return step::done;
}

/// The length of the next record in the block; 0 when it is not all there.
std::size_t ssl_engine::whole_record() const noexcept {
  const auto* head = reinterpret_cast<const unsigned char*>(in_.data().data()) + eaten_;
  const std::size_t left = in_.size() - eaten_;
  if (!at_record_ || left < record_head_bytes) return 0;
  const std::size_t size = record_head_bytes + (std::size_t{head[3]} << 8 | head[4]);
  return size <= left && size > record_head_bytes ? size : 0;
}

/// Gives the first `kept` bytes of the block, which are plaintext.
engine::step ssl_engine::give(received& into, std::size_t kept) {
  if (eaten_ == in_.size()) {
    in_.truncate(kept);
    into = std::move(in_);
    eaten_ = 0;
  } else {
    into = received::copy_of(in_.data().first(kept));
  }
  return step::done;
}

engine::step ssl_engine::open_pending(received& into) {
  const auto size = static_cast<std::size_t>(SSL_pending(ssl_.get()));
  auto* const memory = static_cast<std::byte*>(std::malloc(size));
  if (memory == nullptr) {
    refuse(refusal::out_of_memory);
    fail(describe("reading from a TLS stream"));
    return step::failed;
  }
  const int got = SSL_read(ssl_.get(), memory, static_cast<int>(size));
  into = received::owned(memory, 0, static_cast<std::uint32_t>(std::max(got, 0)));
  return got > 0 ? step::done : fail_step(got, "reading from a TLS stream");
}

engine::step ssl_engine::open(received& into) {
  std::size_t kept = 0;  // bytes of plaintext at the beginning of in_
  if (state() == engine_state::fresh) move_to(engine_state::used);
  for (;;) {
    if (broken()) return kept != 0 ? give(into, kept) : step::failed;
    drop_errors();
    if (SSL_pending(ssl_.get()) > 0) {
      if (kept != 0) return give(into, kept);
      return open_pending(into);
    }
    const std::size_t whole = whole_record();
    std::byte first;
    int got = 0;
    if (whole != 0) {
      got = SSL_read(ssl_.get(), in_.writable().data() + kept,
                     static_cast<int>(std::min(whole - record_head_bytes, content_bytes_max)));
      if (got > 0) kept += static_cast<std::size_t>(got);
    } else {
      got = SSL_peek(ssl_.get(), &first, 1);
    }
    at_record_ = got > 0;
    if (got > 0 && refusal_ != refusal::too_much) continue;
    if (got <= 0 && SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) {
      if (kept != 0) eaten_ = in_.size();  // the peer sends nothing after close_notify
      return kept != 0 ? give(into, kept) : step::done;
    }
    const step next = fail_step(got, "reading from a TLS stream");
    if (kept != 0) return give(into, kept);  // the error is returned by the next call
    let_go();
    return next;
  }
}

std::size_t ssl_engine::seal(std::span<const byte_view> texts, std::size_t most) {
  std::array<std::byte, content_bytes_max> gathered;
  std::size_t sealed = 0;
  std::size_t within = 0;  // bytes of texts.front() that are sealed already
  while (!texts.empty() && sealed < most && !broken()) {
    byte_view next(texts.front().data() + within, texts.front().size() - within);
    if (next.empty()) {
      texts = texts.subspan(1);
      within = 0;
      continue;
    }
    std::size_t room = std::min(most - sealed, content_bytes_max);
    if (next.size() < gather_below && texts.size() > 1 && next.size() < room) {
      std::size_t size = 0;
      for (const byte_view& t : texts) {
        const std::size_t from = &t == texts.data() ? within : 0;
        const std::size_t part = std::min(t.size() - from, room - size);
        if (part == 0) continue;
        std::memcpy(gathered.data() + size, t.data() + from, part);
        size += part;
        if (size == room) break;
      }
      next = {gathered.data(), size};
    }
    room = std::min(next.size(), most - sealed);
    if (!out_.reserve(room + (room / content_bytes_max + 1) * record_overhead))
      refuse(refusal::out_of_memory);
    drop_errors();
    const int got = refusal_ == refusal::out_of_memory
                        ? -1
                        : SSL_write(ssl_.get(), next.data(), static_cast<int>(room));
    if (got <= 0) {
      fail(describe("writing to a TLS stream"));
      break;
    }
    sealed += static_cast<std::size_t>(got);
    for (auto left = static_cast<std::size_t>(got); left != 0;) {
      const std::size_t here = std::min(left, texts.front().size() - within);
      within += here;
      left -= here;
      if (within == texts.front().size()) {
        texts = texts.subspan(1);
        within = 0;
      }
    }
  }
  return sealed;
}

void ssl_engine::say_end() noexcept {
  if (!begin_end()) return;
  drop_errors();
  SSL_shutdown(ssl_.get());
  drop_errors();
}

std::string_view ssl_engine::alpn() const noexcept {
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  return {reinterpret_cast<const char*>(protocol), size};
}

session ssl_engine::agreed() const {
  session s;
  SSL* const ssl = ssl_.get();
  const auto text = [](const char* t) { return std::string(t != nullptr ? t : ""); };
  if (established()) {
    s.protocol = text(SSL_get_version(ssl));
    s.cipher = text(SSL_get_cipher_name(ssl));
    if (const auto group = static_cast<int>(SSL_get_negotiated_group(ssl)); group > 0)
      s.group = text(SSL_group_to_name(ssl, group));
    s.alpn = alpn();
    s.resumed = SSL_session_reused(ssl) == 1;
    const unsigned char* answer = nullptr;
    s.stapled = SSL_is_server(ssl) == 0 && SSL_get_tlsext_status_ocsp_resp(ssl, &answer) > 0;
    if (X509* const peer = SSL_get0_peer_certificate(ssl)) {
      char line[256];
      s.peer = text(X509_NAME_oneline(X509_get_subject_name(peer), line, sizeof line));
    }
  }
  s.server_name = text(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
  s.trouble = trouble_.text;
  drop_errors();
  return s;
}

}  // namespace heddle::tls::detail
