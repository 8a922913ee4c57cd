// SPDX-License-Identifier: MIT
// The error of an authority that answers, but not with what it was asked for: a problem document
// (RFC 7807) as an exception.
#pragma once

#include <string>

#include "heddle/base/clock.hh"
#include "heddle/base/error.hh"

namespace heddle::acme {

/// The text names the request, the reason that the authority gives, and the remedy.
class refusal : public failure {
 public:
  refusal(std::errc code, const std::string& what, std::string type, nanoseconds retry_after)
      : failure(std::make_error_code(code), what),
        text_(what),
        type_(std::move(type)),
        retry_after_(retry_after) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

  /// The last part of an ACME problem's type: "rateLimited", "badNonce"; empty for another error.
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  /// The time for which the authority must not be asked again; zero if it named none.
  [[nodiscard]] nanoseconds retry_after() const noexcept { return retry_after_; }

 private:
  std::string text_;
  std::string type_;
  nanoseconds retry_after_;
};

}  // namespace heddle::acme
