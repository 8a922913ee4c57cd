// SPDX-License-Identifier: MIT
// A request's changes when it follows a redirect.
#include "heddle/client/outgoing.hh"

#include <algorithm>

#include "heddle/http/headers.hh"

namespace heddle::http {

bool outgoing::has(std::string_view name) const noexcept {
  return std::ranges::any_of(fields_,
                             [&](const field& f) { return equal_ignoring_case(f.name, name); });
}

void outgoing::become_get() {
  if (method_ != "HEAD") method_ = "GET";
  has_body_ = false;
  bytes_.clear();
  parts_ = nullptr;
  type_.clear();
  length_.reset();
  // Fields about the body that is gone.
  std::erase_if(fields_, [](const field& f) {
    return f.name.size() > 8 &&
           equal_ignoring_case(std::string_view(f.name).substr(0, 8), "content-");
  });
}

void outgoing::drop_secrets() {
  std::erase_if(fields_, [](const field& f) {
    return f.secret || equal_ignoring_case(f.name, "Authorization") ||
           equal_ignoring_case(f.name, "Proxy-Authorization") ||
           equal_ignoring_case(f.name, "Cookie");
  });
}

}  // namespace heddle::http
