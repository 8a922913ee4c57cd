// SPDX-License-Identifier: MIT
// The body of an HTTP/1 message out of the bytes that arrive: by length, in chunks, or up to the
// end of the connection (RFC 9112 sections 6 and 7). It copies nothing and waits for nothing, so
// servers, clients and proxies read bodies with it, each with its own limits of time.
//
//   while (!body.ended()) {
//     std::string_view part = body.take(rest);      // `rest`: arrived bytes, not parsed yet
//     if (!part.empty()) use(part);
//     else if (body.error() != problem::none) ...;  // malformed, or larger than allowed
//     else if (!body.ended()) rest = the next bytes, or body.end_of_input();
//   }
//
// For the parts of the library that speak HTTP/1; not for programs: it may change in any version.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/chunked.hh"
#include "heddle/http/framing.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/problem.hh"

namespace heddle::http {

/// Thread: one color. Owns: the trailers.
class body_decoder {
 public:
  /// The limits must outlive this. body_bytes_max bounds a chunked body; the caller checks others.
  explicit body_decoder(const limits& bounds) : chunks_(bounds) {}

  /// Begins the next body. `length` counts only for framing::length.
  void begin(framing how, std::uint64_t length) noexcept {
    how_ = how == framing::length && length == 0 ? framing::none : how;
    if (how_ == framing::none) [[likely]]
      return;
    left_ = length;
    trailers_.clear();
    chunks_.reset();
  }

  /// Takes the next bytes of the body off the front of `rest`. Empty if more bytes are needed, the
  /// body has ended, or it is wrong.
  [[nodiscard]] std::string_view take(std::string_view& rest) {
    if (how_ == framing::chunked) return take_chunk(rest);
    if (how_ == framing::none) return {};
    std::string_view part = rest;
    if (how_ == framing::length) {
      part = part.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, part.size())));
      left_ -= part.size();
      if (left_ == 0) how_ = framing::none;
    }
    rest.remove_prefix(part.size());
    return part;
  }
  /// Notes that the connection has ended. True if the body has ended with it, whole.
  [[nodiscard]] bool end_of_input() noexcept {
    if (how_ == framing::until_close) how_ = framing::none;
    return how_ == framing::none;
  }

  /// How the rest of the body comes; none once it has ended.
  [[nodiscard]] framing how() const noexcept { return how_; }
  [[nodiscard]] bool ended() const noexcept { return how_ == framing::none; }
  /// Bytes that are missing of a body with a length.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
  /// The fault of a chunked body, or none.
  [[nodiscard]] problem error() const noexcept { return chunks_.error(); }
  /// The trailer lines after a chunked body, each "Name: value\r
  /// ".
  [[nodiscard]] const std::string& trailers() const noexcept { return trailers_; }

 private:
  [[nodiscard]] std::string_view take_chunk(std::string_view& rest);

  framing how_ = framing::none;
  std::uint64_t left_ = 0;
  chunked_decoder chunks_;
  std::string trailers_;
};

}  // namespace heddle::http
