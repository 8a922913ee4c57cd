// SPDX-License-Identifier: MIT
// Tokens, names, constants, and declarations: a type with a name.
#include <algorithm>
#include <charconv>

#include "rpcgen/parser.hh"
#include "source/nearest.hh"

namespace heddle::rpcgen {
namespace {

constexpr int types_nested_max = 64;

}  // namespace

void parsing::advance() { now_ = tokens_.next(); }

void parsing::stop(source::span at, std::string what, std::string hint) {
  found_.error("", at, std::move(what)).hint = std::move(hint);
  throw stopped();
}

std::string parsing::shown() const {
  if (now_.kind == token_kind::end) return "the end of the file";
  return now_.kind == token_kind::verbatim ? "a % line" : "`" + std::string(now_.text) + "`";
}

bool parsing::is(std::string_view text) const {
  return (now_.kind == token_kind::word || now_.kind == token_kind::mark) && now_.text == text;
}

bool parsing::take(std::string_view text) {
  if (!is(text)) return false;
  advance();
  return true;
}

void parsing::expect(std::string_view text) {
  if (!take(text)) stop(now_.at, "`" + std::string(text) + "` is missing before " + shown());
}

std::string parsing::name(source::span& at) {
  if (now_.kind != token_kind::word) stop(now_.at, "a name is missing before " + shown());
  static constexpr std::string_view words[] = {
      "bool",   "case",    "const",  "default",  "double",    "enum",   "float",
      "hyper",  "int",     "opaque", "program",  "quadruple", "string", "struct",
      "switch", "typedef", "union",  "unsigned", "version",   "void",   "namespace"};
  if (std::ranges::find(words, now_.text) != std::end(words))
    stop(now_.at, shown() + " is a word of the language and no name");
  at = now_.at;
  std::string text(now_.text);
  advance();
  return text;
}

std::string parsing::name() {
  source::span unused;
  return name(unused);
}

item& parsing::add(item_kind kind, std::string called, source::span at) {
  auto& made = *made_.items.emplace_back(std::make_unique<item>());
  made.kind = kind;
  made.scope = scope_;
  made.name = std::move(called);
  made.at = at;
  made.order = made_.items.size();
  if (kind != item_kind::verbatim) claim(made.name, at);
  return made;
}

void parsing::claim(const std::string& called, source::span at) {
  const auto [before, fresh] = places_.try_emplace(full(scope_, called), at);
  if (!fresh)
    found_.error("", at, "`" + called + "` is defined twice")
        .notes.push_back({before->second, "it was defined here"});
}

void parsing::define_value(const std::string& called, std::int64_t number) {
  values_.try_emplace(full(scope_, called), number);
}

void parsing::define_type(item& made) { types_.try_emplace(full(scope_, made.name), &made); }

std::int64_t parsing::constant() {
  const token at = now_;
  advance();
  if (at.kind == token_kind::word) {
    if (at.text == "TRUE" || at.text == "FALSE") return at.text == "TRUE" ? 1 : 0;
    if (const std::int64_t* const known = find(values_, scope_, std::string(at.text)))
      return *known;
    std::vector<std::string> names;
    for (const auto& each : values_) names.push_back(each.first);
    const std::string near = source::nearest(at.text, names);
    stop(at.at, "there is no constant `" + std::string(at.text) + "` before this place",
         near.empty() ? "" : "did you mean `" + near + "`?");
  }
  if (at.kind != token_kind::number)
    stop(at.at, "a number or the name of a constant is missing here");
  std::string_view digits = at.text;
  const bool minus = digits.starts_with('-');
  if (minus) digits.remove_prefix(1);
  int radix = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    radix = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.starts_with('0')) {
    radix = 8;
    digits.remove_prefix(1);
  }
  std::uint64_t number = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, radix);
  if (failed != std::errc() || end != digits.data() + digits.size() || number >> 63 != 0)
    stop(at.at, "`" + std::string(at.text) + "` is no number of at most 63 bits");
  const auto whole = static_cast<std::int64_t>(number);
  return minus ? -whole : whole;
}

std::uint32_t parsing::unsigned_constant(const char* what, std::int64_t least) {
  const source::span at = now_.at;
  const std::int64_t v = constant();
  if (v < least || v > 0xffff'ffff)
    found_.error("", at,
                 std::string(what) + " must be from " + std::to_string(least) +
                     " to 4294967295, and this is " + std::to_string(v));
  return static_cast<std::uint32_t>(v);
}

declaration parsing::specifier(const std::string& outer) {
  declaration d;
  d.type_at = now_.at;
  if (take("void")) return d;
  if (take("unsigned")) {
    d.base = take("hyper") ? base_type::uint64 : base_type::uint32;
    // XDR has no shorter integers: other compilers write these as 32 bits, too.
    if (d.base == base_type::uint32) take("int") || take("long") || take("short") || take("char");
    return d;
  }
  static constexpr std::pair<const char*, base_type> simple[] = {
      {"int", base_type::int32},    {"hyper", base_type::int64},
      {"float", base_type::real32}, {"double", base_type::real64},
      {"bool", base_type::boolean}, {"quadruple", base_type::quadruple},
      {"string", base_type::text},  {"opaque", base_type::opaque},
      {"long", base_type::int32},   {"short", base_type::int32},
      {"char", base_type::int32}};
  for (const auto& [word, base] : simple) {
    if (!take(word)) continue;
    d.base = base;
    return d;
  }
  d.base = base_type::named;
  const bool is_enum = is("enum");
  const bool is_struct = is("struct");
  if (is_enum || is_struct || is("union")) {
    advance();
    if ((is_enum || is_struct) ? is("{") : is("switch")) {
      d.type_name = outer;
      if (depth_ == types_nested_max) stop(now_.at, "types are nested too deeply");
      ++depth_;
      is_enum     ? enum_body(outer, d.type_at)
      : is_struct ? struct_body(outer, d.type_at)
                  : union_body(outer, d.type_at);
      --depth_;
      return d;
    }
  }
  d.type_name = name(d.type_at);
  while (is(":")) {
    expect(":");
    expect(":");
    d.type_name += "::" + name();
  }
  return d;
}

declaration parsing::declare(const std::string& outer) {
  // An anonymous type needs the field's name, which follows it.
  declaration d = specifier(outer);
  if (d.base == base_type::nothing) return d;
  if (take("*")) d.form = shape::optional;
  d.name = name(d.at);
  if (is("[") || is("<")) {
    const source::span at = now_.at;
    if (d.form == shape::optional)
      stop(at, "an optional type has no length", "give the type a name by typedef first");
    const bool fixed = is("[");
    advance();
    d.form = fixed ? shape::fixed : shape::variable;
    if (!is(">")) d.size = unsigned_constant("a length", fixed ? 1 : 0);
    expect(fixed ? "]" : ">");
  }
  const bool bytes = d.base == base_type::text || d.base == base_type::opaque;
  if (bytes && (d.form == shape::one || d.form == shape::optional))
    stop(d.at, "a string or opaque needs a length", "write `" + d.name + "<>` or `<64>`");
  if (d.base == base_type::text && d.form == shape::fixed)
    stop(d.at, "a string has no fixed length", "write `string " + d.name + "<N>`");
  return d;
}

}  // namespace heddle::rpcgen
