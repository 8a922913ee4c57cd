// SPDX-License-Identifier: MIT
// Writes C++: a struct for each type, one description that readers, writers, printers and
// generators share, and a struct for each procedure.
#include <algorithm>
#include <set>

#include "rpcgen/emit_names.hh"

namespace heddle::rpcgen {
namespace {

constexpr std::int64_t copied_bytes_max = 1024;  // longer opaque data is a chain

std::string base_text(const declaration& d, const std::string& scope, bool qualified) {
  switch (d.base) {
    case base_type::nothing:
      return "void";
    case base_type::int32:
      return "std::int32_t";
    case base_type::uint32:
      return "std::uint32_t";
    case base_type::int64:
      return "std::int64_t";
    case base_type::uint64:
      return "std::uint64_t";
    case base_type::real32:
      return "float";
    case base_type::real64:
      return "double";
    case base_type::quadruple:
      return "std::array<std::byte, 16>";
    case base_type::boolean:
      return "bool";
    case base_type::text:
    case base_type::opaque:
      return "std::byte";
    case base_type::named:
      break;
  }
  return qualified || d.type->scope != scope ? full_name(*d.type) : safe(d.type->name);
}

std::string type_text(const declaration& d, const item& in, bool qualified = false) {
  const std::string base = base_text(d, in.scope, qualified || in.kind == item_kind::program);
  const std::string size = d.size ? std::to_string(*d.size) : "";
  switch (d.form) {
    case shape::one:
      return base;
    case shape::fixed:
      return "std::array<" + base + ", " + size + ">";
    case shape::optional:
      return (is_link(d, in) ? "heddle::xdr::link<" : "std::optional<") + base + ">";
    case shape::variable:
      break;
  }
  if (d.base == base_type::text) return "heddle::xdr::text<" + size + ">";
  if (d.base == base_type::opaque)
    return (d.size && *d.size <= copied_bytes_max ? "heddle::xdr::bytes<"
                                                  : "heddle::xdr::opaque<") +
           size + ">";
  return "heddle::xdr::list<" + base + (size.empty() ? "" : ", " + size) + ">";
}

/// Whether values of the type can be compared: they contain no links.
bool comparable(const item& i, std::set<const item*>& seen) {
  if (!seen.insert(&i).second) return true;
  const auto plain = [&](const declaration& d) {
    return !is_link(d, i) && (d.type == nullptr || comparable(*d.type, seen));
  };
  const auto plain_arm = [&](const arm& a) { return plain(a.field); };
  return std::ranges::all_of(i.fields, plain) && std::ranges::all_of(i.arms, plain_arm);
}

class emission {
 public:
  explicit emission(const specification& s) : spec_(s) {}

  std::string run(const std::string& made_from) {
    out_ = "// Made by heddle rpcgen from " + made_from + "; do not edit.\n#pragma once\n\n" +
           "#include <cstdint>\n#include <optional>\n#include <span>\n#include <variant>\n\n" +
           "#include \"heddle/xdr/types.hh\"\n";
    for (const auto& each : spec_.items)
      if (each->kind != item_kind::program) emit(*each);
    for (const auto& each : spec_.items)
      if (each->kind == item_kind::program) emit(*each);
    enter("");
    return std::move(out_);
  }

