// SPDX-License-Identifier: MIT
// A burst of requests on one connection: from the block that woke it to the moment when nothing
// more has arrived. It parses in the block where the data stands; only a head that spans blocks is
// copied, and every head when so many requests are in progress that blocks become scarce.
//
// A request's way: its head stands in block_ or carry_ and stays there until the handler has ended.
// Its body is read from rest_, then from body_block_ (or body_copy_). When the next head is found
// in body_block_, that becomes block_.
#pragma once

#include <string>

#include "heddle/http/chunked.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/server.hh"

namespace heddle::http {

// Memory for gathered answers goes from one burst of requests to the next, so that an answer costs
// no allocation: as many as a turn needs under load, and together no more than they are worth.
inline constexpr std::size_t spare_outs_max = 64;
inline constexpr std::size_t spare_out_bytes_max = 16 * 1024;
inline constexpr std::size_t spare_outs_bytes_max = 768 * 1024;
// Answers that are gathered for one reading of the clock: what the overload control does not see
// of a slow handler's time until then.
inline constexpr std::uint8_t untimed_max = 15;

class exchange {
 public:
  exchange(server& owner, tcp_stream& conn, overload_control::credit& credit);
  exchange(const exchange&) = delete;
  ~exchange();

  /// Answers everything that has arrived. True: the connection is idle and may stay. It is no
  /// member, so that an idle connection's frame does not hold an exchange.
  [[nodiscard]] static task<bool> run(server& owner, tcp_stream& conn,
                                      overload_control::credit& credit);

  // For request.
  [[nodiscard]] const request_head& head() const noexcept { return parser_.head(); }
  [[nodiscard]] const address& peer() noexcept;
  [[nodiscard]] task<std::string_view> read_body();
  void limit_body(std::uint64_t bytes_max) noexcept { body_max_ = bytes_max; }
  void limit_body_pause(nanoseconds pause_max) noexcept { body_pause_max_ = pause_max; }
  [[nodiscard]] std::uint64_t body_limit() const noexcept { return body_max_; }
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept;
  void add_header(std::string_view name, std::string_view value);
  [[nodiscard]] task<> start(response head);
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head);
  [[nodiscard]] response error(const request_head* head, int status, std::string_view why) const;
  [[nodiscard]] cancel_source& draining() noexcept { return owner_.no_more_; }

  // For body_writer.
  [[nodiscard]] task<> write_part(std::string_view bytes);
  [[nodiscard]] task<> write_out();
  void add_trailer(std::string_view name, std::string_view value);
  [[nodiscard]] int started_status() const noexcept { return stream_status_; }

 private:
  /// How the end of an answer's body is found.
  enum class ending : std::uint8_t { none, length, chunked, close };

  // exchange.cc
  [[nodiscard]] task<bool> more_head();
  [[nodiscard]] task<> linger();
  [[nodiscard]] task<bool> answer_one();
  std::size_t drop_sent(std::size_t bytes);
  [[nodiscard]] bool sent_at_once();
  [[nodiscard]] std::size_t body_sent_at_once(const piece& body);
  [[nodiscard]] task<bool> flush();
  [[nodiscard]] task<bool> send_body(piece body);
  // send_file.cc
  [[nodiscard]] task<bool> has_room();
  [[nodiscard]] task<bool> send_file(response& r);
  [[nodiscard]] task<std::int64_t> send_cached(int file, std::uint64_t at, std::size_t size);
  [[nodiscard]] task<std::int64_t> send_read(int file, std::uint64_t at, std::size_t size);
  [[nodiscard]] response answer_of_failure();
  void write_head(response& r, bool closes, ending how);
  void put_head(head_writer& writer, const response& r, bool closes, ending how);
  void refuse(int status, std::string_view why);
  void refuse_head();
  void count(int status, std::uint64_t bytes, time_point since, bool parsed);
  void time_answers();
  bool note_sent(const result<std::size_t>& sent, std::size_t bytes);

  // request_body.cc
  void begin_body();
  [[nodiscard]] bool worth_reading() const noexcept;
  [[nodiscard]] task<bool> finish_body();
  [[nodiscard]] std::string_view take_part();
  [[nodiscard]] nanoseconds body_patience() const;
  [[noreturn]] void fail_body(int status, std::errc code, std::string_view why);

  // stream_answer.cc
  [[nodiscard]] bool end_stream();

  std::string_view hold(received& slot, received&& in, std::string& copy);
  void let_go(received& slot) noexcept;

  server& owner_;
  tcp_stream& conn_;
  received block_;         // where rest_ stands, unless it stands in carry_
  received body_block_;    // later parts of a body; the head's block stays for its views
  std::string carry_;      // a head that spans blocks
  std::string body_copy_;  // a part of a body, when blocks are scarce
  std::string_view rest_;  // arrived and not looked at
  std::string out_;        // answers, gathered
  std::string added_lines_;
  std::string trailers_;         // of the request, lines
  std::string stream_trailers_;  // of the answer, lines
  request_parser parser_;
  chunked_decoder chunks_;
  std::uint64_t body_left_ = 0;
  std::uint64_t body_read_ = 0;
  std::uint64_t body_max_ = 0;
  nanoseconds body_pause_max_{};
  nanoseconds body_waited_{};
  time_point head_due_ = never;
  std::uint64_t stream_left_ = 0;  // of a promised length
  std::uint64_t stream_bytes_ = 0;
  int stream_status_ = 0;  // 0: no answer has been started
  int body_failed_ = 0;    // the status that tells why
  framing body_ = framing::none;
  ending stream_end_ = ending::none;
  bool stream_keep_ = false;
  bool stream_muted_ = false;  // an answer to HEAD
  bool continue_due_ = false;
  bool linger_ = false;
  bool reset_ = false;  // the connection ends so that nobody takes the answer for a whole one
  bool shed_ = false;
  std::uint8_t untimed_ = 0;  // answers, gathered since a request of the turn
  time_point untimed_since_{};
  overload_control::credit& credit_;  // of the connection
  address peer_;
};

}  // namespace heddle::http
