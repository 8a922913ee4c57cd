// SPDX-License-Identifier: MIT
// The settings of --acme, and the meaning of their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::serve {

struct serve_options;

struct acme_settings {
  std::string email;               ///< the account's address; empty: no certificate is ordered
  std::vector<std::string> names;  ///< names besides those of --site
  bool agree = false;              ///< consent to the authority's terms of service
  std::string directory;           ///< the authority's directory; empty: Let's Encrypt's
  std::string roots;               ///< PEM file for a private authority; empty: the system's
  std::string store;               ///< a folder; empty: in the user's or the system's state
  std::string account;             ///< "ID KEY" of an account that the authority knows

  friend bool operator==(const acme_settings&, const acme_settings&) = default;
};

// Functions for the table of settings. Each throws bad_setting.
void set_acme(serve_options& o, std::string_view text);
void add_acme_name(serve_options& o, std::string_view text);
void set_acme_directory(serve_options& o, std::string_view text);
void set_acme_account(serve_options& o, std::string_view text);

/// Rejects settings that would have no effect. Throws bad_setting.
void check_acme(const serve_options& o);

}  // namespace heddle::serve
