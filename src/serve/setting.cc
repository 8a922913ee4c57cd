// SPDX-License-Identifier: MIT
// Finds a setting in its table and prints the help pages.
#include "serve/setting.hh"

#include <algorithm>

namespace heddle::serve {

const setting* setting_table::find(std::string_view name) const noexcept {
  const std::size_t at = place_of(all, name);
  return at == all.size() ? nullptr : &all[at];
}

std::string help_of(const setting_table& of, help_page page) {
  const serve_options defaults = of.defaults();
  const std::size_t column = page == help_page::common ? of.column : 34;
  std::string text(of.heads[static_cast<std::size_t>(page)]);
  for (const setting& s : of.all) {
    if (s.page != page || s.help.empty()) continue;
    std::string line = "  ";
    if (s.letter != 0) (line += '-') += {s.letter, ',', ' '};
    (line += "--") += s.name;
    if (!s.value.name.empty()) (line += ' ') += s.value.name;
    line.resize(std::max(line.size() + 1, column), ' ');
    line += s.help;
    if (const std::size_t at = line.find("{}"); at != line.npos)
      line.replace(at, 2, s.value.show(defaults));
    (text += line) += '\n';
  }
  if (page == help_page::common) text += of.foot;
  return text;
}

}  // namespace heddle::serve
