// SPDX-License-Identifier: MIT
// Checking names, and completing short ones by the search list.
#include "names/name.hh"

#include <algorithm>

namespace heddle::names::detail {
namespace {

bool host_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool ends_in_number(std::string_view name) noexcept {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last.find_first_not_of("0123456789") == last.npos;
}

}  // namespace

std::string name_problem(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty()) return "it is empty";
  if (host.size() > name_bytes_max)
    return "it has " + std::to_string(host.size()) + " bytes; names have at most 253";
  std::size_t label = 0;
  for (const char c : host) {
    if (c == '.') {
      if (label == 0) return "it has an empty label (two dots, or one at the front)";
      label = 0;
      continue;
    }
    if (static_cast<unsigned char>(c) >= 0x80)
      return "it has letters beyond ASCII; write it in Punycode (xn--...)";
    if (!host_letter(c)) {
      const bool printable = c > ' ' && c < 0x7f;
      return "a name has letters, digits, '-', '_' and '.', but no " +
             (printable ? std::string("'") + c + "'" : std::string("space or control character"));
    }
    if (++label > label_bytes_max) return "a label of it has more than 63 bytes";
  }
  return label == 0 ? "it has an empty label (two dots, or one at the front)" : "";
}

std::string plain_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string plain(host);
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return plain;
}

std::vector<std::string> candidates(std::string_view host, const std::vector<std::string>& search,
                                    std::uint32_t ndots) {
  const std::string plain = plain_name(host);
  const bool number = ends_in_number(plain);
  if (host.ends_with('.')) return number ? std::vector<std::string>() : std::vector{plain};
  const bool full_first = static_cast<std::size_t>(std::ranges::count(plain, '.')) >= ndots;
  std::vector<std::string> all;
  if (full_first && !number) all.push_back(plain);
  for (const std::string& domain : search)
    if (plain.size() + 1 + domain.size() <= name_bytes_max) all.push_back(plain + '.' + domain);
  if (!full_first && !number) all.push_back(plain);
  return all;
}

bool lies_in(std::string_view name, std::string_view domain) noexcept {
  return name == domain || (name.size() > domain.size() && name.ends_with(domain) &&
                            name[name.size() - domain.size() - 1] == '.');
}

}  // namespace heddle::names::detail
