// SPDX-License-Identifier: MIT
// Collects the settings: those of the command line override the environment, which overrides the
// file. Every error is reported with its source.
#include <algorithm>
#include <map>

#include "heddle/base/error.hh"
#include "heddle/io/detail/files_here.hh"
#include "serve/setting.hh"
#include "serve/values.hh"
#include "source/nearest.hh"

namespace heddle::serve {
namespace {

constexpr std::size_t config_lines_max = 10'000;  // a longer file is not a file of settings
constexpr std::size_t config_bytes_max = std::size_t{16} << 20;

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string variable_of(const setting_table& of, const setting& s) {
  std::string name(of.variable_prefix);
  for (const char c : s.name) {
    const bool is_letter = c >= 'a' && c <= 'z';
    name += c == '-' ? '_' : static_cast<char>(is_letter ? c - 'a' + 'A' : c);
  }
  return name;
}

std::vector<std::string> names_in_files(const setting_table& of) {
  std::vector<std::string> names;
  for (const setting& s : of.all)
    if (s.name != "config") names.emplace_back(s.name);
  return names;
}

std::string suggestion(const setting_table& of, std::string_view wrong,
                       std::span<const std::string> names) {
  const std::string close = source::nearest(wrong, names);
  return close.empty() ? "they are named as the flags of heddle " + std::string(of.verb) + " --help"
                       : "did you mean " + close + "?";
}

void apply(serve_options& o, const setting& s, std::string_view value, const std::string& where) {
  try {
    s.value.set(o, value);
  } catch (const bad_setting& e) {
    throw bad_setting(where + ": " + e.what());
  }
}

/// Refuses a second value of a setting that takes one: one of the two lines would be ignored.
class seen_lines {
 public:
  void add(const setting& s, std::size_t line, const std::string& where) {
    if (s.value.kind == setting_kind::repeated || s.value.kind == setting_kind::pairs) return;
    const auto [first, is_new] = lines_.try_emplace(&s, line);
    if (!is_new)
      throw bad_setting(where + ": " + std::string(s.name) + " has a value already, in line " +
                        std::to_string(first->second) + "; leave one of the two lines out");
  }

 private:
  std::map<const setting*, std::size_t> lines_;
};

std::string read_settings(const std::string& path) {
  try {
    return heddle::detail::read_file_now(path, "read the settings in", config_bytes_max);
  } catch (const failure& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    throw bad_setting("cannot read the settings in '" + path + "': " + e.code().message());
  }
}

void apply_file(const setting_table& of, serve_options& o, const std::string& path) {
  const std::string whole = read_settings(path);
  std::string_view rest = whole;
  seen_lines seen;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string where = path + ':' + std::to_string(number);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (number > config_lines_max) throw bad_setting(where + ": this is no file of settings");
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    const std::size_t equals = text.find('=');
    const std::string_view name = trim(text.substr(0, equals));
    const setting* s = name == "config" ? nullptr : of.find(name);
    if (s == nullptr)
      throw bad_setting(where + ": there is no setting '" + std::string(name) + "'; " +
                        suggestion(of, name, names_in_files(of)));
    if (equals == text.npos && s->value.kind != setting_kind::on_off)
      throw bad_setting(where + ": write " + std::string(name) + " = " +
                        std::string(s->value.name));
    seen.add(*s, number, where);
    apply(o, *s, equals == text.npos ? "" : trim(text.substr(equals + 1)), where);
  }
}

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_transport(std::string_view text) noexcept {
  return text == "TCP" || text == "UDP" || text == "SCTP";
}

/// Takes the words before an underscore off; all of them if there is none.
std::string_view take_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('_'), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

/// Kubernetes sets variables in each pod for each Service, and docker --link for each link, such as
/// HEDDLE_SERVE_SERVICE_HOST=10.0.0.5, HEDDLE_SERVE_PORT=tcp://10.0.0.5:80 and
/// HEDDLE_SERVE_PORT_80_TCP_ADDR=10.0.0.5 for a Service named heddle-serve. `name` has no prefix.
/// The Service may have a longer name: HEDDLE_SERVE_BLUE_PORT=tcp://10.0.0.5:80.
bool is_service_link(std::string_view name, std::string_view value) {
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view tail = rest;
    const std::string_view word = take_word(rest);
    if (tail == "SERVICE_HOST" || tail == "SERVICE_PORT" || tail.starts_with("SERVICE_PORT_"))
      return true;
    if (word != "PORT") continue;
    if (rest.empty()) return value.find("://") != value.npos;
    std::string_view more = rest;
    if (is_number(take_word(more)) && is_transport(take_word(more)) &&
        (more.empty() || more == "PROTO" || more == "PORT" || more == "ADDR"))
      return true;
  }
  return false;
}

/// Refuses a variable with our prefix that names no setting, because it is a typing error.
/// Kubernetes sets variables that describe a Service; these are no settings, and `note` lists them.
void check_variables(const setting_table& of, const surroundings& around, std::string& note) {
  std::vector<std::string> known;
  for (const setting& s : of.all) known.push_back(variable_of(of, s));
  for (const std::string_view entry : around.variables()) {
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(of.variable_prefix)) continue;
    if (is_service_link(name.substr(of.variable_prefix.size()),
                        entry.substr(std::min(name.size() + 1, entry.size())))) {
      note.append(note.empty() ? "These variables describe a Service and are no settings: " : ", ")
          .append(name);
      continue;
    }
    if (std::ranges::find(known, name) == known.end())
      throw bad_setting("there is no variable " + std::string(name) + "; " +
                        suggestion(of, name, known));
  }
}

void apply_environment(const setting_table& of, serve_options& o) {
  check_variables(of, *o.around, o.note);
  for (const setting& s : of.all) {
    const std::string name = variable_of(of, s);
    const auto found = o.around->variable(name);
    if (!found || is_service_link(name.substr(of.variable_prefix.size()), *found)) continue;
    std::string_view value = *found;
    if (s.value.kind != setting_kind::repeated && s.value.kind != setting_kind::pairs) {
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

serve_options put_together(const setting_table& of, std::span<const setting_request> flags,
                           std::shared_ptr<surroundings> around) {
  serve_options o = of.defaults();
  o.around = std::move(around);
  // The flag or the environment names the file; the file itself cannot.
  const setting& config = *of.config;
  if (const auto named = o.around->variable(variable_of(of, config))) o.config = *named;
  for (const setting_request& f : flags)
    if (f.what == &config) o.config = f.value;
  const std::string path = o.config;
  if (!path.empty()) apply_file(of, o, path);
  apply_environment(of, o);
  o.config = path;
  for (const setting_request& f : flags)
    if (f.what != &config) apply(o, *f.what, f.value, f.where);
  of.check(o);
  return o;
}

}  // namespace heddle::serve
