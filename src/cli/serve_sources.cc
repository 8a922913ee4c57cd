// SPDX-License-Identifier: MIT
// Where settings come from: the file and the environment, under what the command line says. Every
// mistake is reported with its place.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "cli/serve_options.hh"

namespace heddle::cli {
namespace {

constexpr std::size_t config_lines_max = 10'000;  // a file that is longer is no file of settings

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

const setting* find_setting(std::string_view name) {
  for (const setting& s : settings())
    if (s.name == name) return &s;
  return nullptr;
}

std::string variable_of(const setting& s) {
  std::string name = "HEDDLE_SERVE_";
  for (const char c : s.name) name += c == '-' ? '_' : static_cast<char>(c & ~0x20);
  return name;
}

void apply(serve_options& o, const setting& s, std::string_view value, const std::string& where) {
  try {
    s.set(o, value);
  } catch (const bad_setting& e) {
    throw bad_setting(where + ": " + e.what());
  }
}

void apply_file(serve_options& o, const std::string& path) {
  std::ifstream in(path);
  if (!in) throw bad_setting("cannot read the settings in '" + path + "'");
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string where = path + ':' + std::to_string(number);
    if (number > config_lines_max) throw bad_setting(where + ": this is no file of settings");
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    const std::size_t equals = text.find('=');
    const std::string_view name = trim(text.substr(0, equals));
    const setting* s = name == "config" ? nullptr : find_setting(name);
    if (s == nullptr)
      throw bad_setting(where + ": there is no setting '" + std::string(name) +
                        "'; they are named as the flags of heddle serve --help");
    if (equals == text.npos && s->kind != setting_kind::on_off)
      throw bad_setting(where + ": write " + std::string(name) + " = " +
                        std::string(s->value_name));
    apply(o, *s, equals == text.npos ? "" : trim(text.substr(equals + 1)), where);
  }
  // A directory can be opened, and only reading it says what it is.
  if (in.bad()) throw bad_setting("cannot read the settings in '" + path + "'");
}

void apply_environment(serve_options& o) {
  for (const setting& s : settings()) {
    const std::string name = variable_of(s);
    const char* found = std::getenv(name.c_str());
    if (found == nullptr) continue;
    std::string_view value = found;
    if (s.kind != setting_kind::repeated) {
      apply(o, s, trim(value), name);
      continue;
    }
    while (!value.empty()) {
      const std::size_t end = std::min(value.find('\n'), value.size());
      if (const std::string_view line = trim(value.substr(0, end)); !line.empty())
        apply(o, s, line, name);
      value.remove_prefix(std::min(end + 1, value.size()));
    }
  }
}

}  // namespace

serve_options put_together(std::span<const setting_request> flags) {
  serve_options o;
  // Which file is read is said by the flag or the environment, never by the file itself.
  const setting& config = *find_setting("config");
  if (const char* named = std::getenv(variable_of(config).c_str())) o.config = named;
  for (const setting_request& f : flags)
    if (f.what == &config) o.config = f.value;
  const std::string path = o.config;
  if (!path.empty()) apply_file(o, path);
  apply_environment(o);
  o.config = path;
  for (const setting_request& f : flags)
    if (f.what != &config) apply(o, *f.what, f.value, f.where);
  return o;
}

}  // namespace heddle::cli
