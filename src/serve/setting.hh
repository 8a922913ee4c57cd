// SPDX-License-Identifier: MIT
// The settings of `heddle serve` and `heddle proxy`, which come from a file, the environment and
// flags. A verb's table contains each setting once. Its name is the flag (--NAME), the line in the
// file (NAME = VALUE) and, in capitals, the variable (HEDDLE_SERVE_NAME). Flags override the
// environment, and the environment overrides the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/options.hh"

namespace heddle::serve {

enum class setting_kind : std::uint8_t {
  once,      ///< takes a value; the last one is used
  repeated,  ///< takes a value each time; in a variable, one per line
  on_off,    ///< without a value it means on
  pairs,     ///< takes two values each time; in a line, with a space between
};

/// The help that shows a setting: --help, --help-site or --help-limits.
enum class help_page : std::uint8_t { common, site, limits };

/// The value of a setting: the functions that set and show it, and its form.
struct setting_value {
  /// Sets the value from its text. Throws bad_setting.
  void (*set)(serve_options& o, std::string_view value);
  /// Gives the value as a user writes it; null if the help shows no default.
  std::string (*show)(const serve_options& o) = nullptr;
  setting_kind kind = setting_kind::once;
  std::string_view name = {};  ///< in the help
};

struct setting {
  std::string_view name;
  std::string_view help;  ///< {} in it becomes the default
  help_page page;
  setting_value value;
  char letter = 0;  ///< the short flag; 0 if there is none
};

/// The place of the setting with this name; the size of the table if there is none.
[[nodiscard]] constexpr std::size_t place_of(std::span<const setting> table,
                                             std::string_view name) noexcept {
  std::size_t at = 0;
  while (at != table.size() && table[at].name != name) ++at;
  return at;
}

/// Whether the names differ and each help text with {} has a default to show.
[[nodiscard]] constexpr bool is_sound(std::span<const setting> table) noexcept {
  for (std::size_t at = 0; at != table.size(); ++at) {
    const setting& s = table[at];
    if (place_of(table, s.name) != at || s.value.set == nullptr) return false;
    if (s.help.contains("{}") && s.value.show == nullptr) return false;
  }
  return true;
}

struct setting_request;

/// The settings of a verb.
struct setting_table {
  std::string_view verb;             ///< "serve"
  std::string_view variable_prefix;  ///< "HEDDLE_SERVE_"
  std::span<const setting> all;
  const setting* config;  ///< the setting that names the file of settings
  serve_options (*defaults)();
  /// Rejects settings that contradict each other. Throws bad_setting.
  void (*check)(const serve_options& o);
  std::string_view heads[3];  ///< the first lines of each help page
  std::string_view foot;      ///< the last lines of --help
  std::size_t column;         ///< where the texts of --help begin
  /// Makes requests of words without a flag; null: there are none but DIR.
  void (*add_words)(std::vector<setting_request>& requests,
                    const std::vector<std::string>& words) = nullptr;

  /// The setting of this name; null if there is none.
  [[nodiscard]] const setting* find(std::string_view name) const noexcept;
};
[[nodiscard]] const setting_table& serve_settings();
[[nodiscard]] const setting_table& proxy_settings();

/// One requested setting and its source ("--port", "HEDDLE_SERVE_PORT", "heddle.conf:3").
struct setting_request {
  const setting* what;
  std::string value;
  std::string where;
};

/// Combines all sources. Throws bad_setting, whose text names the source. `flags` come from the
/// command line; each call reads the file again, and waits for it.
[[nodiscard]] serve_options put_together(const setting_table& of,
                                         std::span<const setting_request> flags,
                                         std::shared_ptr<surroundings> around);

[[nodiscard]] std::string help_of(const setting_table& of, help_page page);

}  // namespace heddle::serve
