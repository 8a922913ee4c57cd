// SPDX-License-Identifier: MIT
// Who may come in.
#include "cli/serve_password.hh"

#include <cstdint>

namespace heddle::cli {
namespace {

constexpr std::string_view scheme = "Basic ";

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

/// Takes as long whatever it is compared with, so that the time tells nothing of the password.
bool same_secret(std::string_view given, std::string_view wanted) noexcept {
  unsigned differences = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences |= static_cast<unsigned>(given[i] ^ wanted[i % wanted.size()]);
  return differences == 0;
}

}  // namespace

password::password(bus& b, std::string_view user_and_password)
    : bus_(b), credentials_(base64(user_and_password)) {
  b.bind<asked, &password::on_asked>(this, 20);
}

bool password::admits(std::string_view authorization) const noexcept {
  if (authorization.size() < scheme.size()) return false;
  if (!http::equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return false;
  return same_secret(authorization.substr(scheme.size()), credentials_);
}

flow password::on_asked(question& q) {
  if (admits(q.request.header(http::header_id::authorization))) return flow::go_on;
  http::response r = http::error_response(401, "this server asks for a name and a password");
  r.header("WWW-Authenticate", "Basic realm=\"heddle\", charset=\"UTF-8\"");
  return answer_at_once(bus_, q, std::move(r));
}

}  // namespace heddle::cli
