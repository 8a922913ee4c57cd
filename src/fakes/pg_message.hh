// SPDX-License-Identifier: MIT
// Messages of PostgreSQL's protocol 3.0 (manual, sections "Message Formats" and "Message Data
// Types"): cut out of the bytes that arrive, taken apart, and written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::fakes::detail {

/// A message of a client: its type's letter, 0 for the first ones of a connection, and its body.
struct pg_message {
  char type = 0;
  std::string body;
};

/// Cuts messages out of bytes. The result does not depend on how the bytes were split.
class pg_reader {
 public:
  explicit pg_reader(std::uint32_t bytes_max) : bytes_max_(bytes_max) {}

  void feed(std::string_view bytes);
  /// The next message without a letter: SSLRequest and the like, or the startup message.
  /// Fails: pg_error(08P01) for a length that cannot be.
  [[nodiscard]] std::optional<pg_message> next_startup();
  /// The next message with a letter. Fails as next_startup(), and for more than bytes_max.
  [[nodiscard]] std::optional<pg_message> next();
  [[nodiscard]] std::size_t unread() const noexcept { return bytes_.size() - at_; }

 private:
  std::optional<pg_message> cut(std::size_t head, std::uint32_t bytes_max);

  std::string bytes_;
  std::size_t at_ = 0;
  std::uint32_t bytes_max_;
};

/// Takes a body apart from its front on. Fails: pg_error(08P01) if it is too short.
class pg_body {
 public:
  explicit pg_body(std::string_view body) : rest_(body) {}

  [[nodiscard]] std::uint32_t number(std::size_t bytes);
  [[nodiscard]] std::string_view bytes(std::size_t count);
  /// A text up to a zero byte.
  [[nodiscard]] std::string text();
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  /// Fails with 08P01 if bytes are left.
  void end() const;

 private:
  std::string_view rest_;
};

// The numbers of first messages (manual, section "Message Formats").
inline constexpr std::uint32_t pg_cancel_code = 80877102, pg_ssl_code = 80877103;
inline constexpr std::uint32_t pg_gssenc_code = 80877104;

using pg_value = std::optional<std::string>;  ///< nullopt: NULL

struct pg_parse {
  std::string name, query;
  std::vector<std::uint32_t> types;
};
struct pg_bind {
  std::string portal, statement;
  std::vector<std::uint32_t> formats;  ///< 0: text, 1: binary
  std::vector<pg_value> values;
  std::vector<std::uint32_t> result_formats;
};
/// The parameters are empty for another major version than 3.
struct pg_startup {
  std::uint32_t version = 0;  ///< major in the upper half, minor in the lower one
  std::map<std::string, std::string> parameters;
};

[[nodiscard]] pg_parse read_parse(std::string_view body);
[[nodiscard]] pg_bind read_bind(std::string_view body);
[[nodiscard]] pg_startup read_startup(std::string_view body);

/// A column of a result: its name and the number of its type in pg_type.
struct pg_column {
  std::string name;
  std::uint32_t type = 0;
};
inline constexpr std::uint32_t pg_bool = 16, pg_int8 = 20, pg_int4 = 23, pg_text = 25;
inline constexpr std::uint32_t pg_varchar = 1043, pg_numeric = 1700;

// Each appends one message.
void put_number(std::string& out, std::uint32_t value, int bytes);
void put_message(std::string& out, char type, std::string_view body);
void put_text_message(std::string& out, char type, std::string_view text);
void put_parameter(std::string& out, std::string_view name, std::string_view value);
/// An error ('E') or a notice ('N'); severity is ERROR, FATAL or WARNING.
void put_report(std::string& out, char type, const char* severity, const char* sqlstate,
                std::string_view text);
void put_row_description(std::string& out, const std::vector<pg_column>& columns,
                         const std::vector<std::uint32_t>& formats);
void put_row(std::string& out, const std::vector<pg_value>& row);

}  // namespace heddle::fakes::detail
