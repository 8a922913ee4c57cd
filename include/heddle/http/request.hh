// SPDX-License-Identifier: MIT
// A parsed request head: offsets into the connection's buffer and numbers, no copies. The parser
// fills it, so that a server's questions about the head need no search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/http/framing.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/method.hh"

namespace heddle::http {

// The four forms of RFC 9112 section 3.2.
enum class target_form : std::uint8_t { origin, absolute, authority, asterisk };

// Thread: one at a time.  Owns: nothing; every view points into the buffer that was last fed to the
// parser or given to `rebase`, and is valid as long as that buffer.
//
//   const request_head& head = parser.head();
//   if (head.verb() == method::get && head.path() == "/") ...
//   if (head.has(header_id::range)) ranges = parse_ranges(head.value(header_id::range), size);
class request_head {
 public:
  // Points the views at the same bytes in another buffer. Call it after the buffer has moved.
  void rebase(const char* buffer) { base_ = buffer; }

  // Request line.
  method verb() const { return verb_; }
  std::string_view method_text() const { return at(method_at_, method_length_); }
  std::string_view target() const { return at(target_at_, target_length_); }
  target_form form() const { return form_; }
  // 1, or 2 for a request that came over HTTP/2.
  unsigned major_version() const { return major_version_; }
  // The minor version to answer with, 0 or 1; HTTP/1.2 and above count as 1.
  unsigned minor_version() const { return minor_version_; }

  // The target's path, still encoded: "/" if an absolute form has none ("*" for OPTIONS); "" for
  // CONNECT. Decode it with decode_path() (uri.hh) before using it as a name.
  std::string_view path() const;
  // The text after the first '?'. `has_query` tells "/a?" from "/a".
  std::string_view query() const;
  bool has_query() const { return query_at_ != 0; }
  // Host and optional port: from the target if it has them, else from the Host field.
  std::string_view authority() const;

  // Field lines, in the order in which they came.
  std::size_t header_count() const { return count_; }
  header header_at(std::size_t index) const;
  bool has(header_id id) const { return (seen_ >> bit(id) & 1) != 0; }
  bool repeated(header_id id) const { return (repeated_ >> bit(id) & 1) != 0; }
  // The value of the first line with this name; "" if there is none. Constant time.
  std::string_view value(header_id id) const {
    return has(id) ? value_at(first_[bit(id)]) : std::string_view{};
  }
  // The value of the first line with any name; names without a number need a search.
  std::string_view value(std::string_view name) const;
  bool has(std::string_view name) const;
  // The index of the next line with this name at or after `from`; header_count() at the end.
  std::size_t next(header_id id, std::size_t from) const;

  // The effect of the fields on the connection.
  bool keep_alive() const { return keep_alive_; }
  framing body() const { return body_; }
  // The body's length if `body()` is `length`, else zero.
  std::uint64_t content_length() const { return content_length_; }
  // Whether the client waits for 100 Continue before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  // Whether Connection and Upgrade agree that the client offers another protocol.
  bool upgrade() const { return upgrade_; }

 private:
  friend class request_parser;
  friend struct request_meaning;
  friend struct http2_meaning;

  struct field {
    std::uint32_t name_at;
    std::uint32_t value_at;
    std::uint32_t value_length;
    std::uint32_t name_length_and_id;  // 24 bits and 8 bits
  };

  static constexpr unsigned bit(header_id id) { return static_cast<unsigned>(id); }
  std::string_view at(std::uint32_t offset, std::uint32_t length) const {
    return {base_ + offset, length};
  }
  std::string_view value_at(std::size_t index) const {
    return at(fields_[index].value_at, fields_[index].value_length);
  }
  header_id id_at(std::size_t index) const {
    return static_cast<header_id>(fields_[index].name_length_and_id >> 24);
  }
  std::size_t find(std::string_view name) const;

  const char* base_ = nullptr;
  std::uint64_t seen_ = 0;      // a bit for each header_id that is present
  std::uint64_t repeated_ = 0;  // a bit for each header_id that is present more than once
  std::uint64_t content_length_ = 0;
  std::uint32_t method_at_ = 0;
  std::uint32_t method_length_ = 0;
  std::uint32_t target_at_ = 0;
  std::uint32_t target_length_ = 0;
  std::uint32_t path_at_ = 0;   // inside the buffer; zero: the target has no path
  std::uint32_t query_at_ = 0;  // zero: no '?'
  std::uint32_t authority_at_ = 0;
  std::uint32_t authority_length_ = 0;
  std::uint32_t count_ = 0;
  method verb_ = method::other;
  target_form form_ = target_form::origin;
  framing body_ = framing::none;
  std::uint8_t major_version_ = 1;
  std::uint8_t minor_version_ = 1;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool upgrade_ = false;
  std::uint8_t first_[header_id_count];  // valid if `seen_` has the bit
  field fields_[header_capacity];        // valid below `count_`
};

}  // namespace heddle::http
