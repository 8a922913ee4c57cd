// SPDX-License-Identifier: MIT
// Finds the types that declarations name, and checks the values of unions.
#include <algorithm>

#include "rpcgen/scopes.hh"
#include "source/nearest.hh"

namespace heddle::rpcgen {
namespace {

class resolving {
 public:
  resolving(const std::map<std::string, item*>& types, source::diagnostics& found)
      : types_(types), found_(found) {}

  void resolve(item& in) {
    for (declaration& d : in.fields) resolve(in, d);
    for (arm& a : in.arms) resolve(in, a.field);
    for (version& v : in.versions) {
      for (procedure& p : v.procedures) {
        resolve(in, p.result);
        for (declaration& d : p.arguments) resolve(in, d);
      }
    }
    if (in.kind == item_kind::choice) resolve_union(in);
  }

 private:
  /// Names that other compilers take from C, unless the file defines them itself.
  static base_type type_of_c(std::string_view name) {
    static constexpr std::pair<std::string_view, base_type> all[] = {
        {"u_char", base_type::uint32},    {"u_short", base_type::uint32},
        {"u_int", base_type::uint32},     {"u_long", base_type::uint32},
        {"int32_t", base_type::int32},    {"uint32_t", base_type::uint32},
        {"u_int32_t", base_type::uint32}, {"int64_t", base_type::int64},
        {"uint64_t", base_type::uint64},  {"u_int64_t", base_type::uint64}};
    const auto at = std::ranges::find(all, name, [](const auto& each) { return each.first; });
    return at == std::end(all) ? base_type::named : at->second;
  }
  void resolve(item& in, declaration& d) {
    if (d.base != base_type::named) return;
    item* const* const known = find(types_, in.scope, d.type_name);
    if (known == nullptr) {
      d.base = type_of_c(d.type_name);
      if (d.base != base_type::named) return;
      if (d.type_name == "netobj" && d.form == shape::one) {
        d.base = base_type::opaque;
        d.form = shape::variable;
        d.size = 1024;
        return;
      }
      std::vector<std::string> names;
      for (const auto& each : types_) names.push_back(each.first);
      const std::string near = source::nearest(d.type_name, names);
      found_.error("", d.type_at, "there is no type `" + d.type_name + "`").hint =
          near.empty() ? "" : "did you mean `" + near + "`?";
      return;
    }
    const item& type = **known;
    const bool later = type.order >= in.order;
    const bool away = d.form == shape::optional || d.form == shape::variable;
    const bool is_struct = type.kind == item_kind::structure || type.kind == item_kind::choice;
    if (later && (!away || !is_struct || type.scope != in.scope)) {
      found_
          .error("", d.type_at,
                 &type == &in ? "`" + type.name + "` contains itself"
                              : "`" + type.name + "` is defined after this place")
          .hint = is_struct ? "define it before, or write `" + type.name + " *" + d.name + "`"
                            : "define it before";
      return;
    }
    d.type = &type;
  }
  void resolve_union(item& in) {
    resolve(in, in.discriminant);
    const declaration& d = unaliased(in.discriminant);
    if (in.discriminant.base == base_type::named && in.discriminant.type == nullptr) return;
    const bool is_enum =
        d.base == base_type::named && d.type != nullptr && d.type->kind == item_kind::enumeration;
    if (d.form != shape::one || (!is_enum && d.base != base_type::int32 &&
                                 d.base != base_type::uint32 && d.base != base_type::boolean)) {
      found_.error("", in.discriminant.at,
                   "a union's discriminant is an int, an unsigned int, a bool or an enum");
      return;
    }
    for (const arm& each : in.arms) {
      for (const std::int64_t v : each.values) {
        const auto same = [&](const enumerator& e) { return e.number == v; };
        const bool valid = is_enum ? std::ranges::any_of(d.type->enumerators, same)
                           : d.base == base_type::int32  ? v >= INT32_MIN && v <= INT32_MAX
                           : d.base == base_type::uint32 ? v >= 0 && v <= 0xffff'ffff
                                                         : v == 0 || v == 1;
        if (!valid)
          found_.error("", in.at,
                       "`" + in.name + "` has a case " + std::to_string(v) +
                           ", which is no value of its discriminant");
      }
    }
  }

  const std::map<std::string, item*>& types_;
  source::diagnostics& found_;
};

}  // namespace

const declaration& unaliased(const declaration& d) {
  const declaration* at = &d;
  while (at->form == shape::one && at->type != nullptr && at->type->kind == item_kind::alias)
    at = &at->type->fields.front();
  return *at;
}

void resolve(specification& s, const std::map<std::string, item*>& types,
             source::diagnostics& found) {
  resolving all(types, found);
  for (const auto& each : s.items) all.resolve(*each);
}

}  // namespace heddle::rpcgen
