// SPDX-License-Identifier: MIT
// Definitions: constants, types, programs, namespaces.
#include <algorithm>
#include <utility>

#include "rpcgen/parser.hh"

namespace heddle::rpcgen {
namespace {

constexpr int namespaces_nested_max = 64;

}  // namespace

specification parse(const source::source_file& file, source::diagnostics& found) {
  return parsing(file, found).run();
}

specification parsing::run() {
  try {
    while (now_.kind != token_kind::end) definition();
  } catch (const stopped&) {
    return std::move(made_);
  }
  resolve(made_, types_, found_);
  return std::move(made_);
}

void parsing::enum_body(const std::string& called, source::span at) {
  std::vector<enumerator> all;
  expect("{");
  do {
    source::span place;
    const std::string each = name(place);
    std::int64_t number = all.empty() ? 0 : all.back().number + 1;
    if (take("=")) number = constant();
    if (number < INT32_MIN || number > INT32_MAX)
      found_.error("", place, "`" + each + "` does not fit in 32 bits");
    claim(each, place);
    define_value(each, number);
    all.push_back({each, number});
  } while (take(","));
  expect("}");
  item& made = add(item_kind::enumeration, called, at);
  made.enumerators = std::move(all);
  define_type(made);
}

void parsing::struct_body(const std::string& called, source::span at) {
  std::vector<declaration> fields;
  expect("{");
  do {
    declaration d = declare(called + "_" + std::to_string(fields.size() + 1));
    expect(";");
    if (d.base == base_type::nothing) stop(d.type_at, "a struct has no void fields");
    unique_field(fields, d);
    fields.push_back(std::move(d));
  } while (!is("}"));
  expect("}");
  item& made = add(item_kind::structure, called, at);
  made.fields = std::move(fields);
  define_type(made);
}

void parsing::unique_field(const std::vector<declaration>& fields, const declaration& d) {
  for (const declaration& before : fields)
    if (before.name == d.name)
      found_.error("", d.at, "`" + d.name + "` is a field already")
          .notes.push_back({before.at, "this one"});
}

void parsing::union_body(const std::string& called, source::span at) {
  std::vector<arm> arms;
  expect("switch");
  expect("(");
  declaration discriminant = declare(called + "_tag");
  expect(")");
  expect("{");
  bool has_default = false;
  while (!is("}")) {
    arm next;
    const source::span begin = now_.at;
    if (take("default")) {
      expect(":");
      if (std::exchange(has_default, true)) stop(begin, "the union has a default already");
    } else {
      do {
        expect("case");
        const source::span place = now_.at;
        next.values.push_back(constant());
        for (const arm& each : arms) refuse_again(each, next.values.back(), place);
        expect(":");
      } while (is("case"));
    }
    next.field = declare(called + "_" + std::to_string(arms.size() + 1));
    expect(";");
    if (next.field.base != base_type::nothing) {
      std::vector<declaration> before{discriminant};
      for (const arm& each : arms) before.push_back(each.field);
      unique_field(before, next.field);
    }
    arms.push_back(std::move(next));
  }
  const source::span end = now_.at;
  expect("}");
  if (arms.empty() || (arms.size() == 1 && has_default))
    stop(end, "a union needs a case", "write `case VALUE: TYPE NAME;`");
  item& made = add(item_kind::choice, called, at);
  made.discriminant = std::move(discriminant);
  made.arms = std::move(arms);
  define_type(made);
}

void parsing::refuse_again(const arm& before, std::int64_t v, source::span at) {
  if (std::ranges::find(before.values, v) != before.values.end())
    found_.error("", at, "the value " + std::to_string(v) + " has an arm already");
}

void parsing::program(source::span at) {
  const std::string called = name(at);
  std::vector<version> versions;
  expect("{");
  do {
    expect("version");
    version v;
    source::span place;
    v.name = name(place);
    claim(v.name, place);
    expect("{");
    while (!is("}")) v.procedures.push_back(one_procedure(v));
    expect("}");
    expect("=");
    v.number = unsigned_constant("a version", 0);
    expect(";");
    versions.push_back(std::move(v));
  } while (!is("}"));
  expect("}");
  expect("=");
  const std::uint32_t number = unsigned_constant("a program's number", 0);
  expect(";");
  item& made = add(item_kind::program, called, at);
  made.number = number;
  made.order = ~std::size_t{0};  // behind all types, which it may use before their definitions
  made.versions = std::move(versions);
  define_value(called, number);
}

procedure parsing::one_procedure(const version& in) {
  procedure p;
  p.result = argument_type();
  source::span at;
  p.name = name(at);
  p.at = at;
  expect("(");
  do {
    declaration d = argument_type();
    if (now_.kind == token_kind::word) d.name = name(d.at);  // as some programs write
    if (d.base != base_type::nothing) p.arguments.push_back(std::move(d));
  } while (take(","));
  expect(")");
  expect("=");
  p.number = unsigned_constant("a procedure's number", 0);
  expect(";");
  for (const procedure& before : in.procedures)
    if (before.number == p.number || before.name == p.name)
      found_.error("", at, "`" + before.name + "` has this name or number already");
  return p;
}

declaration parsing::argument_type() {
  declaration d = specifier("");
  if (d.base == base_type::text || d.base == base_type::opaque) {
    if (d.base == base_type::opaque || !(is("<") || is(")") || now_.kind == token_kind::word))
      stop(d.type_at, "an opaque argument or result needs a typedef");
    d.form = shape::variable;
    if (take("<")) {
      if (!is(">")) d.size = unsigned_constant("a length", 0);
      expect(">");
    }
  }
  if (take("*")) d.form = shape::optional;
  return d;
}

void parsing::definition() {
  const source::span at = now_.at;
  if (now_.kind == token_kind::verbatim) {
    add(item_kind::verbatim, "", at).text = std::string(now_.text);
    return advance();
  }
  if (take("const")) {
    source::span place;
    const std::string called = name(place);
    expect("=");
    const std::int64_t v = constant();
    expect(";");
    add(item_kind::constant, called, place).number = v;
    return define_value(called, v);
  }
  if (take("typedef")) {
    declaration d = declare("typedef");
    expect(";");
    if (d.base == base_type::nothing) stop(at, "a typedef of void has no values");
    if (d.type_name == "typedef" && d.form == shape::one) {  // typedef enum {...} name;
      item& anonymous = *made_.items.back();
      types_.erase(full(scope_, anonymous.name));
      places_.erase(full(scope_, anonymous.name));
      anonymous.name = d.name;
      claim(d.name, d.at);
      return define_type(anonymous);
    }
    // C needs `typedef struct a a;`, and here it says nothing.
    if (d.type_name == d.name && d.form == shape::one) return;
    if (d.type_name == "typedef") stop(d.type_at, "give this type a name of its own first");
    item& made = add(item_kind::alias, d.name, d.at);
    made.fields.push_back(std::move(d));
    return define_type(made);
  }
  if (take("enum")) {
    source::span place;
    const std::string called = name(place);
    enum_body(called, place);
    return expect(";");
  }
  if (take("struct")) {
    source::span place;
    const std::string called = name(place);
    struct_body(called, place);
    return expect(";");
  }
  if (take("union")) {
    source::span place;
    const std::string called = name(place);
    union_body(called, place);
    return expect(";");
  }
  if (take("program")) return program(at);
  if (take("namespace")) return name_space();
  stop(at, "a definition cannot begin with " + shown(),
       "definitions begin with const, typedef, enum, struct, union, program or namespace");
}

void parsing::name_space() {
  const std::string outer = scope_;
  do {
    scope_ = full(scope_, name());
  } while (take(":") && (expect(":"), true));
  if (take(";")) return;  // until the end of the file
  expect("{");
  if (depth_ == namespaces_nested_max) stop(now_.at, "namespaces are nested too deeply");
  ++depth_;
  while (!is("}")) {
    if (now_.kind == token_kind::end) expect("}");
    definition();
  }
  --depth_;
  expect("}");
  take(";");
  scope_ = outer;
}

}  // namespace heddle::rpcgen
