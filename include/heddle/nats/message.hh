// SPDX-License-Identifier: MIT
// One message of NATS: its subject, the subject for an answer, header fields, and its bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nats {

/// A field of a message. Names keep their case, as the server does.
struct field {
  std::string name;
  std::string value;
  friend bool operator==(const field&, const field&) = default;
};

/// Thread: any; it is a value.
struct message {
  std::string subject;
  std::string reply = {};  ///< where an answer goes; empty if none is wanted
  std::vector<field> fields = {};
  std::string body = {};
  int status = 0;                ///< 503, for example, in a note of the server's; 0 in a message
  std::string status_text = {};  ///< the words behind the status

  /// The first field of this name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const field& each : fields)
      if (each.name == name) return each.value;
    return std::nullopt;
  }
};

/// Whether messages can be published to this subject: words of printable characters with a dot
/// between them, none of them empty, and no `*` or `>`.
[[nodiscard]] bool is_subject(std::string_view text) noexcept;
/// Whether this subject can be subscribed to: a word may also be `*`, and the last one `>`.
[[nodiscard]] bool is_subject_pattern(std::string_view text) noexcept;

}  // namespace heddle::nats
