// SPDX-License-Identifier: MIT
// --redirect "FROM TO [STATUS]": answers paths that have moved. The first rule that matches counts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/pattern.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// If FROM has a `*`, a `*` in TO becomes the same text. A TO without `?` gets the query.
struct redirect_rule {
  path_pattern from;
  std::string to;  ///< /path, https://host/path or http://host/path
  int status = 302;

  /// Reads a rule. Throws bad_setting.
  [[nodiscard]] static redirect_rule parse(std::string_view text);
  /// The Location for this path; empty when the rule is not about it.
  [[nodiscard]] std::string location(std::string_view path, std::string_view query) const;
};

/// Thread: the shard's color. Owns: its binding; the rules outlive it.
class redirects {
 public:
  redirects(bus& b, std::span<const redirect_rule> rules)
      : bus_(b), rules_(rules.begin(), rules.end()) {
    b.bind<asked, &redirects::on_asked>(this, 40);
  }
  redirects(const redirects&) = delete;
  redirects& operator=(const redirects&) = delete;
  ~redirects() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  bus& bus_;
  std::vector<redirect_rule> rules_;
};

}  // namespace heddle::serve
