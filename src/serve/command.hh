// SPDX-License-Identifier: MIT
// The command line of a program: verbs with their options. A verb describes its options in a table,
// one row each, and reads its own variables after parse(). Only command.cc includes the parser,
// CLI11, because its header takes a second to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::serve {

/// How many values an option with a function takes.
enum class values_taken : std::uint8_t {
  none,  ///< no value: a flag, whose value is "true" unless it is given as --NAME=VALUE
  one,   ///< one value; the option may be given once
  last,  ///< one value; the last one given is used
  each,  ///< one value each time that the option is given
  pair,  ///< two values each time that the option is given
  list,  ///< any number of values
};
struct value_function {
  values_taken takes;
  /// Called once with all values; for a flag, once for each time that it is given.
  std::function<void(const std::vector<std::string>&)> call;
};

/// Where the value of an option goes. A variable must outlive parse().
using option_target = std::variant<bool*, std::string*, std::vector<std::string>*, int*,
                                   std::size_t*, double*, value_function>;

/// A limit on the values of an option, beyond what the type of its target can hold.
enum class accepts : std::uint8_t {
  any,
  share,         ///< a number from 0 to 1
  positive,      ///< a number above 0
  not_negative,  ///< 0 or a number above
  folder,        ///< a directory that exists
};
struct whole_range {
  int least;
  int most;
};
using choices = std::vector<std::string>;

struct option_rules {
  std::variant<accepts, whole_range, choices> values = accepts::any;
  std::string value_name = {};  ///< the value in the help text; empty: the target's type
  bool required = false;
  bool show_default = false;  ///< the help text shows the initial value of the variable
};

/// A row of a verb's table.
struct option {
  std::string names;  ///< "-o,--output"; without a dash, as in "FILE", it is positional
  option_target target;
  std::string help = {};
  option_rules rules = {};
};

/// The end of a program because of its command line: it asked for a text, or is wrong.
struct early_end {
  int code = 0;             ///< 0, or 2 for an error
  std::string output = {};  ///< the help text or the version, for standard output
  std::string error = {};   ///< for standard error, in the form of source/print_error.hh
};

/// The program, or one of its verbs. A verb adds its options, and its function runs after parse():
///
///   auto out = std::make_shared<std::string>();
///   verb.add_options({{"-o,--output", out.get(), "A file", {.required = true}}});
///   return [out] { return run(*out); };
///
/// Thread: one. Owns: the commands below it.
/// Fails: two options with one name throw an exception of the parser.
class command {
 public:
  command(std::string_view name, std::string_view what);
  command(const command&) = delete;
  command& operator=(const command&) = delete;
  ~command();

  /// Adds a command below this one, with the same help flag. The command line names it by the first
  /// word that is no option and no option's value; any other word that equals its name is a value.
  command& add_command(std::string_view name, std::string_view what);
  void add_options(std::initializer_list<option> table);
  void set_help_flag(const char* names, const char* what);
  void set_version_flag(const char* name, const char* version);
  /// Requires that one of the commands below this one is given.
  void require_command();
  /// Puts the first unknown word, and all words after it, into rest().
  void take_rest();
  /// Puts unknown words into rest().
  void take_unknown();
  /// Sets the text at the end of the help text.
  void set_footer(const std::string& text);
  /// Replaces the help text.
  void set_help(std::function<std::string()> text);

  /// Reads the words of main(). A result is the exit code, because the help text, the version or an
  /// error has been printed: 0, or 2 for an error.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);
  /// As above, for words behind the program's name, and prints nothing.
  [[nodiscard]] std::optional<early_end> read(std::span<const std::string> words);
  /// Whether the command line names this command.
  [[nodiscard]] bool given() const;
  [[nodiscard]] std::vector<std::string> rest() const;

 private:
  struct parser;

  std::unique_ptr<parser> parser_;
};

}  // namespace heddle::serve
