// SPDX-License-Identifier: MIT
// One request to an upstream and its answer, over either version of HTTP. It moves bytes; passage
// decides about limits of time, other tries and the answer that the client gets.
//
// An exchange over HTTP/1.1 has a connection alone, one over HTTP/2 a stream of a connection that
// other requests use too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/client/detail/http2_link.hh"
#include "heddle/http/detail/http1_answer.hh"
#include "heddle/http/response_parser.hh"

namespace heddle::http::detail {

/// The form of a request's body.
enum class sending : std::uint8_t {
  whole,    ///< the body leaves with the head, or is empty
  stated,   ///< in parts, which have the stated length together
  chunked,  ///< in parts
};

/// Thread: the proxy's color. Cancel: waits can be cancelled and bounded.
class upstream_exchange {
 public:
  upstream_exchange() = default;
  upstream_exchange(const upstream_exchange&) = delete;
  virtual ~upstream_exchange() = default;

  // The request.

  /// `text`: the head in the form of HTTP/1.1, which has `head_bytes`; behind it the body, if it is
  /// sent whole. It must stay. False: the upstream does not take all of it at once, and send_rest()
  /// must follow before put(). True also if it takes no more.
  [[nodiscard]] virtual task<bool> send(std::string_view text, std::size_t head_bytes,
                                        sending how) = 0;

  // False: the upstream takes no more. If it took nothing in time, stalled() says so; else the
  // reader of the answer finds out why.

  [[nodiscard]] virtual task<bool> send_rest() = 0;
  [[nodiscard]] virtual task<bool> put(std::string_view part) = 0;
  /// `trailers`: lines, each "name: value\r\n".
  [[nodiscard]] virtual task<bool> finish(std::string_view trailers) = 0;
  /// The upstream took nothing for proxy_timeouts::transfer.
  [[nodiscard]] virtual bool stalled() const noexcept = 0;
  /// Changes whenever the upstream takes bytes of the body.
  [[nodiscard]] virtual std::uint64_t moved() const noexcept = 0;
  /// Ends the request so that the upstream does not take the part that was sent for a whole body.
  virtual void abandon() noexcept = 0;

  // The answer.

  /// Waits until more of the answer has arrived. False: nothing more will.
  [[nodiscard]] virtual task<bool> arrive() = 0;
  /// Whether any of it has.
  [[nodiscard]] virtual bool answered() const noexcept = 0;
  /// The next head, which may be informational.
  [[nodiscard]] virtual parse_state read_head(response_head& to) = 0;
  /// A part of a head has arrived.
  [[nodiscard]] virtual bool head_begun() const noexcept = 0;

  virtual void begin_body(const response_head& head, method asked) = 0;
  /// All of the body, if it is here in one piece.
  [[nodiscard]] virtual std::optional<std::string_view> take_whole_body() = 0;
  /// Appends bytes of the body that have arrived, until there are about `most`. False: none are
  /// left that have arrived.
  [[nodiscard]] virtual bool fill(std::string& to, std::size_t most) = 0;
  [[nodiscard]] virtual bool body_ended() const noexcept = 0;
  /// Nothing more will arrive. True: so the body has ended, whole.
  [[nodiscard]] virtual bool end_of_input() noexcept = 0;
  /// The missing rest of such a body: "5 bytes before the end of its body".
  [[nodiscard]] virtual std::string missing() const = 0;
  /// Lines behind the body.
  [[nodiscard]] virtual std::string_view trailers() const noexcept = 0;

  /// The fault that ended the answer: "its body is malformed: ..."; "" if there is none.
  [[nodiscard]] virtual std::string fault() const = 0;
  /// The upstream has done nothing with the request, and said so.
  [[nodiscard]] virtual bool refused() const noexcept { return false; }
  /// The upstream wants the request over HTTP/1.1.
  [[nodiscard]] virtual bool wants_http1() const noexcept { return false; }
  /// Another request may use the connection, if all of this one was sent.
  [[nodiscard]] virtual bool leaves_clean(const response_head& head) const noexcept = 0;
  /// Nothing more is read. Later writes of an upload fail.
  virtual void end() noexcept = 0;
};

/// Owns: one block that has arrived. The stream belongs to the caller.
class exchange_by_http1 final : public upstream_exchange {
 public:
  exchange_by_http1(stream& on, const limits& bounds, nanoseconds patience) noexcept
      : on_(on), patience_(patience), answer_(bounds) {}

