// SPDX-License-Identifier: MIT
// The header fields that follow from several options.
#include "serve/options.hh"

#include <chrono>

namespace heddle::serve {

std::vector<std::pair<std::string, std::string>> serve_options::fields_of_answers() const {
  auto fields = files.headers;
  if (hsts > nanoseconds::zero() && secure()) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(hsts).count();
    fields.emplace_back("Strict-Transport-Security", "max-age=" + std::to_string(seconds));
  }
  if (cors) fields.emplace_back("Access-Control-Allow-Origin", "*");
  return fields;
}

}  // namespace heddle::serve
