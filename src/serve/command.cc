// SPDX-License-Identifier: MIT
// Gives the options of the verbs to the parser, CLI11, and turns its errors into messages for
// users: its messages name its types ("1 required TEXT missing"); these name the option.
#include "serve/command.hh"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
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

/// `verb` is the command whose words were parsed; null when there was none.
mistake describe(const CLI::ParseError& e, const CLI::App& program, const CLI::App* verb) {
  const std::string name = program.get_name() + (verb == nullptr ? "" : ' ' + verb->get_name());
  const std::string lists = name + " --help lists the options";
  if (verb == nullptr) return {e.what(), lists};
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const std::vector<std::string> extra = verb->remaining();
    const auto flag =
        std::ranges::find_if(extra, [](const std::string& word) { return word.starts_with('-'); });
    if (flag != extra.end()) {
      const std::string unknown = flag->substr(0, flag->find('='));
      const std::string close = source::nearest(unknown, flags_of(*verb));
      return {name + " has no option " + unknown,
              close.empty() ? lists : "did you mean " + close + "? " + lists};
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr)
    if (const CLI::Option* option = named_first(*verb, e.what()))
      return {option->get_name() + " needs a value",
              "write " + option->get_name() + ' ' + option->get_type_name()};
  return {e.what(), lists};
}

}  // namespace

struct command::parser {
  std::unique_ptr<CLI::App> program;  ///< null for a verb, which its program owns
  CLI::App& app;
  std::vector<std::unique_ptr<command>> below = {};
};

command::command(std::string_view name, std::string_view what) {
  auto program = std::make_unique<CLI::App>(std::string(what), std::string(name));
  CLI::App& app = *program;
  parser_.reset(new parser{std::move(program), app});
}
command::command(std::unique_ptr<parser> of) : parser_(std::move(of)) {}
command::~command() = default;

command& command::add_command(std::string_view name, std::string_view what) {
  CLI::App& app = *parser_->app.add_subcommand(std::string(name), std::string(what));
  std::unique_ptr<parser> of(new parser{nullptr, app});
  parser_->below.emplace_back(new command(std::move(of)));
  return *parser_->below.back();
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
  parser_->app.set_help_flag(names, what);
}
void command::set_version_flag(const char* name, const char* version) {
  parser_->app.set_version_flag(name, version);
}
void command::require_commands(std::size_t least, std::size_t most) {
  parser_->app.require_subcommand(least, most);
}
void command::take_rest() { parser_->app.prefix_command(); }
void command::take_unknown() { parser_->app.allow_extras(); }
void command::set_footer(const std::string& text) { parser_->app.footer(text); }
void command::set_help(std::string (*text)()) {
  parser_->app.formatter_fn(
      [text](const CLI::App*, const std::string&, CLI::AppFormatMode) { return text(); });
}

std::optional<int> command::parse(int argc, char** argv) {
  CLI::App& app = parser_->app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError& e) {
    const auto parsed = app.get_subcommands();
    const mistake wrong = describe(e, app, parsed.empty() ? nullptr : parsed.front());
    source::print_error(wrong.what, wrong.help);
    return 2;
  }
  return std::nullopt;
}

bool command::given() const { return parser_->app.parsed(); }
std::vector<std::string> command::rest() const { return parser_->app.remaining(); }

}  // namespace heddle::serve
