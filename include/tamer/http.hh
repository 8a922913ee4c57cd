// SPDX-License-Identifier: MIT
// HTTP/1 messages over a tamer::fd: http_message is a request or a response, http_parser receives
// and sends them. The parsers are those of <heddle/http/parser.hh>, as strict as there, but
// requests need no Host. For servers that face the world use Heddle's own (heddle/web/server.hh).
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tamer/bufferedio.hh"

enum http_parser_type { HTTP_REQUEST, HTTP_RESPONSE, HTTP_BOTH };
enum http_method {
  HTTP_DELETE = 0,
  HTTP_GET = 1,
  HTTP_HEAD = 2,
  HTTP_POST = 3,
  HTTP_PUT = 4,
  HTTP_CONNECT = 5,
  HTTP_OPTIONS = 6,
  HTTP_TRACE = 7,
  HTTP_PATCH = 28,
};
enum http_errno {
  HPE_OK = 0,
  HPE_INVALID_EOF_STATE,
  HPE_HEADER_OVERFLOW,
  HPE_INVALID_VERSION,
  HPE_INVALID_STATUS,
  HPE_INVALID_METHOD,
  HPE_INVALID_URL,
  HPE_INVALID_HEADER_TOKEN,
  HPE_INVALID_CONTENT_LENGTH,
  HPE_INVALID_CHUNK_SIZE,
  HPE_UNKNOWN,
};
[[nodiscard]] const char* http_errno_description(http_errno error) noexcept;
[[nodiscard]] const char* http_method_str(http_method method) noexcept;

namespace tamer {

struct http_header {
  std::string name;
  std::string value;
  /// Names of headers do not differ by case.
  [[nodiscard]] bool is(std::string_view other) const noexcept;
  [[nodiscard]] bool is_content_length() const noexcept { return is("content-length"); }
};

/// Thread: any, one at a time.
/// Owns: all of its texts.
class http_message {
 public:
  using header_iterator = std::vector<http_header>::const_iterator;

  http_message() noexcept = default;

  [[nodiscard]] bool ok() const noexcept { return error_ == HPE_OK; }
  [[nodiscard]] explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] bool operator!() const noexcept { return !ok(); }
  [[nodiscard]] http_errno error() const noexcept { return error_; }
  [[nodiscard]] unsigned http_major() const noexcept { return major_; }
  [[nodiscard]] unsigned http_minor() const noexcept { return minor_; }
  [[nodiscard]] unsigned status_code() const noexcept { return status_; }
  [[nodiscard]] const std::string& status_message() const noexcept { return reason_; }
  [[nodiscard]] http_method method() const noexcept { return method_; }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  /// The url up to `?` or `#`.
  [[nodiscard]] std::string url_path() const;
  /// The text behind `?`.
  [[nodiscard]] std::string url_query() const;
  [[nodiscard]] bool has_query() const { return url_.find('?') != std::string::npos; }
  [[nodiscard]] std::string host() const { return header("host"); }

  [[nodiscard]] bool has_header(std::string_view name) const noexcept;
  /// The first value of a header, or nothing.
  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] std::string canonical_header(std::string_view name) const { return header(name); }
  [[nodiscard]] header_iterator header_begin() const noexcept { return headers_.begin(); }
  [[nodiscard]] header_iterator header_end() const noexcept { return headers_.end(); }
  [[nodiscard]] header_iterator begin() const noexcept { return headers_.begin(); }
  [[nodiscard]] header_iterator end() const noexcept { return headers_.end(); }
  /// The pairs of the query, decoded; made at the first call.
  [[nodiscard]] header_iterator query_begin() const;
  [[nodiscard]] header_iterator query_end() const;
  [[nodiscard]] std::string query(std::string_view name) const;
  [[nodiscard]] const std::string& body() const noexcept { return body_; }

  http_message& clear();
  http_message& http_major(unsigned n) noexcept;
  http_message& http_minor(unsigned n) noexcept;
  http_message& error(http_errno e) noexcept;
  http_message& status_code(unsigned code);
  http_message& status_code(unsigned code, std::string message);
  http_message& method(http_method m) noexcept;
  http_message& url(std::string u);
  /// Replaces a header, or adds it.
  http_message& header(std::string name, std::string value);
  http_message& header(std::string name, std::size_t value);
  http_message& append_header(std::string name, std::string value);
  http_message& remove_header(std::string_view name);
  /// Sets a header to a time in HTTP's format.
  http_message& date_header(std::string name, std::time_t when);
  http_message& body(std::string b);
  http_message& append_body(std::string_view more);

  [[nodiscard]] static const char* default_status_message(unsigned code) noexcept;
  [[nodiscard]] static std::string date(std::time_t when);

 private:
  unsigned major_ = 1;
  unsigned minor_ = 1;
  unsigned status_ = 200;
  http_errno error_ = HPE_OK;
  http_method method_ = HTTP_GET;
  std::string reason_;
  std::string url_;
  std::vector<http_header> headers_;
  std::string body_;
  mutable std::vector<http_header> query_;
  mutable bool has_query_parts_ = false;
};

/// Thread: the runtime's.
/// Cancel: an operation whose event becomes empty stops.
/// Fails: a message that cannot be read has an error, and ok() is false from then on.
class http_parser {
 public:
  static constexpr std::size_t line_max = 16 * 1024;
  static constexpr std::size_t headers_max = 128;
  static constexpr std::size_t body_max = std::size_t{64} << 20;

  explicit http_parser(http_parser_type type);

  [[nodiscard]] bool ok() const noexcept;
  [[nodiscard]] http_errno error() const noexcept;
  /// Whether another message may follow on this connection.
  [[nodiscard]] bool should_keep_alive() const noexcept;
  void clear_should_keep_alive() noexcept;
  void clear();

  /// Receives the next message; bytes behind it are kept for the one after.
  void receive(fd f, event<http_message> done);
  /// Sends a request or a response, as the parser's type is the other side's.
  void send(fd f, const http_message& message, event<> done);
  static void send_request(fd f, const http_message& message, event<> done);
  static void send_response(fd f, const http_message& message, event<> done);
  /// A response in parts: its head with `Transfer-Encoding: chunked`, parts, and the end.
  static void send_response_headers(fd f, const http_message& message, event<> done);
  static void send_response_chunk(fd f, std::string part, event<> done);
  static void send_response_end(fd f, event<> done);

 private:
  struct state;
  static void read_message(std::shared_ptr<state> s, fd f, event<http_message> done);
  std::shared_ptr<state> state_;
};

}  // namespace tamer
