// SPDX-License-Identifier: MIT
// Instructions in C.
#include "draft/c_emitter.hh"

namespace heddle::draft {

void c_emitter::line(const std::string& s) { out_ += "  " + s + "\n"; }

void c_emitter::mark_line(span at) {
  if (!options_.lines || !at) return;
  const std::uint32_t n = at.file->line_of(at.begin);
  if (n == last_line_ && at.file == last_file_) return;
  last_line_ = n;
  last_file_ = at.file;
  out_ += source::line_directive(n, at.file->path()) + "\n";
}

std::string c_emitter::call_arguments(const operation_call& x) {
  std::string list = "w";
  if (x.on) {
    const std::string on = text(*x.on);
    // text<N> is changed through its parts.
    if (x.builtin->on == receiver::text && x.on->type->is(kind::text))
      list = "&" + on + ".len, " + on + ".data, " + std::to_string(x.on->type->count);
    else if (x.builtin->on == receiver::view)
      list = (x.builtin->id == operation_id::copy ? "w, " : "") + on;
    else if (x.builtin->on == receiver::buffer && !x.builtin->fallible)
      list = on;
    else
      list += ", " + on;
  }
  for (const passed& a : x.args)
    list += ", " + (a.by_address ? "&" + slot_text(a.what.slot()) : text(a.what));
  return list;
}

std::string c_emitter::operation_text(const operation_call& x, const std::string& wait,
                                      const std::string& self) {
  const operation& op = *x.builtin;
  std::string list = call_arguments(x);
  if (op.id == operation_id::make_channel || op.id == operation_id::make_rendezvous)
    list +=
        ", sizeof(" + c_type(*x.of) + "), " + (x.of->needs_release() ? drop_name(*x.of) : "NULL");
  if (op.id == operation_id::make_broadcast)
    list += ", sizeof(" + c_type(*x.of) + "), " +
            (x.of->needs_release() ? copy_name(*x.of) + ", " + drop_name(*x.of) : "NULL, NULL");
  if (op.fallible && x.result != no_id)
    list += ", &" + slot_text(x.result);
  else if (op.id == operation_id::join)
    list += ", NULL";
  if (!wait.empty()) list += ", " + wait + ", " + self;
  if (op.may_fault) list += ", &bad";
  return std::string(op.c_name) + "(" + list + ")";
}

std::string c_emitter::print_part(const value& v, const std::string& on, const std::string& begin) {
  const type& t = *v.type;
  const std::string x = text(v);
  const std::string head = begin + on;
  if (t.is(kind::view)) return head + "view(" + "OUT, " + x + ")";
  if (t.is(kind::text)) return head + "view(OUT, HEDDLE_TEXT_VIEW(" + x + "))";
  if (t.is(kind::bytes)) return head + "view(OUT, heddle_bytes_view(" + x + "))";
  if (t.is(kind::boolean))
    return head + "view(OUT, " + x + " ? HEDDLE_VIEW(\"true\") : HEDDLE_VIEW(\"false\"))";
  if (t.is(kind::error))
    return head + "view(OUT, " + (has_errors() ? "error_name" : "heddle_error_name") + "(" + x +
           "))";
  if (t.is(kind::duration)) return head + "duration(OUT, " + x + ")";
  if (t.is_integer() && !t.is_signed() && t.bits() == 64) return head + "unsigned(OUT, " + x + ")";
  return head + "int(OUT, (int64_t)" + wrapped(v) + ")";
}

void c_emitter::emit(const print_call& x) {
  const bool log = x.builtin->on == receiver::log;
  const std::string out = log ? "w" : text(*x.on);
  const std::string prefix = log ? "heddle_log_" : "heddle_put_";
  line(prefix + "begin(" + out + ");");
  for (const passed& a : x.args) {
    std::string s = print_part(a.what, "", prefix);
    s.replace(s.find("OUT"), 3, out);
    line(s + ";");
  }
  line((log ? "" : "status = ") + prefix + "end(" + out + ");");
}

void c_emitter::emit_instr(const instr& x) {
  mark_line(x.at);
  std::visit([&](const auto& how) { emit(how); }, x.how);
}

void c_emitter::emit(const set_instr& x) { line(text(x.place) + " = " + text(x.from) + ";"); }

void c_emitter::emit(const clear_instr& x) {
  const type& t = *flow_->slots[x.slot].type;
  line(slot_text(x.slot) + " = " +
       (is_pointer(t)  ? "NULL"
        : is_struct(t) ? "(" + c_type(t) + "){0}"
                       : "0") +
       ";");
}

void c_emitter::emit(const retain_instr& x) {
  line(retain_text(*x.place.type, text(x.place)) + ";");
}

void c_emitter::emit(const release_instr& x) {
  line(release_text(*flow_->slots[x.slot].type, slot_text(x.slot)) + ";");
}

void c_emitter::emit(const open_within& x) {
  line("heddle_within_open(w, &" + slot_text(x.slot) + ", self, " + text(x.limit) + ");");
}
void c_emitter::emit(const close_within& x) {
  line("heddle_within_close(w, &" + slot_text(x.slot) + ", self);");
}
void c_emitter::emit(const open_scope& x) {
  line("heddle_scope_open(w, &" + slot_text(x.slot) + ", self);");
}
void c_emitter::emit(const open_shield& x) {
  line("heddle_shield_open(w, &" + slot_text(x.slot) + ", self);");
}
void c_emitter::emit(const close_shield& x) {
  line("heddle_within_close(w, &" + slot_text(x.slot) + ", self);");
}

void c_emitter::emit(const operation_call& x) {
  const std::string call = operation_text(x, "");
  if (x.builtin->c_name == "heddle_view_find") {
    // ?int is a type of this file.
    return line("{ int64_t at_; " + slot_text(x.result) + ".has = heddle_view_find(" +
                call_arguments(x) + ", &at_); " + slot_text(x.result) + ".value = at_; }");
  }
  line((x.sets_status       ? "status = "
        : x.result != no_id ? slot_text(x.result) + " = "
                            : "") +
       call + ";");
}

template <class Call>
std::string c_emitter::draft_arguments(const Call& x) {
  std::string list;
  for (std::size_t i = 0; i != x.callee->params.size(); ++i) {
    const variable& p = *x.callee->params[i];
    const passed& a = x.args[i];
    const bool address =
        x.callee->decl->is_extern()
            ? p.type->is(kind::record) || (p.how == passing::change && !is_pointer(*p.type))
            : a.by_address && !is_own_address(*p.type);
    if (i != 0) list += ", ";
    if (x.callee->decl->is_extern() && p.type->is(kind::text))
      list += "HEDDLE_TEXT_VIEW(" + text(a.what) + ")";
    else
      list += address ? address_text(a.what) : text(a.what);
  }
  return list;
}

void c_emitter::emit(const function_call& x) {
  const function& f = *x.callee;
  std::string list = draft_arguments(x);
  const std::string result = x.result != no_id ? slot_text(x.result) : "";
  const std::string set = result.empty() ? "" : result + " = ";
  if (f.decl->is_extern()) return line(set + foreign_name(f) + "(" + list + ");");
  list = list.empty() ? "w" : "w, " + list;
  if (!x.sets_status) return line(set + f.c_name + "(" + list + ");");
  if (!result.empty()) list += ", &" + result;
  line("status = " + f.c_name + "(" + list + ");");
}

void c_emitter::emit(const frame_call& x) {
  const std::string list = draft_arguments(x), made = slot_text(x.result);
  line(made + " = " + x.callee->c_name + "_new(w" + (list.empty() ? "" : ", " + list) + ");");
  line("status = " + made + " != NULL ? 0 : HEDDLE_NO_MEMORY;");
}

void c_emitter::emit(const spawn_call& x) {
  const std::string list = draft_arguments(x);
  const std::string made = x.callee->c_name + "_new(w" + (list.empty() ? "" : ", " + list) + ")";
  const std::string scope = x.scope != no_id ? "&" + slot_text(x.scope) : "NULL";
  const std::string color = x.has_color ? wrapped(x.args.back().what) : "";
  if (x.result != no_id)
    return line(slot_text(x.result) + " = heddle_job_of(w, " + made + ", " + scope + ", " +
                (x.has_color ? "(int64_t)" + color : "HEDDLE_SAME_COLOR") + ", " +
                (x.of->is(kind::void_) ? "0" : "sizeof(" + c_type(*x.of) + ")") + ", " +
                (x.of->needs_release() ? drop_name(*x.of) : "NULL") + ");");
  if (x.scope != no_id) return line("heddle_spawn_in(w, " + made + ", " + scope + ");");
  if (x.has_color) return line("heddle_spawn_color(w, " + made + ", (uint64_t)" + color + ");");
  line("heddle_spawn(w, " + made + ");");
}

}  // namespace heddle::draft
