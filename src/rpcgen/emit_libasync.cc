// SPDX-License-Identifier: MIT
// Writes C++ in the style of libasync's compiler of .x files: types of <rpctypes.h>, constants for
// programs and procedures, an rpc_program for each version, and for each procedure a function that
// calls it and a class for the call in a server.
#include <algorithm>
#include <cctype>
#include <set>

#include "rpcgen/emit_names.hh"

namespace heddle::rpcgen {
namespace {

std::string lower(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// The type of `d` as it is named in a namespace; with its full name if `scope` is null.
std::string libasync_base(const declaration& d, const std::string* scope) {
  switch (d.base) {
    case base_type::nothing:
      return "void";
    case base_type::int32:
      return "int32_t";
    case base_type::uint32:
      return "u_int32_t";
    case base_type::int64:
      return "int64_t";
    case base_type::uint64:
      return "u_int64_t";
    case base_type::real32:
      return "float";
    case base_type::real64:
      return "double";
    case base_type::quadruple:
      return "rpc_opaque<16>";
    case base_type::boolean:
      return "bool";
    case base_type::text:
    case base_type::opaque:
      return "char";
    case base_type::named:
      break;
  }
  return scope != nullptr && d.type->scope == *scope ? safe(d.type->name) : full_name(*d.type);
}

std::string libasync_type(const declaration& d, const std::string* scope) {
  const std::string base = libasync_base(d, scope);
  const std::string size = d.size ? std::to_string(*d.size) : "";
  const std::string bound = d.size ? size : "RPC_INFINITY";
  switch (d.form) {
    case shape::one:
      return base;
    case shape::fixed:
      return d.base == base_type::opaque ? "rpc_opaque<" + size + ">"
                                         : "std::array<" + base + ", " + size + ">";
    case shape::optional:
      return "rpc_ptr<" + base + ">";
    case shape::variable:
      break;
  }
  if (d.base == base_type::text) return "rpc_str<" + bound + ">";
  if (d.base == base_type::opaque) return "rpc_bytes<" + bound + ">";
  return "rpc_vec<" + base + ", " + bound + ">";
}

class libasync_emission {
 public:
  explicit libasync_emission(const specification& s) : spec_(s) {}

  std::string run(const std::string& made_from) {
    out_ = "// Made by heddle rpcgen --libasync from " + made_from +
           "; do not edit.\n#pragma once\n\n#include <span>\n\n#include \"arpc.h\"\n";
    for (const auto& each : spec_.items)
      if (each->kind != item_kind::program) emit(*each);
    for (const auto& each : spec_.items)
      if (each->kind == item_kind::program) program(*each);
    enter("");
    return std::move(out_);
  }

 private:
  void enter(const std::string& scope) {
    if (scope == scope_) return;
    if (!scope_.empty()) out_ += "\n}  // namespace " + scope_ + "\n";
    if (!scope.empty()) out_ += "\nnamespace " + scope + " {\n";
    scope_ = scope;
  }
  void emit(const item& i) {
    if (i.kind == item_kind::verbatim) {
      enter("");
      out_ += i.text + "\n";
      return;
    }
    enter(i.scope);
    for_each_field(i, [&](const declaration& d) {
      if (d.type != nullptr && d.type->order > i.order) announce(*d.type);
    });
    if (is_list_node(i)) announce(i);
    switch (i.kind) {
      case item_kind::constant:
        out_ += "enum : int64_t { " + safe(i.name) + " = " + std::to_string(i.number) + " };\n";
        break;
      case item_kind::enumeration:
        enumeration(i);
        break;
      case item_kind::structure:
        structure(i);
        break;
      case item_kind::choice:
        choice(i);
        break;
      case item_kind::alias:
        out_ += "typedef " + libasync_type(i.fields.front(), &i.scope) + " " + safe(i.name) + ";\n";
        break;
      case item_kind::program:
      case item_kind::verbatim:
        break;
    }
  }
  /// Declares a type that is used before its definition.
  void announce(const item& i) {
    if (!announced_.insert(&i).second) return;
    out_ += "\nstruct " + safe(i.name) + ";\n";
    if (is_list_node(i)) out_ += tail_head(i) + ";\n";
  }
  static std::string tail_head(const item& i) {
    return "heddle::xdr::link<" + safe(i.name) + ">& tail_of(" + safe(i.name) + "& v) noexcept";
  }
  void enumeration(const item& i) {
    const std::string name = safe(i.name);
    out_ += "\nenum " + name + " : int32_t {\n";
    for (const enumerator& e : i.enumerators)
      out_ += "  " + safe(e.name) + " = " + std::to_string(e.number) + ",\n";
    std::vector<enumerator> sorted = i.enumerators;
    std::ranges::sort(sorted, {}, &enumerator::number);
    out_ += "};\ninline constexpr heddle::xdr::named_value values_of_" + name + "[] = {\n";
    for (const enumerator& e : sorted)
      out_ += "    {" + std::to_string(e.number) + ", \"" + e.name + "\"},\n";
    out_ += "};\nconstexpr std::span<const heddle::xdr::named_value> values_of(" + name +
            ") noexcept {\n  return values_of_" + name + ";\n}\n";
  }
  void begin_description(const item& i) {
    out_ += "template <class A, heddle::xdr::form_of<" + safe(i.name) +
            "> V>\nbool describe(A& a, V& v) {\n";
  }
  void structure(const item& i) {
    out_ += "\nstruct " + safe(i.name) + " {\n";
    for (const declaration& d : i.fields)
      out_ += "  " + field_type(i, d) + " " + field_name(i, d.name) + "{};\n";
    out_ += "};\n";
    begin_description(i);
    for (const declaration& d : i.fields)
      out_ += (&d == &i.fields.front() ? "  return a(\"" : " &&\n         a(\"") + d.name +
              "\", v." + field_name(i, d.name) + ")";
    out_ += ";\n}\n";
    if (is_list_node(i))
      out_ += "inline " + tail_head(i) + " {\n  return v." + field_name(i, i.fields.back().name) +
              ".beneath();\n}\n";
  }
  /// The type of a field; with its full name if a field of the struct has the same name.
  static std::string field_type(const item& in, const declaration& d) {
    bool hidden = false;
    for_each_field(in, [&](const declaration& other) {
      hidden = hidden || (d.type != nullptr && safe(other.name) == safe(d.type->name));
    });
    return libasync_type(d, hidden ? nullptr : &in.scope);
  }
  void choice(const item& i) {
    const std::string name = safe(i.name);
    const std::string tag = libasync_type(i.discriminant, &i.scope);
    const std::string tag_name = field_name(i, i.discriminant.name);
    std::string first, arms, cases, selects, visits;
    std::string otherwise = "heddle::xdr::no_arm";
    for (std::size_t n = 0; n != i.arms.size(); ++n) {
      const arm& a = i.arms[n];
      const std::string index = std::to_string(n);
      if (a.values.empty()) otherwise = index;
      for (const std::int64_t v : a.values) {
        if (first.empty()) first = case_text(i, v);
        cases += "    if (tag == " + case_text(i, v) + ") return " + index + ";\n";
      }
      if (a.field.base == base_type::nothing) {
        visits += "    case " + index + ":\n      return true;\n";
        continue;
      }
      const std::string field = field_name(i, a.field.name);
      arms += "  union_entry<" + field_type(i, a.field) + "> " + field + ";\n";
      selects += "    " + field + ".select(arm == " + index + ");\n";
      visits += "    case " + index + ":\n      return heddle::libasync::describe_arm(a, \"" +
                a.field.name + "\", v." + field + ");\n";
    }
    out_ += "\nstruct " + name + " {\n  " + tag + " " + tag_name + ";\n" + arms + "\n  explicit " +
            name + "(" + tag + " to = " + first + ") : " + tag_name +
            "(to) { select(arm_of(to)); }\n  void set_" + tag_name + "(" + tag + " to) {\n    " +
            tag_name + " = to;\n    select(arm_of(to));\n  }\n  void select(" +
            (selects.empty() ? "std::size_t) {}\n" : "std::size_t arm) {\n" + selects + "  }\n") +
            "  static constexpr std::size_t arm_of(" + tag + " tag) noexcept {\n" +
            (cases.empty() ? "    static_cast<void>(tag);\n" : cases) + "    return " + otherwise +
            ";\n  }\n};\n";
    begin_description(i);
    out_ += "  switch (heddle::libasync::describe_tag<" + std::to_string(i.arms.size()) +
            ">(a, \"" + i.discriminant.name + "\", v, v." + tag_name + ")) {\n" + visits +
            "  }\n  return false;\n}\n";
  }

  void program(const item& i) {
    enter("");
    for (const version& v : i.versions) {
      for (const procedure& p : v.procedures)
        if (p.arguments.size() > 1) arguments(i, v, p);
    }
    out_ += "\nenum { " + safe(i.name) + " = " + std::to_string(i.number) + "u };\n";
    for (const version& v : i.versions) {
      out_ += "enum { " + safe(v.name) + " = " + std::to_string(v.number) + " };\nenum {\n";
      for (const procedure& p : v.procedures)
        out_ += "  " + safe(p.name) + " = " + std::to_string(p.number) + ",\n";
      const std::string called = lower(i.name) + "_" + std::to_string(v.number);
      out_ += "};\ninline constexpr rpcgen_table table_of_" + called + "[] = {\n";
      for (const procedure& p : v.procedures)
        out_ += "    {" + safe(p.name) + ", \"" + p.name + "\",\n     " +
                type_of(argument_type(v, p)) + ",\n     " + type_of(result_type(p)) + "},\n";
      out_ += "};\ninline constexpr rpc_program " + called + "{" + safe(i.name) + ", " +
              safe(v.name) + ", table_of_" + called + ", " + std::to_string(v.procedures.size()) +
              ", \"" + called + "\"};\n";
    }
    enter(i.scope.empty() ? "RPC" : i.scope);
    for (const version& v : i.versions) {
      const std::string called = lower(i.name) + "_" + std::to_string(v.number);
      out_ += "namespace " + called + " {\n";
      for (const procedure& p : v.procedures) functions(v, p);
      out_ += "}  // namespace " + called + "\n";
    }
  }
  static std::string type_of(const std::string& name) {
    return "&heddle::libasync::rpc_type_of<" + name + ">";
  }
  static std::string argument_name(const version& v, const procedure& p) {
    return v.name + "_" + p.name + "_argument";
  }
  static std::string argument_type(const version& v, const procedure& p) {
    if (p.arguments.empty()) return "void";
    if (p.arguments.size() > 1) return "::" + argument_name(v, p);
    return libasync_type(p.arguments.front(), nullptr);
  }
  static std::string result_type(const procedure& p) { return libasync_type(p.result, nullptr); }
  /// A struct for a procedure of several arguments, which are sent one after another.
  void arguments(const item& i, const version& v, const procedure& p) {
    item made;
    made.kind = item_kind::structure;
    made.name = argument_name(v, p);
    made.order = i.order;
    made.fields = p.arguments;
    for (std::size_t n = 0; n != made.fields.size(); ++n)
      if (made.fields[n].name.empty()) made.fields[n].name = "arg" + std::to_string(n + 1);
    structure(made);
  }
  /// The functions that call a procedure, and the class of a call in a server.
  void functions(const version& v, const procedure& p) {
    const std::string name = safe(lower(p.name));
    const std::string argument = argument_type(v, p);
    const std::string result = result_type(p);
    const std::string number = "::" + safe(p.name);
    const std::string out = result == "void" ? "" : result + "* res, ";
    const std::string to = result == "void" ? "nullptr" : "res";
    // By pointer, as libasync has it, and by reference.
    for (const bool by_pointer : {true, false}) {
      if (argument == "void" && by_pointer) continue;
      const std::string in = argument == "void" ? ""
                             : by_pointer       ? "const " + argument + "* arg, "
                                                : "const " + argument + "& arg, ";
      const std::string from = argument == "void" ? "nullptr" : by_pointer ? "arg" : "&arg";
      const std::string bundle = "rpc_bundle_t(" + number + ", " + from + ", " + to + ")";
      out_ += "inline callbase* " + name + "(ptr<aclnt> c, " + in + out +
              "aclnt_cb done, AUTH* auth = nullptr) {\n  return c->call(" + number + ", " + from +
              ", " + to + ", done, auth);\n}\ntemplate <class R, class Call>\nR w_" + name +
              "(Call call, " + in + out + "event<clnt_stat>::ref done) {\n  return call(" + bundle +
              ", done);\n}\n";
    }
    out_ += "template <class S>\nclass " + name +
            "_srv_t : public heddle::libasync::typed_call<S, " + argument + ", " + result +
            "> {\n public:\n  using heddle::libasync::typed_call<S, " + argument + ", " + result +
            ">::typed_call;\n};\n";
  }

  const specification& spec_;
  std::string out_;
  std::string scope_;
  std::set<const item*> announced_;
};

}  // namespace

void check_libasync(const specification& s, source::diagnostics& found) {
  std::set<std::string> names;
  for (const auto& each : s.items) {
    for (const version& v : each->versions)
      for (const procedure& p : v.procedures)
        if (!names.insert(p.name).second)
          found.error("", p.at, "`" + p.name + "` is the name of a procedure already").hint =
              "with --libasync, names of procedures are constants of the whole file";
    for_each_field(*each, [&](const declaration& d) {
      if (d.form == shape::variable && unaliased(d).base == base_type::boolean)
        found.error("", d.at, "with --libasync there are no lists of bool").hint =
            "use a list of int";
    });
  }
}

std::string to_libasync(const specification& s, const std::string& made_from) {
  return libasync_emission(s).run(made_from);
}

}  // namespace heddle::rpcgen
