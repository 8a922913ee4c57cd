// SPDX-License-Identifier: MIT
// A burst of requests on one connection: from the block that woke it to the moment when nothing
// more has arrived. It parses in the block where the data stands; only a head that spans blocks is
// copied.
#pragma once

#include <string>

#include "heddle/http/chunked.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/server.hh"

namespace heddle::http {

class exchange {
 public:
  exchange(server& owner, tcp_stream& conn, received&& first);

  /// Answers everything that has arrived. True: the connection is idle and may stay open.
  [[nodiscard]] task<bool> run();

  // For request.
  [[nodiscard]] const request_head& head() const noexcept { return parser_.head(); }
  [[nodiscard]] const address& peer() noexcept;
  [[nodiscard]] task<std::string_view> read_body();

 private:
  [[nodiscard]] task<bool> more_head();
  [[nodiscard]] task<bool> answer_one();
  [[nodiscard]] task<bool> finish_body();
  [[nodiscard]] task<bool> flush();
  [[nodiscard]] task<bool> send_file(response& r);
  void write_head(response& r, bool closes, bool has_body);
  void begin_body();
  void refuse(int status, std::string_view why);
  void count(int status, std::uint64_t bytes, time_point since, bool parsed);

  server& owner_;
  tcp_stream& conn_;
  received block_;         // where rest_ stands, unless it stands in carry_
  received body_block_;    // later parts of a body; the head's block stays for its views
  std::string carry_;      // a head that spans blocks
  std::string_view rest_;  // arrived and not looked at
  std::string out_;        // answers, gathered
  request_parser parser_;
  chunked_decoder chunks_;
  framing body_ = framing::none;
  std::uint64_t body_left_ = 0;
  std::uint64_t body_read_ = 0;
  bool continue_due_ = false;
  address peer_;
};

}  // namespace heddle::http
