// SPDX-License-Identifier: MIT
// heddle proxy [ADDRESS]:PORT URL...: a reverse proxy. It is the service of `heddle serve` with
// another part that answers.
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
void add_words(setting_requests& requests, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_url = word.find("://") != word.npos || word.starts_with("unix:");
    const char* const name = i == 0 && !is_url ? "listen" : "upstream";
    requests.push_back({own_setting(name), word, name});
  }
}

}  // namespace

std::function<int()> add_proxy_command(command& verb) {
  const std::shared_ptr<setting_flags> flags = add_setting_flags(verb, upstream_settings());
  const auto add = [flags](const std::vector<std::string>& words) {
    add_words(flags->requests, words);
  };
  verb.add_options({{"WORDS", value_function{values_taken::list, add}}});
  verb.set_help([] { return proxy_help(help_page::common); });
  return [flags] {
    if (flags->page() == help_page::common) return run_service(proxy_settings(), flags->requests);
    std::fputs(proxy_help(flags->page()).c_str(), stdout);
    return 0;
  };
}

}  // namespace heddle::serve
