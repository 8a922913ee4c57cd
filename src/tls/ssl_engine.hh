// SPDX-License-Identifier: MIT
// The engine that OpenSSL's SSL object drives: every handshake, and the records of TLS 1.2, of
// clients, and of servers without server_options::own_records. A BIO of our own is between: it
// gives OpenSSL bytes of the block that was fed, and gathers the bytes that OpenSSL writes.
#pragma once

#include "tls/engine.hh"
#include "tls/handles.hh"
#include "tls/traffic_key.hh"

namespace heddle::tls::detail {

class server_state;

/// No function of the class waits, because OpenSSL's error queue belongs to the thread.
class ssl_engine final : public engine {
 public:
  /// `accepts`: the server's end, otherwise the client's. `hands_over`: if not null, successor()
  /// may replace this engine after the handshake; it must live until then. Throws std::bad_alloc.
  ssl_engine(ssl_handle ssl, bool accepts, const limits& bounds,
             server_state* hands_over = nullptr);
  ~ssl_engine() override;

  [[nodiscard]] step shake() override;
  [[nodiscard]] step open(received& into) override;
  [[nodiscard]] std::size_t seal(std::span<const byte_view> texts, std::size_t most) override;
  void say_end() noexcept override;
  [[nodiscard]] bool is_out_of_input() const noexcept override {
    return SSL_pending(ssl_.get()) == 0 && engine::is_out_of_input();
  }
  [[nodiscard]] session agreed() const override;
  [[nodiscard]] std::string_view alpn() const noexcept override;
  [[nodiscard]] std::unique_ptr<engine> successor() override;

  /// For SSL_CTX_set_keylog_callback(): keeps the traffic secrets of an engine that hands over.
  static void keep_secret(const SSL* ssl, const char* line);

 private:
  [[nodiscard]] step fail_step(int answer, const char* what);
  [[nodiscard]] trouble describe(const char* what);
  /// The reason why OpenSSL's BIO refuses, which OpenSSL does not know.
  enum class refusal : std::uint8_t { none, out_of_memory, too_much };
  /// Notes why the BIO refuses. The first refusal stays.
  void refuse(refusal why) noexcept {
    if (refusal_ == refusal::none) refusal_ = why;
  }
  [[nodiscard]] std::size_t whole_record() const noexcept;
  [[nodiscard]] step give(received& into, std::size_t kept);
  [[nodiscard]] step open_pending(received& into);
  static void seen_message(int is_ours, int, int kind, const void*, std::size_t, SSL*, void* self);

  static int bio_read(BIO* bio, char* into, int size);
  static int bio_write(BIO* bio, const char* bytes, int size);
  static long bio_control(BIO* bio, int command, long, void*);
  static const BIO_METHOD* method();

  ssl_handle ssl_;
  server_state* hands_over_;
  traffic_secret of_client_;  // secrets are kept only if hands_over_ is set
  traffic_secret of_server_;
  std::uint64_t records_sent_ = 0;  // records sealed with of_server_
  std::size_t shake_bytes_ = 0;
  refusal refusal_ = refusal::none;
  bool at_record_ = false;  // the next byte of in_ begins a record
};

}  // namespace heddle::tls::detail
