// SPDX-License-Identifier: MIT
// Checks each field by writing it into a temporary head with head_writer.
#include "heddle/http/detail/fixed_fields.hh"

#include <string_view>
#include <system_error>

#include "heddle/base/error.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {

std::string checked_lines(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string lines;
  for (const auto& [name, value] : fields) {
    for (const std::string_view own :
         {"Connection", "Content-Length", "Date", "Trailer", "Transfer-Encoding", "Upgrade"})
      if (equal_ignoring_case(own, name))
        throw failure(std::make_error_code(std::errc::invalid_argument),
                      "the server sets the header '" + name + "' itself");
    std::string room(64 + name.size() + value.size(), '\0');
    head_writer writer(room);
    writer.status(200).field(name, value);
    if (writer.error() != head_writer::problem::none)
      throw failure(
          std::make_error_code(std::errc::invalid_argument),
          "the header '" + name + "' cannot be sent: " + std::string(describe(writer.error())));
    const std::string_view text = writer.text();
    lines += text.substr(text.find('\n') + 1);
  }
  return lines;
}

}  // namespace heddle::http
