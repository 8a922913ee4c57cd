// SPDX-License-Identifier: MIT
// heddle proxy [ADDRESS]:PORT URL...: a reverse proxy. It is the service of `heddle serve` with
// another part that answers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "serve/proxy_options.hh"
#include "serve/run.hh"
#include "serve/serve.hh"

namespace heddle::serve {
namespace {

const setting* own_setting(std::string_view name) {
  return &*std::ranges::find(upstream_settings(), name, &setting::name);
}

/// Words without a flag: where to listen, then the upstreams.
void add_words(setting_requests& flags, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_url = word.find("://") != word.npos || word.starts_with("unix:");
    const char* const name = i == 0 && !is_url ? "listen" : "upstream";
    flags.push_back({own_setting(name), word, name});
  }
}

}  // namespace

std::function<int()> add_proxy_command(CLI::App& command) {
  const std::shared_ptr<setting_requests> flags = add_setting_flags(command, upstream_settings());
  command.add_option_function<std::vector<std::string>>(
      "WORDS", [flags](const std::vector<std::string>& words) { add_words(*flags, words); });
  auto page = std::make_shared<help_page>(help_page::common);
  for (const auto& [name, shown] :
       {std::pair("--help-limits", help_page::limits), std::pair("--help-site", help_page::site)})
    command.add_flag_callback(name, [page, shown] { *page = shown; });
  command.formatter_fn([](const CLI::App*, std::string, CLI::AppFormatMode) {
    return proxy_help(help_page::common);
  });
  return [flags, page] {
    if (*page == help_page::common) return run_service(proxy_settings(), *flags);
    std::fputs(proxy_help(*page).c_str(), stdout);
    return 0;
  };
}

}  // namespace heddle::serve
