// SPDX-License-Identifier: MIT
// The text protocol of NATS between client and server: a reader of what servers send, and the lines
// that clients send. (NATS documentation, "Client Protocol".)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/nats/message.hh"

namespace heddle::nats::detail {

struct wire_limits {
  std::size_t control_line_max = 4096;
  std::size_t info_max = std::size_t{64} << 10;
  std::size_t payload_max = std::size_t{1} << 20;
};

/// Something that a server has sent.
struct wire_item {
  enum class kind : std::uint8_t { info, message, ping, pong, ok, error };
  kind what = kind::ok;
  std::string text = {};           ///< the JSON of an info, the words of an error
  std::uint64_t subscription = 0;  ///< the number that SUB gave, for a message
  message content = {};
};

/// Thread: one at a time. It holds at most one message beyond what feed() was given last.
class wire_reader {
 public:
  explicit wire_reader(wire_limits bounds = {}) noexcept : bounds_(bounds) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole item, if there is one.
  /// Fails: throws failure(bad_message) for a text that is no NATS, or beyond a limit; the
  ///   connection can then not be used.
  [[nodiscard]] std::optional<wire_item> next();
  /// Whether there are bytes that next() has not used.
  [[nodiscard]] bool empty() const noexcept { return at_ == buffer_.size(); }

 private:
  [[nodiscard]] std::optional<std::string_view> line();
  void drop_used();
  void begin_message(std::string_view arguments, bool has_fields);
  [[nodiscard]] std::optional<wire_item> end_message();

  wire_limits bounds_;
  std::string buffer_;
  std::size_t at_ = 0;        // bytes before it were used
  std::size_t searched_ = 0;  // no line ends before this byte
  bool inside_message_ = false;
  std::size_t fields_size_ = 0;
  std::size_t total_size_ = 0;
  wire_item begun_;
};

void append_publish(std::string& out, std::string_view subject, std::string_view reply,
                    const std::vector<field>& fields, std::string_view body);
/// The bytes that fields and body take on the wire; a server bounds them.
[[nodiscard]] std::size_t payload_size(const std::vector<field>& fields, std::string_view body);
void append_subscribe(std::string& out, std::string_view pattern, std::string_view group,
                      std::uint64_t number);
void append_unsubscribe(std::string& out, std::uint64_t number);

/// Throws failure(invalid_argument) for a name or value that would end its line.
void check_fields(const std::vector<field>& fields);

}  // namespace heddle::nats::detail
