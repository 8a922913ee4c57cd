// SPDX-License-Identifier: MIT
// One request and its answer, independent of the version of HTTP: limits of the body, and its
// unpacking. exchange_over_http1 and exchange_over_http2 derive from it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/upload.hh"
#include "heddle/client/options.hh"
#include "heddle/client/outgoing.hh"
#include "heddle/http/content_decoding.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/http/url.hh"

namespace heddle::http::detail {

/// Thread: the client's color.
class client_exchange {
 public:
  client_exchange(const client_exchange&) = delete;
  virtual ~client_exchange();

  /// Sends the request and reads the head of its answer. `head` is that of HTTP/1.1; `unpack`: it
  /// asks for codings, and the body is unpacked.
  [[nodiscard]] task<> begin(const outgoing& what, std::string head, bool unpack);
  [[nodiscard]] task<std::string_view> read();
  /// Reads a short rest, so that the connection can be used again.
  [[nodiscard]] task<> drain();

  [[nodiscard]] const response_head& head() const noexcept { return head_; }
  [[nodiscard]] const url& from() const noexcept { return from_; }
  [[nodiscard]] virtual std::string_view trailer(std::string_view name) const noexcept = 0;
  /// Whether anything of the answer has come.
  [[nodiscard]] virtual bool answered() const noexcept = 0;
  /// Whether the server has said that it did nothing with the request.
  [[nodiscard]] virtual bool refused() const noexcept { return false; }
  /// Whether the server wants the request over HTTP/1.1.
  [[nodiscard]] virtual bool wants_http1() const noexcept { return false; }
  [[noreturn]] void fail(std::error_code code, const std::string& what) const;

 protected:
  client_exchange(std::shared_ptr<const client_options> options, url from, std::string verb,
                  time_point due);

  [[nodiscard]] virtual task<> send(const outgoing& what, std::string head) = 0;
  /// Reads the head of the real answer into head_, and skips informational ones.
  [[nodiscard]] virtual task<> read_head() = 0;
  /// Prepares to read the body, once the head has come. False if no body follows.
  [[nodiscard]] virtual bool begin_body() = 0;
  /// The next part of the body as it is sent; "" at its end.
  [[nodiscard]] virtual task<std::string_view> read_raw() = 0;
  virtual void end_of_body() = 0;

  /// Fails with the reason of a wait for the server that ended without bytes.
  [[noreturn]] void fail_wait(std::error_code code, const char* where) const;
  [[noreturn]] void fail_informational() const;
  /// Fails if the server takes nothing of the body and has not begun its answer.
  void check_upload() const {
    if (upload_ != nullptr && upload_->stalled()) [[unlikely]]
      fail_stalled();
  }
  /// The time until which the answer's head must be whole, counted from now. While a large body is
  /// sent, each write has its own limit instead; the answer's begins when the upload has ended.
  [[nodiscard]] time_point head_due() const noexcept;
  /// The earlier one of the request's deadline and this time from now.
  [[nodiscard]] time_point limit_of(nanoseconds patience) const noexcept;

  std::shared_ptr<const client_options> options_;
  url from_;
  std::string verb_;
  time_point due_;
  response_head head_;
  std::shared_ptr<body_upload> upload_;  // sends a body that is large or streamed

 private:
  [[noreturn]] void fail_stalled() const;
  [[nodiscard]] std::string_view counted(std::string_view part);
  [[nodiscard]] std::string_view unpacked();
  void check_packed_end() const;

  std::uint64_t read_ = 0;  // bytes of the body, unpacked
  std::unique_ptr<content_reader> packed_;
  std::string_view packed_rest_;
  bool packed_any_ = false;  // a byte of it has come
  std::vector<char> plain_;
};

/// Whether the error says only that the connection is gone: then another one may work.
[[nodiscard]] bool connection_gone(std::error_code code) noexcept;

}  // namespace heddle::http::detail