 private:
  void emit(const item& each) {
    if (each.kind == item_kind::verbatim) {
      enter("");
      out_ += each.text + "\n";
      return;
    }
    enter(each.scope);
    announce(each);
    switch (each.kind) {
      case item_kind::constant:
        constant(each);
        break;
      case item_kind::enumeration:
        enumeration(each);
        break;
      case item_kind::structure:
        structure(each);
        break;
      case item_kind::choice:
        choice(each);
        break;
      case item_kind::alias:
        out_ += "using " + safe(each.name) + " = " + type_text(each.fields.front(), each) + ";\n";
        break;
      case item_kind::program:
        program(each);
        break;
      case item_kind::verbatim:
        break;
    }
  }
  void enter(const std::string& scope) {
    if (scope == scope_) return;
    if (!scope_.empty()) out_ += "\n}  // namespace " + scope_ + "\n";
    if (!scope.empty()) out_ += "\nnamespace " + scope + " {\n";
    scope_ = scope;
  }
  /// Declares types that links and lists of `i` refer to before they are defined.
  void announce(const item& i) {
    for_each_field(i, [&](const declaration& d) {
      if (d.type != nullptr && d.type->order > i.order && announced_.insert(d.type).second)
        out_ += "\nstruct " + safe(d.type->name) + ";\n" + tail_head(*d.type, true);
    });
    out_ += i.kind == item_kind::constant || i.kind == item_kind::alias ? "" : "\n";
  }
  void constant(const item& i) {
    const bool wide = i.number > 0xffff'ffff || i.number < INT32_MIN;
    out_ += std::string("inline constexpr std::") +
            (wide           ? "int64_t "
             : i.number < 0 ? "int32_t "
                            : "uint32_t ") +
            safe(i.name) + " = " + std::to_string(i.number) + ";\n";
  }
  void enumeration(const item& i) {
    const std::string name = safe(i.name);
    out_ += "enum class " + name + " : std::int32_t {\n";
    for (const enumerator& e : i.enumerators)
      out_ += "  " + safe(e.name) + " = " + std::to_string(e.number) + ",\n";
    out_ += "};\nusing enum " + name + ";\n";
    std::vector<enumerator> sorted = i.enumerators;
    std::ranges::sort(sorted, {}, &enumerator::number);
    out_ += "inline constexpr heddle::xdr::named_value values_of_" + name + "[] = {\n";
    for (const enumerator& e : sorted)
      out_ += "    {" + std::to_string(e.number) + ", \"" + e.name + "\"},\n";
    out_ += "};\nconstexpr std::span<const heddle::xdr::named_value> values_of(" + name +
            ") noexcept {\n  return values_of_" + name + ";\n}\n";
  }
  /// A field whose name is that of a type needs types with their full names.
  static bool needs_full_names(const item& i) {
    bool needed = false;
    std::set<std::string> names{safe(i.discriminant.name)};
    for_each_field(i, [&](const declaration& d) { names.insert(safe(d.name)); });
    const auto look = [&](const declaration& d) {
      needed = needed || (d.type != nullptr && names.contains(safe(d.type->name)));
    };
    for_each_field(i, look);
    look(i.discriminant);
    return needed;
  }
  /// The declaration of tail_of() for a list element; nothing for other types.
  static std::string tail_head(const item& i, bool declared) {
    if (!is_list_node(i)) return {};
    return "heddle::xdr::link<" + safe(i.name) + ">& tail_of(" + safe(i.name) + "& v) noexcept" +
           (declared ? ";\n" : "");
  }
  void begin_description(const item& i) {
    out_ += "template <class A, heddle::xdr::form_of<" + safe(i.name) +
            "> V>\nbool describe(A& a, V& v) {\n  return ";
  }
  void equality(const item& i) {
    std::set<const item*> seen;
    const std::string name = safe(i.name);
    if (comparable(i, seen))
      out_ += "  friend bool operator==(const " + name + "&, const " + name + "&) = default;\n";
  }
  void structure(const item& i) {
    const std::string tail = tail_head(i, false);
    if (!tail.empty() && announced_.insert(&i).second)
      out_ += "struct " + safe(i.name) + ";\n" + tail + ";\n";
    const bool full = needs_full_names(i);
    out_ += "struct " + safe(i.name) + " {\n";
    for (const declaration& d : i.fields)
      out_ += "  " + type_text(d, i, full) + " " + field_name(i, d.name) + "{};\n";
    equality(i);
    out_ += "};\n";
    begin_description(i);
    for (const declaration& d : i.fields)
      out_ += (&d == &i.fields.front() ? "a(\"" : " &&\n         a(\"") + d.name + "\", v." +
              field_name(i, d.name) + ")";
    out_ += ";\n}\n";
    if (!tail.empty())
      out_ += "inline " + tail + " {\n  return v." + field_name(i, i.fields.back().name) + ";\n}\n";
  }
  void choice(const item& i) {
    const bool full = needs_full_names(i);
    const std::string name = safe(i.name);
    const std::string tag = type_text(i.discriminant, i, full);
    const std::string tag_name = field_name(i, i.discriminant.name);
    std::string first;
    std::string types;
    std::string accessors;
    std::string cases;
    std::string otherwise = "heddle::xdr::no_arm";
    for (std::size_t n = 0; n != i.arms.size(); ++n) {
      const arm& a = i.arms[n];
      const bool empty = a.field.base == base_type::nothing;
      const std::string type = empty ? "std::monostate" : type_text(a.field, i, full);
      types += (n == 0 ? "" : ", ") + type;
      const std::string index = std::to_string(n);
      if (a.values.empty()) otherwise = index;
      for (const std::int64_t v : a.values) {
        const std::string text = case_text(i, v);
        if (first.empty()) first = text;
        cases += "    if (tag == " + text + ") return " + index + ";\n";
      }
      if (empty) continue;
      const std::string field = field_name(i, a.field.name);
      accessors += "  " + type + "& " + field + "() { return std::get<" + index + ">(body); }\n" +
                   "  const " + type + "& " + field + "() const { return std::get<" + index +
                   ">(body); }\n";
    }
    const bool first_is_zero = !i.arms.front().values.empty();
    out_ += "struct " + name + " {\n  " + tag + " " + tag_name + " = " + first +
            ";\n  std::variant<" + types + "> body" +
            (first_is_zero ? "" : "{std::in_place_index<1>}") + ";\n\n" +
            "  /// Changes the discriminant, and gives the body a new value of its arm.\n" +
            "  void set(" + tag + " to) {\n    heddle::xdr::set_arm(body, arm_of(to), to);\n    " +
            tag_name + " = to;\n  }\n" + accessors + "  static constexpr std::size_t arm_of(" +
            (cases.empty() ? tag : tag + " tag") + ") noexcept {\n" + cases + "    return " +
            otherwise + ";\n  }\n";
    equality(i);
    out_ += "};\n";
    begin_description(i);
    out_ += "a.choice(\"" + i.discriminant.name + "\", v." + tag_name + ", v.body, &" + name +
            "::arm_of);\n}\n";
  }
  void program(const item& i) {
    out_ +=
        "inline constexpr std::uint32_t " + safe(i.name) + " = " + std::to_string(i.number) + ";\n";
    for (const version& v : i.versions) {
      for (const procedure& p : v.procedures)
        if (p.arguments.size() > 1) arguments(i, v, p);
      const std::string program_number = std::to_string(i.number);
      out_ += "\n/// Version " + std::to_string(v.number) + " of program " + program_number + " (" +
              i.name + ").\nstruct " + safe(v.name) + " {\n";
      const std::string numbers =
          "static constexpr std::uint32_t program = " + program_number +
          ";\n  %static constexpr std::uint32_t version = " + std::to_string(v.number) + ";\n  %";
      out_ += "  " + indented(numbers, "") + "static constexpr const char* name = \"" + v.name +
              "\";\n";
      for (const procedure& p : v.procedures) {
        const std::string argument =
            p.arguments.empty() ? "void"
            : p.arguments.size() > 1
                ? "::" + (i.scope.empty() ? "" : i.scope + "::") + argument_name(v, p)
                : type_text(p.arguments.front(), i);
        out_ += "\n  struct " + safe(p.name) + " {\n    " + indented(numbers, "  ") +
                "static constexpr std::uint32_t number = " + std::to_string(p.number) +
                ";\n    static constexpr const char* name = \"" + v.name + "." + p.name +
                "\";\n    using argument = " + argument +
                ";\n    using result = " + type_text(p.result, i) + ";\n  };\n";
      }
      out_ += "};\n";
    }
  }
  static std::string indented(std::string text, const std::string& by) {
    for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at))
      text.replace(at, 1, by);
    return text;
  }
  static std::string argument_name(const version& v, const procedure& p) {
    return v.name + "_" + p.name + "_argument";
  }
  /// A struct for a procedure of several arguments, which are sent one after another.
  void arguments(const item& i, const version& v, const procedure& p) {
    item made;
    made.kind = item_kind::structure;
    made.scope = i.scope;
    made.name = argument_name(v, p);
    made.order = i.order;
    made.fields = p.arguments;
    for (std::size_t n = 0; n != made.fields.size(); ++n)
      if (made.fields[n].name.empty()) made.fields[n].name = "argument" + std::to_string(n + 1);
    structure(made);
  }

  const specification& spec_;
  std::string out_;
  std::string scope_;
  std::set<const item*> announced_;
};

bool leads_to(const item& from, const item& target, std::set<const item*>& seen) {
  bool found = false;
  for_each_field(from, [&](const declaration& d) {
    if (found || d.type == nullptr) return;
    found = d.type == &target || (seen.insert(d.type).second && leads_to(*d.type, target, seen));
  });
  return found;
}

}  // namespace

bool specification::contains(const item& from, const item& target) {
  std::set<const item*> seen;
  return leads_to(from, target, seen);
}

std::string to_cpp(const specification& s, const std::string& made_from) {
  return emission(s).run(made_from);
}

}  // namespace heddle::rpcgen
