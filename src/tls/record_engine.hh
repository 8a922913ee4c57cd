// SPDX-License-Identifier: MIT
// The server's end of an established TLS 1.3 connection without OpenSSL's SSL object: records are
// sealed and opened here with the connection's traffic secrets (RFC 8446: records 5, KeyUpdate
// 4.6.3, alerts 6). A connection then holds about 0.4 KB instead of 14 KB.
//
// server_options::own_records chooses it. Handshakes stay with OpenSSL; nothing of a handshake but
// KeyUpdate is accepted here: no early data, no certificates of clients after the handshake.
#pragma once

#include <array>
#include <memory>

#include "tls/engine.hh"
#include "tls/traffic_key.hh"

namespace heddle::tls::detail {

/// The result of the handshake.
struct record_start {
  suite kind;
  std::span<const unsigned char> of_peer;  // the traffic secret of the records that arrive
  std::span<const unsigned char> of_us;    // the traffic secret of the records that leave
  std::uint64_t sent;                      // records that OpenSSL sealed with of_us: tickets
  std::shared_ptr<const session> agreed;
};

class record_engine final : public engine {
 public:
  /// Throws std::bad_alloc.
  record_engine(const record_start& start, const limits& bounds);
  ~record_engine() override;
  /// Takes over the input, of which `eaten` bytes are used up, and the output of the engine before.
  void take_over(received&& in, std::size_t eaten, out_buffer&& out, bool input_ended) noexcept;

  [[nodiscard]] step shake() override { return step::done; }
  [[nodiscard]] step open(received& into) override;
  [[nodiscard]] std::size_t seal(std::span<const byte_view> texts, std::size_t most) override;
  void say_end() noexcept override;
  [[nodiscard]] session agreed() const override;
  [[nodiscard]] std::string_view alpn() const noexcept override { return agreed_->alpn; }
  /// Whether open() needs more input. After close_notify it needs none: it gives the end at once.
  [[nodiscard]] bool is_out_of_input() const noexcept override {
    return !read_ended_ && engine::is_out_of_input();
  }

 private:
  enum class alert : std::uint8_t;
  /// A record's content, in the block that brought it or in half_.
  struct content_place {
    std::byte* at;
    std::size_t size;
    content kind;
  };

  [[nodiscard]] bool head_is_good(const std::byte* head);
  [[nodiscard]] bool fill_half();
  [[nodiscard]] bool unseal(std::byte* record, std::size_t size, content_place& out);
  [[nodiscard]] bool handle(const content_place& c);
  [[nodiscard]] bool handle_handshake(byte_view text);
  [[nodiscard]] bool handle_key_update();
  [[nodiscard]] bool handle_alert(byte_view text);
  [[nodiscard]] bool count_empty();
  [[nodiscard]] step give(received& into, std::size_t from, std::size_t kept);
  [[nodiscard]] bool seal_record(content kind, text_cursor& from, std::size_t size);
  [[nodiscard]] bool send_key_update();
  [[nodiscard]] bool send_alert(bool fatal, alert what);
  bool refuse(alert what, const char* why);
  bool no_memory();
  void drop_half() noexcept;

  traffic_key read_;
  traffic_key write_;
  std::shared_ptr<const session> agreed_;
  // A record that spans blocks: its head first, then memory for all of it.
  std::byte* half_ = nullptr;
  std::uint16_t half_have_ = 0;
  std::uint8_t message_have_ = 0;
  std::uint8_t empty_in_a_row_ = 0;
  std::array<std::byte, record_head_bytes> head_{};
  std::array<std::byte, 5> message_{};  // a handshake message, which may come in several records
  bool read_ended_ = false;
};

}  // namespace heddle::tls::detail
