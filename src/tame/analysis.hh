// SPDX-License-Identifier: MIT
// The constructs of Tame that a source file has. The parser is shallow: it knows brackets,
// functions, lambdas, classes and the dialect's own constructs, and passes over the rest. Both
// outputs (the one for the compiler and the port) are made from this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/diagnostic.hh"
#include "tame/index.hh"
#include "tame/token.hh"

namespace heddle::tame {

enum class dialect : std::uint8_t {
  tamer,  ///< events resume their functions from the loop
  tame,   ///< the original: also CLOSURE, _self, holdvar, mkevent, threaded functions
};

/// A range of the file, in bytes.
struct range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool empty() const noexcept { return begin == end; }
};

struct function;
struct wait_point;
struct variables;
using function_index = index_of<function>;
using wait_index = index_of<wait_point>;
using vars_index = index_of<variables>;
using token_index = index_of<const token*>;  ///< among the tokens that count

/// A parameter of a tamed function that is defined here.
struct parameter {
  range whole;    ///< the parameter without its default argument
  range name;     ///< empty where it has none
  bool borrowed;  ///< a reference, a view or a span: the caller has the object
  bool plain;     ///< no array and no pointer to a function: a name, if any, is the last word
};

/// A tamed function: a declaration, a definition, or a lambda written `[](...) tamed { }`.
struct function {
  enum class form : std::uint8_t { declaration, definition, lambda };
  enum class result_word : std::uint8_t {
    missing,   ///< `tamed f()`, as the paper writes it
    written,   ///< `void tamed f()`
    of_macro,  ///< `tamed` is in a macro's body, with the result
  };
  enum class waiting : std::uint8_t {
    never,
    waits,   ///< a wait is in any branch of a conditional
    waited,  ///< a wait has ended before the token that the parser is at
  };
  range keyword;  ///< `tamed`
  range name;     ///< the name as it is written, qualification included
  range result;   ///< `void`; empty where none is written
  form what = form::declaration;
  result_word before = result_word::missing;
  waiting wait = waiting::never;
  bool trailing_result = false;
  bool varargs = false;
  bool constant = false;  ///< constexpr or consteval
  range open;             ///< `{`
  range close;            ///< `}`
  std::vector<range> returns;
  function_index same_as;  ///< another head of the same body, in another branch

  range statement;  ///< from the first word of the declaration to `tamed`
  std::uint32_t parameters_begin = 0;
  std::size_t parens = 0;  ///< the token that opens the parameters
  std::vector<parameter> parameters;
  range other_result;        ///< a type that is not void, if it has one
  range default_return;      ///< DEFAULT_RETURN { ... } with the braces
  range default_statements;  ///< the text between the braces
  bool member = false;       ///< a member of a class
  bool is_template = false;

  [[nodiscard]] bool is_lambda() const noexcept { return what == form::lambda; }
  [[nodiscard]] bool has_result() const noexcept { return before != result_word::missing; }
  [[nodiscard]] bool by_macro() const noexcept { return before == result_word::of_macro; }
  [[nodiscard]] bool waits() const noexcept { return wait != waiting::never; }
  void note_result() noexcept {
    if (!has_result()) before = result_word::written;
  }
  void note_wait() noexcept {
    if (!waits()) wait = waiting::waits;
  }
};

struct wait_point {
  enum class kind : std::uint8_t { all, next };
  kind what = kind::all;
  function_index function;       ///< without a value in a macro's body and in a threaded function
  range keyword;                 ///< `twait`
  range quiet;                   ///< `volatile`, if it is written
  range description;             ///< the text between `[` and `]`
  range open;                    ///< `{` or `(`
  range close;                   ///< `}` or `)`
  std::vector<range> arguments;  ///< arguments of twait(r, i)
  bool used = false;             ///< the twait is an expression, so it needs parentheses
  bool statement = false;        ///< twait(r, i) is a whole statement
  bool calls = false;            ///< the body calls something
  bool makes_events = false;     ///< the body makes events; those of macros are not seen
};

/// A declaration of a variable in a tvars block that must be changed to be a statement.
struct initializer {
  enum class change : std::uint8_t { wrap, empty };
  change what = change::wrap;
  range value;  ///< wrap: the first argument; empty: `()`
};

struct variables {
  function_index function;
  range keyword;
  range open;
  range close;
  std::vector<initializer> changes;
};

/// A place of the file that an output may have to replace.
struct replacement {
  enum class kind : std::uint8_t {
    qualification,   ///< `tamer::` of a make_event in a twait body
    closure,         ///< CLOSURE in a parameter list, with its comma
    closure_result,  ///< `void` of a declaration that only CLOSURE marks as that of a tamed
                     ///< function
    self,            ///< _self
    holdvar,
    macro_use,      ///< a macro that returns, used in a tamed function
    maker,          ///< make_event or mkevent in a twait body
    maker_outside,  ///< make_event or mkevent elsewhere in a tamed function
    leaves_body,    ///< break or continue in a twait body
  };
  kind what;
  range where;
  function_index function = {};
};

/// Something that is legal and likely to be a mistake. A port reports it.
struct lint {
  const char* code;
  range where;
  std::string message;
  range other;
  const char* about_other = nullptr;
  const char* hint;
};

/// A macro of a header that holds `return`, found by --scan-includes.
struct header_macro {
  std::string name;
  std::string twin;               ///< the lines that define its twin, or take it back
  std::vector<std::string> uses;  ///< other such macros in its body
};
/// The macros that come with one #include line.
struct scanned_include {
  std::uint32_t directive = 0;  ///< where the line begins
  std::uint32_t end = 0;
  std::vector<header_macro> macros;
};

/// A macro of this file that holds `return`: tamed functions use a twin of it.
struct twin_macro {
  range name;
  std::uint32_t end = 0;   ///< end of the #define or #undef line
  bool undefined = false;  ///< the line is an #undef
  std::uint32_t begin = 0;
  std::vector<range> returns;
  std::vector<range> uses;  ///< other such macros in its body
};

struct analysis {
  std::vector<function> functions;
  std::vector<wait_point> waits;
  std::vector<variables> vars;
  std::vector<replacement> replacements;
  std::vector<twin_macro> twins;
  std::vector<lint> lints;
  std::vector<range> api;            ///< `tamer::name` anywhere
  std::uint32_t after_includes = 0;  ///< behind the last #include line that is in no conditional
  bool has_tame = false;             ///< anything of the dialect was found

  [[nodiscard]] function& at(function_index i) { return functions[i.value()]; }
  [[nodiscard]] const function& at(function_index i) const { return functions[i.value()]; }
  [[nodiscard]] wait_point& at(wait_index i) { return waits[i.value()]; }
  [[nodiscard]] variables& at(vars_index i) { return vars[i.value()]; }
};

/// The text of a range.
[[nodiscard]] inline std::string text_of(const source::source_file& file, range r) {
  return std::string(file.text().substr(r.begin, r.end - r.begin));
}

/// Finds all constructs, and reports errors to `out`. `includes` is sorted by place.
[[nodiscard]] analysis analyze(const source::source_file& file, const token_list& tokens,
                               dialect language, source::diagnostics& out,
                               const std::vector<scanned_include>& includes = {});

}  // namespace heddle::tame
