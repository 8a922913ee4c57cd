// SPDX-License-Identifier: MIT
// The parser of .x files: RFC 4506 section 6.3 with the programs of RFC 5531 section 12, and
// namespaces. The first mistake of syntax ends it; mistakes of meaning are collected.
#pragma once

#include "rpcgen/lexer.hh"
#include "rpcgen/scopes.hh"
#include "rpcgen/syntax.hh"

namespace heddle::rpcgen {

struct stopped {};  // thrown after a mistake of syntax

class parsing {
 public:
  parsing(const source::source_file& file, source::diagnostics& found)
      : found_(found), tokens_(file, found) {
    advance();
  }
  specification run();

 private:
  // Tokens (parse_declaration.cc).
  void advance();
  [[noreturn]] void stop(source::span at, std::string what, std::string hint = {});
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] bool is(std::string_view text) const;
  bool take(std::string_view text);
  void expect(std::string_view text);
  std::string name(source::span& at);
  std::string name();

  // Names.
  item& add(item_kind kind, std::string called, source::span at);
  void claim(const std::string& called, source::span at);
  void define_value(const std::string& called, std::int64_t number);
  void define_type(item& made);

  // Values.
  std::int64_t constant();
  /// A number that fits in 32 bits without a sign.
  std::uint32_t unsigned_constant(const char* what, std::int64_t least);

  // Declarations.
  /// The type before a name. `outer` names an anonymous type.
  declaration specifier(const std::string& outer);
  declaration declare(const std::string& outer);

  // Definitions (parse_definition.cc).
  void enum_body(const std::string& called, source::span at);
  void struct_body(const std::string& called, source::span at);
  void unique_field(const std::vector<declaration>& fields, const declaration& d);
  void union_body(const std::string& called, source::span at);
  void refuse_again(const arm& before, std::int64_t v, source::span at);
  void program(source::span at);
  procedure one_procedure(const version& in);
  declaration argument_type();
  void definition();
  void name_space();

  source::diagnostics& found_;
  lexer tokens_;
  token now_;
  int depth_ = 0;  // depth of anonymous types and namespaces
  std::string scope_;
  specification made_;
  std::map<std::string, source::span> places_;
  std::map<std::string, std::int64_t> values_;
  std::map<std::string, item*> types_;
};

}  // namespace heddle::rpcgen
