// SPDX-License-Identifier: MIT
// The flags of a verb: one for each setting of its table, and the flags that show help pages.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "serve/command.hh"
#include "serve/setting.hh"

namespace heddle::serve {

using setting_requests = std::vector<setting_request>;

/// The flags of a command line, once it has been parsed.
struct setting_flags {
  setting_requests requests;
  bool help_limits = false;
  bool help_site = false;

  /// The help page to show; common: none was asked for.
  [[nodiscard]] help_page page() const noexcept {
    if (help_site) return help_page::site;
    return help_limits ? help_page::limits : help_page::common;
  }
};

/// Adds a flag for each setting; "directory", and what the table says, may be given without one.
[[nodiscard]] std::shared_ptr<setting_flags> add_setting_flags(command& verb,
                                                               const setting_table& of);

}  // namespace heddle::serve
