// SPDX-License-Identifier: MIT
// Gives the options of the verbs to the parser, CLI11, and turns its errors into messages for
// users: its messages name its types ("1 required TEXT missing"); these name the option.
#include "serve/command.hh"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "source/nearest.hh"
#include "source/print_error.hh"

namespace heddle::serve {
namespace {

using word_pairs = std::vector<std::pair<std::string, std::string>>;

CLI::Option* add(CLI::App& app, const std::string& names, const value_function& f) {
  const auto one = [call = f.call](const std::string& value) { call({value}); };
  const auto two = [call = f.call](const word_pairs& pairs) {
    std::vector<std::string> words;
    for (const auto& [first, second] : pairs) words.insert(words.end(), {first, second});
    call(words);
  };
  switch (f.takes) {
    case values_taken::none:
      return app.add_flag(names)->each(one);
    case values_taken::one:
      return app.add_option_function<std::string>(names, one);
    case values_taken::last:
      return app.add_option_function<std::string>(names, one)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    case values_taken::each:
      return app.add_option_function<std::vector<std::string>>(names, f.call)
          ->allow_extra_args(false);
    case values_taken::pair:
      return app.add_option_function<word_pairs>(names, two);
    case values_taken::list:
      break;
  }
  return app.add_option_function<std::vector<std::string>>(names, f.call);
}
CLI::Option* add(CLI::App& app, const std::string& names, bool* target) {
  return app.add_flag(names, *target);
}
template <class Value>
CLI::Option* add(CLI::App& app, const std::string& names, Value* target) {
  return app.add_option(names, *target);
}

void limit(CLI::Option& o, accepts what) {
  if (what == accepts::share) o.check(CLI::Range(0.0, 1.0));
  if (what == accepts::positive) o.check(CLI::PositiveNumber);
  if (what == accepts::not_negative) o.check(CLI::NonNegativeNumber);
  if (what == accepts::folder) o.check(CLI::ExistingDirectory);
}
void limit(CLI::Option& o, whole_range r) { o.check(CLI::Range(r.least, r.most)); }
void limit(CLI::Option& o, const choices& words) { o.check(CLI::IsMember(words)); }

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The option whose value is missing; the parser's message begins with its name.
const CLI::Option* named_first(const CLI::App& app, const std::string& text) {
  return app.get_option_no_throw(text.substr(0, text.find(':')));
}

/// The two lines of print_error().
struct mistake {
  std::string what;
  std::string help;
};

early_end end_of(const mistake& m) {
  return {.code = 2, .error = source::error_text(m.what, m.help)};
}

mistake without_value(const CLI::Option& o) {
  return {o.get_name() + " needs a value", "write " + o.get_name() + ' ' + o.get_type_name()};
}

/// The option of a word "--name=", if it takes a value: the parser would take the next word for it.
/// Words for another program are not looked at.
const CLI::Option* given_empty(const CLI::App& app, std::span<const std::string> words) {
  if (app.get_prefix_command()) return nullptr;
  for (const std::string_view word : words) {
    if (word == "--") break;
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    const CLI::Option* const o =
        app.get_option_no_throw(std::string(word.substr(0, word.size() - 1)));
    if (o != nullptr && o->get_expected_max() != 0) return o;
  }
  return nullptr;
}

/// Describes an error of the parser. `name` is the command's whole name, as in "heddle draft run".
mistake describe(const CLI::ParseError& e, const CLI::App& app, const std::string& name) {
  const std::string lists = name + " --help lists the options";
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const std::vector<std::string> extra = app.remaining();
    const auto flag =
        std::ranges::find_if(extra, [](const std::string& word) { return word.starts_with('-'); });
    if (flag != extra.end()) {
      const std::string unknown = flag->substr(0, flag->find('='));
      const std::string close = source::nearest(unknown, flags_of(app));
      return {name + " has no option " + unknown,
              close.empty() ? lists : "did you mean " + close + "? " + lists};
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr)
    if (const CLI::Option* option = named_first(app, e.what())) return without_value(*option);
  return {e.what(), lists};
}

}  // namespace

/// Commands are no subcommands of the parser's: the parser would take any word that equals the name
/// of a subcommand for that subcommand, even the value of an option.
struct command::parser {
  parser(std::string_view what, std::string_view name)
      : app(std::string(what), std::string(name)) {}

  CLI::App app;
  std::string above;  ///< names of the commands above, as in "heddle draft"
  std::pair<std::string, std::string> help_flag{"-h,--help", "Print this help message and exit"};
  std::vector<std::unique_ptr<command>> below = {};
  bool needs_command = false;
  bool given = false;

