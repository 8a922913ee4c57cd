// SPDX-License-Identifier: MIT
// Types in C: their names, their declarations, and how values of them are released.
#include "draft/c_emitter.hh"

namespace heddle::draft {
namespace {

/// `udp` of net.udp.
std::string module_less(const type& t) { return t.name.substr(t.name.find('.') + 1); }

}  // namespace

std::string c_emitter::c_type(const type& t) {
  switch (t.kind) {
    case kind::void_:
      return "void";
    case kind::boolean:
      return "bool";
    case kind::duration:
      return "int64_t";
    case kind::error:
      return "int32_t";
    case kind::text:
      need_type(t);
      return "heddle_text_" + std::to_string(t.count);
    case kind::view:
      return "heddle_view";
    case kind::bytes:
      return "heddle_bytes*";
    case kind::record:
      return t.record->c_name;
    case kind::enumeration:
      return t.values->decl->is_extern() ? t.values->c_name : c_type(*t.values->base);
    case kind::array:
      need_type(t);
      return type_word(t);
    case kind::optional:
      need_type(t);
      return type_word(t);
    case kind::address:
      return "heddle_address";
    case kind::conn:
      return "heddle_conn*";
    case kind::listener:
      return "heddle_listener*";
    case kind::file:
      return "heddle_file*";
    case kind::buffer:
      return "heddle_buffer*";
    case kind::udp:
    case kind::descriptor:
    case kind::process:
    case kind::pipe:
      return "heddle_" + module_less(t) + "*";
    case kind::permit:
      return "heddle_semaphore*";
    case kind::job:
      return "heddle_job*";
    case kind::subscription:
      return "heddle_subscription*";
    case kind::opaque:
      return std::string(t.opaque->name) + "*";
    case kind::channel:
      return "heddle_channel*";
    case kind::broadcast:
      return "heddle_broadcast*";
    case kind::semaphore:
      return "heddle_semaphore*";
    case kind::rendezvous:
      return "heddle_rendezvous*";
    case kind::event:
    case kind::signal:
      return "heddle_event*";
    default:
      break;
  }
  if (t.name == "frame") return "heddle_frame*";
  if (t.name == "heddle_scope" || t.name == "heddle_within") return t.name;
  return (t.is_signed() ? "int" : "uint") + std::to_string(t.bits()) + "_t";
}

bool c_emitter::is_pointer(const type& t) {
  switch (t.kind) {
    case kind::bytes:
    case kind::conn:
    case kind::listener:
    case kind::file:
    case kind::buffer:
    case kind::permit:
    case kind::job:
    case kind::subscription:
    case kind::opaque:
    case kind::channel:
    case kind::broadcast:
    case kind::semaphore:
    case kind::rendezvous:
    case kind::event:
    case kind::signal:
    case kind::udp:
    case kind::descriptor:
    case kind::process:
    case kind::pipe:
      return true;
    default:
      return t.name == "frame";
  }
}

bool c_emitter::is_struct(const type& t) {
  return t.by_address() || t.is(kind::view) || t.is(kind::address) || t.name == "heddle_scope" ||
         t.name == "heddle_within";
}

std::string c_emitter::type_word(const type& t) {
  // The word is made of the element's C name, because records of two modules may share a name.
  if (t.is(kind::array) || t.is(kind::optional)) {
    std::string inner = type_word(*t.of);
    if ((t.of->is(kind::array) || t.of->is(kind::optional)) && inner.starts_with("heddle_"))
      inner.erase(0, std::string_view("heddle_").size());
    return "heddle_" + (t.is(kind::optional) ? "maybe_" : "list_" + std::to_string(t.count) + "_") +
           inner;
  }
  std::string out;
  const std::string& name = t.is(kind::record)        ? t.record->c_name
                            : t.is(kind::enumeration) ? t.values->c_name
                                                      : t.name;
  for (const char c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')
      out += c;
    else
      out += '_';
  }
  return out;
}

void c_emitter::need_type(const type& t) {
  if (!known_.insert(&t).second) return;
  switch (t.kind) {
    case kind::text: {
      const std::string n = std::to_string(t.count);
      types_text_ += "#ifndef HEDDLE_TEXT_" + n + "\n#define HEDDLE_TEXT_" + n +
                     "\ntypedef struct heddle_text_" + n + " {\n  uint32_t len;\n  char data[" + n +
                     "];\n} heddle_text_" + n +
                     ";\n__attribute__((unused)) static inline heddle_text_" + n + " heddle_text_" +
                     n + "_of(heddle_view v) {\n  heddle_text_" + n +
                     " t;\n  t.len = 0;\n  heddle_text_set(&t.len, t.data, " + n +
                     ", v);\n  return t;\n}\n#endif\n";
      return;
    }
    case kind::array: {
      const std::string of = c_type(*t.of);
      types_text_ += "typedef struct " + type_word(t) + " {\n  " + of + " at[" +
                     std::to_string(t.count) + "];\n} " + type_word(t) + ";\n";
      return;
    }
    case kind::optional: {
      const std::string of = c_type(*t.of);
      types_text_ += "typedef struct " + type_word(t) + " {\n  " + of + " value;\n  bool has;\n} " +
                     type_word(t) + ";\n";
      return;
    }
    case kind::record: {
      for (const record::part& p : t.record->parts) need_inner(*p.type);
      if (t.record->decl->is_extern()) return;
      std::string text = "typedef struct " + t.record->c_name + " {\n";
      for (const record::part& p : t.record->parts)
        text += "  " + c_type(*p.type) + " " + c_name(p.name) + ";\n";
      types_text_ += text + "} " + t.record->c_name + ";\n";
      return;
    }
    default:
      return;
  }
}

void c_emitter::need_inner(const type& t) {
  if (t.is(kind::array) || t.is(kind::optional)) need_inner(*t.of);
  if (t.by_address()) need_type(t);
}

void c_emitter::collect_types() {
  types_text_ += "\n";
  for (const auto& m : program_.modules)
    for (const auto& r : m->records) need_type(*r->type);
  for (const flow& f : flows_)
    for (const slot& s : f.slots) need_inner(*s.type);
  for (const auto& m : program_.modules) {
    for (const auto& e : m->enums) {
      if (e->decl->is_extern()) continue;
      types_text_ += "enum {";
      for (const enumeration::value& v : e->values)
        types_text_ += (&v == e->values.data() ? " " : ", ") + e->c_name + "_" + v.name + " = " +
                       std::to_string(v.number);
      types_text_ += " };\n";
    }
  }
}

std::string c_emitter::release_text(const type& t, const std::string& x) {
  switch (t.kind) {
    case kind::conn:
      return "heddle_close(w, " + x + ")";
    case kind::listener:
      return "heddle_listener_close(w, " + x + ")";
    case kind::file:
      return "heddle_file_close(w, " + x + ")";
    case kind::buffer:
      return "heddle_buffer_free(w, " + x + ")";
    case kind::udp:
    case kind::descriptor:
    case kind::process:
    case kind::pipe:
      return "heddle_" + module_less(t) + "_close(w, " + x + ")";
    case kind::permit:
      return "heddle_semaphore_give(w, " + x + ")";
    case kind::job:
      return "heddle_job_release(w, " + x + ")";
    case kind::subscription:
      return "heddle_subscription_release(w, " + x + ")";
    case kind::bytes:
      return "heddle_bytes_release(w, " + x + ")";
    case kind::channel:
      return "heddle_channel_release(w, " + x + ")";
    case kind::broadcast:
      return "heddle_broadcast_release(w, " + x + ")";
    case kind::semaphore:
      return "heddle_semaphore_release(w, " + x + ")";
    case kind::rendezvous:
      return "heddle_rendezvous_release(w, " + x + ")";
    case kind::event:
    case kind::signal:
      return "heddle_event_release(w, " + x + ")";
    case kind::opaque:
      return "if (" + x + " != NULL) " + std::string(t.opaque->drop) + "(" + x + ")";
    default:
      return drop_name(t) + "(w, &" + x + ")";
  }
}

std::string c_emitter::retain_text(const type& t, const std::string& x) {
  switch (t.kind) {
    case kind::bytes:
      return "heddle_bytes_retain(" + x + ")";
    case kind::channel:
      return "heddle_channel_retain(" + x + ")";
    case kind::broadcast:
      return "heddle_broadcast_retain(" + x + ")";
    case kind::semaphore:
      return "heddle_semaphore_retain(" + x + ")";
    case kind::rendezvous:
      return "heddle_rendezvous_retain(" + x + ")";
    case kind::event:
    case kind::signal:
      return "heddle_event_retain(" + x + ")";
    default:
      return copy_name(t) + "(&" + x + ")";
  }
}

std::string c_emitter::drop_name(const type& t) {
  const std::string name = "drop_" + type_word(t);
  if (!drop_made_.insert(name).second) return name;
  std::string body;
  if (t.is(kind::record)) {
    for (const record::part& p : t.record->parts)
      if (p.type->needs_release())
        body += "  " + release_text(*p.type, "x->" + c_name(p.name)) + ";\n";
  } else if (t.is(kind::optional)) {
    if (t.of->needs_release())
      body += "  if (x->has) {\n    " + release_text(*t.of, "x->value") + ";\n  }\n";
  } else {
    body += "  " + release_text(t, "*x") + ";\n";
  }
  drops_ += "static void " + name + "(heddle_worker* w, void* at) {\n  " + c_type(t) +
            "* const x = (" + c_type(t) + "*)at;\n" + body + "  (void)w;\n}\n";
  return name;
}

std::string c_emitter::copy_name(const type& t) {
  const std::string name = "retain_" + type_word(t);
  if (!drop_made_.insert(name).second) return name;
  std::string body;
  if (t.is(kind::record)) {
    for (const record::part& p : t.record->parts)
      if (p.type->owning == owning::counted)
        body += "  " + retain_text(*p.type, "x->" + c_name(p.name)) + ";\n";
  } else if (t.is(kind::optional)) {
    if (t.of->owning == owning::counted)
      body += "  if (x->has) {\n    " + retain_text(*t.of, "x->value") + ";\n  }\n";
  } else {
    body += "  " + retain_text(t, "*x") + ";\n";
  }
  drops_ += "static void " + name + "(void* at) {\n  " + c_type(t) + "* const x = (" + c_type(t) +
            "*)at;\n" + body + "}\n";
  return name;
}

}  // namespace heddle::draft