  task<bool> send(std::string_view text, std::size_t head_bytes, sending how) override;
  task<bool> send_rest() override { return write(rest_); }
  task<bool> put(std::string_view part) override;
  task<bool> finish(std::string_view trailers) override;
  bool stalled() const noexcept override { return stalled_; }
  std::uint64_t moved() const noexcept override { return moved_; }
  void abandon() noexcept override;
  task<bool> arrive() override;
  bool answered() const noexcept override { return answer_.begun(); }
  parse_state read_head(response_head& to) override;
  bool head_begun() const noexcept override { return answer_.head_begun(); }
  void begin_body(const response_head& head, method asked) override {
    answer_.begin_body(head, asked);
  }
  std::optional<std::string_view> take_whole_body() override;
  bool fill(std::string& to, std::size_t most) override;
  bool body_ended() const noexcept override { return answer_.body.ended(); }
  bool end_of_input() noexcept override { return answer_.body.end_of_input(); }
  std::string missing() const override { return answer_.missing(); }
  std::string_view trailers() const noexcept override { return answer_.body.trailers(); }
  std::string fault() const override;
  bool leaves_clean(const response_head& head) const noexcept override {
    return answer_.leaves_clean(head);
  }
  void end() noexcept override { answer_.drop_block(); }

  /// Bytes behind a head that switched to another protocol.
  [[nodiscard]] std::string_view rest() const noexcept { return answer_.rest(); }

 private:
  [[nodiscard]] task<bool> write(std::string_view bytes);
  enum class written : std::uint8_t { all, part, failed };
  [[nodiscard]] task<written> write_within(std::string_view& bytes, nanoseconds patience);

  stream& on_;
  const nanoseconds patience_;  // in which some bytes must leave
  http1_answer answer_;
  std::string framed_;
  std::string_view rest_;
  std::uint64_t moved_ = 0;
  bool chunked_ = false;
  bool stalled_ = false;
};

/// Owns: its stream, which it ends.
class exchange_by_http2 final : public upstream_exchange {
 public:
  exchange_by_http2(std::shared_ptr<http2_link> link, gate::hold permit, bool secure);
  ~exchange_by_http2() override { exchange_by_http2::end(); }

  task<bool> send(std::string_view text, std::size_t head_bytes, sending how) override;
  task<bool> send_rest() override;
  task<bool> put(std::string_view part) override;
  task<bool> finish(std::string_view trailers) override;
  bool stalled() const noexcept override {
    return stalled_ || (stream_.trouble && stream_.trouble->took_nothing);
  }
  std::uint64_t moved() const noexcept override { return stream_.sender.gathered; }
  void abandon() noexcept override;
  task<bool> arrive() override;
  bool answered() const noexcept override { return stream_.heard; }
  parse_state read_head(response_head& to) override;
  bool head_begun() const noexcept override { return false; }
  void begin_body(const response_head&, method) override {}
  std::optional<std::string_view> take_whole_body() override;
  bool fill(std::string& to, std::size_t most) override;
  bool body_ended() const noexcept override {
    return stream_.has_ended_remote() && stream_.arrived.empty();
  }
  bool end_of_input() noexcept override { return body_ended(); }
  std::string missing() const override { return "before the end of its body"; }
  std::string_view trailers() const noexcept override { return stream_.trailers; }
  std::string fault() const override;
  bool refused() const noexcept override { return stream_.trouble && stream_.trouble->refused; }
  bool wants_http1() const noexcept override {
    return stream_.trouble && stream_.trouble->wants_http1;
  }
  bool leaves_clean(const response_head&) const noexcept override { return true; }
  void end() noexcept override;

 private:
  [[nodiscard]] bool has_news() const noexcept;
  [[nodiscard]] task<bool> send_part(std::string_view part, bool ends);

  std::shared_ptr<http2_link> link_;
  const bool secure_;
  client_stream stream_;
  std::string_view rest_;
  bool head_taken_ = false;
  bool ended_ = false;
  bool ends_with_rest_ = false;
  bool stalled_ = false;
};

}  // namespace heddle::http::detail
