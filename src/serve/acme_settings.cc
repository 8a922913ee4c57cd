// SPDX-License-Identifier: MIT
// Values of the settings of --acme.
#include "serve/acme_settings.hh"

#include "serve/options.hh"
#include "serve/values.hh"

namespace heddle::serve {

void set_acme(serve_options& o, std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == 0 || at == text.npos || at + 1 == text.size() ||
      text.find_first_of(" \t,\"<>") != text.npos)
    throw bad_setting("'" + std::string(text) +
                      "' is no address of e-mail; write someone@example.org");
  o.acme.email = text;
}

void add_acme_name(serve_options& o, std::string_view text) {
  for (const std::string_view name : words_of(text)) {
    if (name.find_first_of("/:@*") != name.npos)
      throw bad_setting("'" + std::string(name) + "' is no name of a host; write www.example.org");
    o.acme.names.emplace_back(name);
  }
}

void set_acme_directory(serve_options& o, std::string_view text) {
  if (!text.starts_with("https://") && !text.starts_with("http://"))
    throw bad_setting("'" + std::string(text) +
                      "' is no address of a directory; write https://...");
  o.acme.directory = text;
}

void set_acme_account(serve_options& o, std::string_view text) {
  if (words_of(text).size() != 2)
    throw bad_setting("write the id and the key that the authority gave, with a space between");
  o.acme.account = text;
}

void check_acme(const serve_options& o) {
  if (o.acme.email.empty() && o.acme != acme_settings())
    throw bad_setting("settings of acme are given, but no account: add --acme EMAIL");
}

}  // namespace heddle::serve
