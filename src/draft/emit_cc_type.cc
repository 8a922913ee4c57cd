// SPDX-License-Identifier: MIT
// Types, names and heads of functions in C++.
#include <algorithm>
#include <utility>

#include "draft/c_names.hh"
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"

namespace heddle::draft {

std::string cc_emitter::space_of(const module& m) {
  std::string name = safe(m.c_name);
  bool taken = is_c_function(name);
  for (const auto& each : program_.modules)  // or a name of C that the program declares
    for (const auto& x : each->tree.items) taken |= x->head().is_extern() && x->head().name == name;
  while (taken && names_.contains(name += '_')) {
  }
  return name;
}

std::string cc_emitter::scoped(const module* home, const std::string& name) {
  return home == nullptr || home == module_ ? name : space_of(*home) + "::" + name;
}

std::string cc_emitter::safe(const std::string& name) const {
  const auto found = safe_.find(name);
  return found == safe_.end() ? name : found->second;
}

std::string cc_emitter::name_of(const variable& v) const { return safe(v.name); }

std::string cc_emitter::function_text(const function& f) {
  return scoped(f.home, safe(f.is_main() ? std::string("main") : f.name));
}

std::string cc_emitter::type_text(const type& t, span at) {
  switch (t.kind) {
    case kind::void_:
      return "void";
    case kind::boolean:
      return "bool";
    case kind::duration:
      return "heddle::nanoseconds";
    case kind::error:
      return "draft::error";
    case kind::text:
      return "draft::text<" + std::to_string(t.count) + ">";
    case kind::view:
      return "std::string_view";
    case kind::bytes:
      return "draft::bytes";
    case kind::record: {
      const std::string name(t.record->decl->name);
      if (&t == program_.types.packet()) return "draft::packet";
      if (t.record->decl->is_extern()) return "::" + name;
      // A field of this name would hide the type.
      return fields_.contains(name) ? space_of(*t.record->home) + "::" + safe(name)
                                    : scoped(t.record->home, safe(name));
    }
    case kind::enumeration: {
      const std::string name(t.values->decl->name);
      if (&t == program_.types.mode()) return "draft::mode";
      return fields_.contains(name) ? space_of(*t.values->home) + "::" + safe(name)
                                    : scoped(t.values->home, safe(name));
    }
    case kind::array:
      return "std::array<" + type_text(*t.of, at) + ", " + std::to_string(t.count) + ">";
    case kind::optional:
      return "std::optional<" + type_text(*t.of, at) + ">";
    case kind::address:
      return "heddle::address";
    case kind::conn:
    case kind::listener:
    case kind::file:
    case kind::buffer:
    case kind::permit:
    case kind::semaphore:
      return "draft::" + std::string(t.is(kind::permit) ? "permit" : t.name);
    case kind::udp:
    case kind::descriptor:
    case kind::process:
    case kind::pipe:
      return "draft::" + t.name.substr(t.name.find('.') + 1);
    case kind::job:
      return "draft::job<" + type_text(*t.of, at) + ">";
    case kind::subscription:
      return "draft::subscription<" + type_text(*t.of, at) + ">";
    case kind::channel:
      return "draft::channel<" + type_text(*t.of, at) + ">";
    case kind::broadcast:
      return "draft::broadcast<" + type_text(*t.of, at) + ">";
    case kind::rendezvous:
      return "draft::rendezvous<" + type_text(*t.of, at) + ">";
    case kind::event:
      return "draft::event<" + type_text(*t.of, at) + ">";
    case kind::signal:
      return "draft::event<>";
    case kind::opaque: {
      const std::string name(t.opaque->name), drop(t.opaque->drop);
      return drop.empty() ? "::" + name + "*" : "draft::foreign<::" + name + ", " + drop + ">";
    }
    default:
      break;
  }
  if (t.is_integer())
    return std::string("std::") + (t.is_signed() ? "int" : "uint") + std::to_string(t.bits()) +
           "_t";
  stop(at, "values of type " + t.name);
}

bool cc_emitter::is_task(const function& f) { return f.waits || f.is_thread() || f.is_main(); }

std::string cc_emitter::param_text(const function& f, const variable& v) {
  const type& t = *v.type;
  const std::string name = v.name == "_" ? "" : name_of(v);
  const std::string unused = v.used || name.empty() ? "" : "[[maybe_unused]] ";
  if (t.is(kind::action)) return unused + "auto&" + (name.empty() ? "" : " " + name);
  std::string t_text = type_text(t, v.at);
  if (v.how == passing::change) {
    t_text += "&";
  } else if (v.how == passing::borrow && !f.is_thread() && !f.is_main()) {
    // A spawned function keeps values; an owner that it borrows stays with the caller.
    if (t.is_owned() || (t.by_address() && !f.spawned)) t_text = "const " + t_text + "&";
  }
  return unused + t_text + (name.empty() ? "" : " " + name);
}

std::string cc_emitter::head_of(const function& f) {
  std::string list;
  for (const variable* v : f.params) list += (list.empty() ? "" : ", ") + param_text(f, *v);
  const std::string result = type_text(*f.result, f.decl->at);
  return (is_task(f) ? "heddle::task<" + (result == "void" ? "" : result) + ">" : result) + " " +
         safe(f.is_main() ? std::string("main") : f.name) + "(" + list + ")";
}

void cc_emitter::emit_record(const record& r, std::set<const record*>& done) {
  if (r.decl->is_extern() || !done.insert(&r).second) return;
  for (const record::part& p : r.parts) {
    const type* t = p.type;
    while (t->is(kind::array) || t->is(kind::optional)) t = t->of;
    if (t->is(kind::record) && t->record->home == r.home) emit_record(*t->record, done);
  }
  out_.blank();
  out_.open("struct " + safe(std::string(r.decl->name)));
  for (std::size_t i = 0; i != r.parts.size(); ++i) {
    const std::size_t from = out_.size();
    line(type_text(*r.parts[i].type, r.parts[i].at) + " " + safe(r.parts[i].name) + "{};");
    const span at = r.parts[i].at;
    out_.comment_at(at.file->line_of(at.begin), from);
  }
  out_.close(";");
}

void cc_emitter::emit_enum(const enumeration& e) {
  std::string list;
  std::int64_t next = 0;
  for (const enumeration::value& v : e.values) {
    list += (list.empty() ? " " : ", ") + safe(v.name);
    if (v.number != next) list += " = " + std::to_string(v.number);
    next = v.number + 1;
  }
  out_.blank();
  line("enum class " + safe(std::string(e.decl->name)) + " : " + type_text(*e.base, e.decl->at) +
       " {" + list + " };");
}

bool cc_emitter::is_c_text(const expr& e) {
  const member_expr* const m = e.get<member_expr>();
  return m != nullptr && e.means == meaning::field && e.type->is(kind::text) &&
         m->of->type->is(kind::record) && m->of->type->record->decl->is_extern();
}

}  // namespace heddle::draft
