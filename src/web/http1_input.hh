// SPDX-License-Identifier: MIT
// The received bytes of an HTTP/1 connection during one burst of requests. They are parsed in the
// driver's block. Only a head that spans several blocks is copied; when requests in progress hold
// so many blocks that these become scarce, every head is.
//
// A request's head stays in head_block_ or head_copy_ until its handler has ended, because the
// head's views point there. Parts of its body replace each other in body_block_ or body_copy_. The
// next head often follows the body in the same block; head_parsed() then makes that block the
// head's.
#pragma once

#include <string>
#include <string_view>

#include "heddle/io/stream.hh"
#include "web/server_shared.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: at most two blocks on loan from the driver, which count
/// among the blocks of all the server's requests.
class http1_input {
 public:
  /// Begins with the bytes that have arrived.
  http1_input(server_shared& shared, const stream& conn)
      : shared_(shared), rest(hold(head_block_, conn.take(), head_copy_)) {}
  http1_input(const http1_input&) = delete;
  ~http1_input() { drop_blocks(); }

  /// Call it after parsing a head: the head's bytes then stay in place until the next call.
  void head_parsed() noexcept {
    if (!body_block_.empty()) {
      drop(head_block_);
      head_block_ = std::move(body_block_);
    } else if (!body_copy_.empty()) {
      std::swap(head_copy_, body_copy_);
      body_copy_.clear();
    }
  }
  /// Copies the beginning of an incomplete head, so that its block can be released.
  void keep_partial_head();
  /// Appends further bytes of that head.
  void append(const received& in);
  /// Releases the part of the body that was read last.
  void drop_part() noexcept {
    drop(body_block_);
    body_copy_.clear();
  }
  /// Takes the next part of a body.
  void take_part(received&& in) { rest = hold(body_block_, std::move(in), body_copy_); }
  void drop_blocks() noexcept {
    drop(head_block_);
    drop(body_block_);
  }

 private:
  std::string_view hold(received& slot, received&& in, std::string& copy);
  void drop(received& slot) noexcept {
    if (slot.on_loan()) --shared_.blocks_held;
    slot.release();
  }

  server_shared& shared_;
  received head_block_;
  received body_block_;
  std::string head_copy_;
  std::string body_copy_;

 public:
  std::string_view rest;  ///< received bytes that have not been parsed
};

}  // namespace heddle::http
