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

std::string c_emitter::call_arguments(const instr& x) {
  std::string list = "w";
  if (x.has_place) {
    // text<N> is changed through its parts.
    if (x.builtin != nullptr && x.builtin->on == receiver::text && x.place.type->is(kind::text)) {
      const std::string p = text(x.place);
      list = "&" + p + ".len, " + p + ".data, " + std::to_string(x.place.type->count);
    } else if (x.builtin != nullptr && x.builtin->on == receiver::view) {
      list = (x.builtin->id == operation_id::copy ? "w, " : "") + text(x.place);
    } else if (x.builtin != nullptr && x.builtin->on == receiver::buffer && !x.builtin->fallible) {
      list = text(x.place);
    } else {
      list += ", " + text(x.place);
    }
  }
  for (std::size_t i = 0; i != x.args.size(); ++i) {
    const bool address = i < x.by_address.size() && x.by_address[i];
    list += ", " + (address ? "&" + slot_text(x.args[i].slot) : text(x.args[i]));
  }
  return list;
}

std::string c_emitter::operation_text(const instr& x, const std::string& wait,
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
  if (op.c_name == "heddle_buffer_consume" || op.c_name == "heddle_random_below") list += ", &bad";
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

void c_emitter::emit_print(const instr& x) {
  const bool log = x.builtin->on == receiver::log;
  const std::string out = log ? "w" : text(x.place);
  const std::string prefix = log ? "heddle_log_" : "heddle_put_";
  line(prefix + "begin(" + out + ");");
  for (const value& v : x.args) {
    std::string s = print_part(v, "", prefix);
    s.replace(s.find("OUT"), 3, out);
    line(s + ";");
  }
  line((log ? "" : "status = ") + prefix + "end(" + out + ");");
}

void c_emitter::emit_instr(const instr& x) {
  mark_line(x.at);
  switch (x.op) {
    case instr_op::set:
      line(text(x.place) + " = " + text(x.args[0]) + ";");
      return;
    case instr_op::clear: {
      const type& t = *flow_->slots[x.slot].type;
      line(slot_text(x.slot) + " = " +
           (is_pointer(t)  ? "NULL"
            : is_struct(t) ? "(" + c_type(t) + "){0}"
                           : "0") +
           ";");
      return;
    }
    case instr_op::retain:
      line(retain_text(*x.place.type, text(x.place)) + ";");
      return;
    case instr_op::release:
      line(release_text(*flow_->slots[x.slot].type, slot_text(x.slot)) + ";");
      return;
    case instr_op::print:
      return emit_print(x);
    case instr_op::call: {
      std::string s = operation_text(x, "");
      if (x.sets_status)
        s = "status = " + s;
      else if (x.result != no_id)
        s = slot_text(x.result) + " = " + s;
      if (x.builtin->c_name == "heddle_view_find") {
        // ?int is a type of this file.
        line("{ int64_t at_; " + slot_text(x.result) + ".has = heddle_view_find(" +
             call_arguments(x) + ", &at_); " + slot_text(x.result) + ".value = at_; }");
        return;
      }
      line(s + ";");
      return;
    }
    case instr_op::call_plain:
      return emit_plain_call(x);
    case instr_op::spawn:
      return emit_spawn(x);
    case instr_op::within_open:
      line("heddle_within_open(w, &" + slot_text(x.slot) + ", self, " + text(x.args[0]) + ");");
      return;
    case instr_op::within_close:
    case instr_op::shield_close:
      line("heddle_within_close(w, &" + slot_text(x.slot) + ", self);");
      return;
    case instr_op::shield_open:
      line("heddle_shield_open(w, &" + slot_text(x.slot) + ", self);");
      return;
    case instr_op::scope_open:
      line("heddle_scope_open(w, &" + slot_text(x.slot) + ", self);");
      return;
  }
}

std::string c_emitter::draft_arguments(const instr& x, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i != count; ++i) {
    const variable& p = *x.callee->params[i];
    if (i != 0) list += ", ";
    if (x.callee->decl->is_extern) {
      if (p.type->is(kind::text)) {
        list += "HEDDLE_TEXT_VIEW(" + text(x.args[i]) + ")";
      } else if (p.type->is(kind::record) || (p.how == passing::change && !is_pointer(*p.type))) {
        list += address_text(x.args[i]);
      } else {
        list += text(x.args[i]);
      }
    } else if (x.by_address[i] && !is_own_address(*p.type)) {
      list += address_text(x.args[i]);
    } else {
      list += text(x.args[i]);
    }
  }
  return list;
}

void c_emitter::emit_plain_call(const instr& x) {
  const function& f = *x.callee;
  std::string list = draft_arguments(x, x.args.size());
  if (f.decl->is_extern) {
    std::string s = f.name + "(" + list + ");";
    if (x.result != no_id) s = slot_text(x.result) + " = " + s;
    line(s);
    return;
  }
  list = list.empty() ? "w" : "w, " + list;
  if (x.sets_status) {
    if (x.result != no_id) list += ", &" + slot_text(x.result);
    line("status = " + f.c_name + "(" + list + ");");
  } else {
    line((x.result != no_id ? slot_text(x.result) + " = " : "") + f.c_name + "(" + list + ");");
  }
}

void c_emitter::emit_spawn(const instr& x) {
  const std::size_t count = x.callee->params.size();
  std::string list = draft_arguments(x, count);
  const std::string made = x.callee->c_name + "_new(w" + (list.empty() ? "" : ", " + list) + ")";
  if (x.result != no_id && flow_->slots[x.result].type->name == "frame") {
    line(slot_text(x.result) + " = " + made + ";");
    line("status = " + slot_text(x.result) + " != NULL ? 0 : HEDDLE_NO_MEMORY;");
    return;
  }
  const std::string size = x.of->is(kind::void_) ? "0" : "sizeof(" + c_type(*x.of) + ")";
  const std::string drop = x.of->needs_release() ? drop_name(*x.of) : "NULL";
  std::string s;
  if (x.scope != no_id) {
    s = "heddle_spawn_in(w, " + made + ", &" + slot_text(x.scope);
  } else if (x.has_color) {
    s = "heddle_spawn_color(w, " + made + ", (uint64_t)" + wrapped(x.args[count]);
  } else {
    s = "heddle_spawn(w, " + made;
  }
  if (x.result != no_id) {
    s = slot_text(x.result) + " = heddle_job_of(w, " + made + ", " +
        (x.scope != no_id ? "&" + slot_text(x.scope) : "NULL") + ", " +
        (x.has_color ? "(int64_t)" + wrapped(x.args[count]) : std::string("HEDDLE_SAME_COLOR")) +
        ", " + size + ", " + drop;
  }
  line(s + ");");
}

}  // namespace heddle::draft