  [[nodiscard]] std::string name() const {
    return above.empty() ? app.get_name() : above + ' ' + app.get_name();
  }
  [[nodiscard]] std::string names_below() const {
    std::string names;
    for (const auto& each : below)
      names += (names.empty() ? "" : ", ") + each->parser_->app.get_name();
    return names;
  }
  /// Lists the commands below, which the parser does not know otherwise.
  [[nodiscard]] std::string help() {
    for (const auto& each : below)
      app.add_subcommand(each->parser_->app.get_name(), each->parser_->app.get_description());
    return app.help(above);
  }
};

command::command(std::string_view name, std::string_view what)
    : parser_(std::make_unique<parser>(what, name)) {}
command::~command() = default;

command& command::add_command(std::string_view name, std::string_view what) {
  auto added = std::make_unique<command>(name, what);
  added->parser_->above = parser_->name();
  added->set_help_flag(parser_->help_flag.first.c_str(), parser_->help_flag.second.c_str());
  return *parser_->below.emplace_back(std::move(added));
}

void command::add_options(std::initializer_list<option> table) {
  for (const option& row : table) {
    CLI::Option& o = *std::visit(
        [&](const auto& target) { return add(parser_->app, row.names, target); }, row.target);
    o.description(row.help);
    std::visit([&o](const auto& values) { limit(o, values); }, row.rules.values);
    if (!row.rules.value_name.empty()) o.type_name(row.rules.value_name);
    if (row.rules.required) o.required();
    if (row.rules.show_default) o.capture_default_str();
  }
}

void command::set_help_flag(const char* names, const char* what) {
  parser_->help_flag = {names, what};
  parser_->app.set_help_flag(names, what);
}
void command::set_version_flag(const char* name, const char* version) {
  parser_->app.set_version_flag(name, version);
}
void command::require_command() { parser_->needs_command = true; }
void command::take_rest() { parser_->app.prefix_command(); }
void command::take_unknown() { parser_->app.allow_extras(); }
void command::set_footer(const std::string& text) { parser_->app.footer(text); }
void command::set_help(std::function<std::string()> text) {
  parser_->app.formatter_fn([text = std::move(text)](const CLI::App*, const std::string&,
                                                     CLI::AppFormatMode) { return text(); });
}

std::optional<int> command::parse(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::optional<early_end> end = read(words);
  if (!end) return std::nullopt;
  std::fputs(end->output.c_str(), stdout);
  std::fputs(end->error.c_str(), stderr);
  return end->code;
}

std::optional<early_end> command::read(std::span<const std::string> words) {
  parser_->given = true;
  CLI::App& app = parser_->app;
  std::size_t flags = 0;  // words of this command's options, before the name of a command below
  while (flags < words.size()) {
    // The value may be a part of the word: --name=value, -nvalue.
    std::string name(words[flags]);
    const std::size_t end = name.starts_with("--") ? name.find('=') : 2;
    const bool has_value = name.starts_with('-') && end < name.size();
    if (has_value) name.resize(end);
    const CLI::Option* const o = app.get_option_no_throw(name);
    if (o == nullptr || o->get_positional()) break;
    flags += has_value || o->get_expected_max() == 0 ? 1 : 2;
  }
  flags = std::min(flags, words.size());
  const auto named = [&](const auto& each) {
    return flags != words.size() && each->parser_->app.get_name() == words[flags];
  };
  const auto found = std::ranges::find_if(parser_->below, named);
  const bool descends = found != parser_->below.end();
  const std::span<const std::string> own = descends ? words.first(flags) : words;
  if (const CLI::Option* const empty = given_empty(app, own)) return end_of(without_value(*empty));
  try {
    app.parse(std::vector<std::string>(own.rbegin(), own.rend()));  // CLI11 wants the last first
  } catch (const CLI::CallForHelp&) {
    return early_end{.output = parser_->help()};
  } catch (const CLI::CallForVersion& version) {
    return early_end{.output = version.what() + std::string(1, '\n')};
  } catch (const CLI::ParseError& e) {
    return end_of(describe(e, app, parser_->name()));
  }
  if (descends) return (*found)->read(words.subspan(flags + 1));
  if (parser_->needs_command)
    return end_of({parser_->name() + " needs a command: " + parser_->names_below(),
                   parser_->name() + " --help lists them"});
  return std::nullopt;
}

bool command::given() const { return parser_->given; }
std::vector<std::string> command::rest() const { return parser_->app.remaining(); }

}  // namespace heddle::serve
