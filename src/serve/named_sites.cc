// SPDX-License-Identifier: MIT
// Chooses a folder by the name that a request was sent to.
#include "serve/named_sites.hh"

#include <algorithm>

namespace heddle::serve {

bool is_named(std::string_view authority, std::string_view name) noexcept {
  // [::1]:80 has its colon behind the bracket.
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  authority = authority.substr(0, colon);
  if (authority.ends_with('.')) authority.remove_suffix(1);  // the root of all names
  if (name.starts_with("*.")) {
    name.remove_prefix(1);
    return authority.size() > name.size() &&
           http::equal_ignoring_case(authority.substr(authority.size() - name.size()), name);
  }
  return http::equal_ignoring_case(authority, name);
}

named_sites::named_sites(bus& b, const serve_options& o) : bus_(b) {
  serve_options each = o;
  each.files.cache_bytes_max /= o.sites.size() + 1;
  for (const auto& [name, directory] : o.sites) {
    each.directory = directory;
    all_.push_back({name, std::make_unique<folder>(each)});
  }
  b.bind<asked, &named_sites::on_asked>(this, 80);
}

flow named_sites::on_asked(question& q) {
  const std::string_view authority = q.request.head().authority();
  const auto found =
      std::ranges::find_if(all_, [&](const one& each) { return is_named(authority, each.name); });
  return found == all_.end() ? flow::go_on : found->files->on_asked(q);
}

bool named_sites::busy() const noexcept {
  return std::ranges::any_of(all_, [](const one& each) { return each.files->busy(); });
}

folder_counters named_sites::counters() const noexcept {
  folder_counters sum;
  for (const one& each : all_) sum += each.files->counters();
  return sum;
}

}  // namespace heddle::serve
