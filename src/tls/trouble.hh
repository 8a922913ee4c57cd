// SPDX-License-Identifier: MIT
// OpenSSL's error queue as a code and a text for people. The queue belongs to the thread: it is
// emptied before and after each call whose error is read, and no wait lies between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace heddle::tls::detail {

/// A failure: its code, its reason and the advice.
struct trouble {
  std::errc code = {};
  std::string text = {};
  bool plain_http = false;  ///< a client began with a request of plain HTTP
  [[nodiscard]] explicit operator bool() const noexcept { return code != std::errc{}; }
};

/// Empties the queue.
void drop_errors() noexcept;
/// Empties the queue and describes its first error. `what` names the action that failed.
[[nodiscard]] trouble take_errors(std::string_view what);
/// Describes a fatal alert of the peer (RFC 8446, 6.2) that came without OpenSSL's SSL object.
[[nodiscard]] trouble trouble_of_alert(std::string_view what, std::uint8_t number);
/// The connection ended without close_notify.
[[nodiscard]] trouble trouble_of_cut(std::string_view what);
/// Empties the queue and throws failure with `what`, the reason and the advice.
[[noreturn]] void throw_errors(const std::string& what, std::string_view advice);
[[noreturn]] void throw_trouble(const trouble& t);

}  // namespace heddle::tls::detail
