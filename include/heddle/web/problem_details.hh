// SPDX-License-Identifier: MIT
// Problem documents (RFC 9457): the exception that a handler throws to answer with an error, and
// the JSON that tells the client the reason. `problem` (problem.hh) is for the parser's errors.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "heddle/http/request.hh"
#include "heddle/http/response.hh"

namespace heddle::http {

/// The members of a problem document. Empty ones are left out; without a type and a title the
/// document means just what its status means.
struct problem_details {
  int status = 500;
  std::string title = {};     ///< the kind of problem, the same each time
  std::string detail = {};    ///< this occurrence, for people
  std::string type = {};      ///< a URI that names the kind
  std::string instance = {};  ///< a URI that names this occurrence
  /// Further members, as JSON text that the program assembled: "\"balance\":30".
  std::string more_members = {};
};

/// The document as JSON text.
[[nodiscard]] std::string problem_text(const problem_details& what);

/// An answer of type application/problem+json.
[[nodiscard]] response problem_response(const problem_details& what);
/// An answer of type application/problem+json, or plain text if the client's Accept names text and
/// no JSON.
[[nodiscard]] response problem_response(const request_head& asked, const problem_details& what);

/// Ends a handler with an answer of this status. The client gets the detail.
///
///   if (!found) throw http::status_error(404, "there is no note of this number");
class status_error : public std::runtime_error {
 public:
  status_error(int status, std::string_view detail);
  explicit status_error(problem_details what);

  [[nodiscard]] const problem_details& details() const noexcept { return details_; }
  [[nodiscard]] int status() const noexcept { return details_.status; }

 private:
  problem_details details_;
};

}  // namespace heddle::http
