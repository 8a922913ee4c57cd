// SPDX-License-Identifier: MIT
// The ends of blocks in C: jumps, waits, any.
#include "draft/c_emitter.hh"

namespace heddle::draft {

std::string c_emitter::parked(const flow_block& b, const std::string& run) {
  if (run != "0")
    return "return heddle_park_to(self, " + std::to_string(b.wait_number) + ", " + run + ");";
  return "return heddle_park(self, " + std::to_string(b.wait_number) + ");";
}

void c_emitter::end_with(const wait_tail& how, const flow&, const flow_block& b, block_id next) {
  const bool inside = how.ask.builtin->waits_in_receiver();
  line("status = " + operation_text(how.ask, inside ? "NULL" : "&f->wait") + ";");
  line("if (status == HEDDLE_PARKED) " + parked(b));
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const pool_tail& how, const flow&, const flow_block& b, block_id next) {
  const function_call& x = how.ask;
  const function& f = *x.callee;
  const std::string name = "call_" + std::to_string(++thunk_number_) + "_" + f.name;
  std::string fields, pass, fill;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const std::string n = "p" + std::to_string(i), given = text(x.args[i].what);
    const variable& p = *f.params[i];
    if (p.type->is(kind::record)) {
      fields += "  " + c_type(*p.type) + " " + n + ";\n";
      pass += (i == 0 ? "" : ", ") + std::string("&x->") + n;
      fill += (i == 0 ? "." : ", .") + n + " = " + given;
    } else {
      fields += "  " + foreign_param(p) + " " + n + ";\n";
      pass += (i == 0 ? "" : ", ") + std::string("x->") + n;
      fill += (i == 0 ? "." : ", .") + n + " = " +
              (p.type->is(kind::text) ? "HEDDLE_TEXT_VIEW(" + given + ")" : given);
    }
  }
  const bool gives = !f.result->is(kind::void_);
  if (gives) fields += "  " + c_type(*f.result) + " result;\n";
  if (fields.empty()) fields = "  char none;\n";
  thunks_ += "\ntypedef struct " + name + " {\n" + fields + "} " + name + ";\nstatic void run_" +
             name + "(void* at) {\n  " + name + "* const x = (" + name + "*)at;\n  " +
             (gives ? "x->result = " : "") + foreign_name(f) + "(" + pass + ");\n  (void)x;\n}\n";
  line("{");
  line("  " + name + " x = {" + (fill.empty() ? "0" : fill) + "};");
  line("  status = heddle_blocking(w, run_" + name + ", &x, sizeof x, &f->wait, self);");
  line("  if (status == HEDDLE_PARKED) " + parked(b));
  if (gives && x.result != no_id) line("  " + slot_text(x.result) + " = x.result;");
  line("}");
  go_to(b.tail.next[0], next);
}

void c_emitter::emit_tail(const flow& f, const flow_block& b, block_id next) {
  const tail& t = b.tail;
  mark_line(t.at);
  std::visit([&](const auto& how) { end_with(how, f, b, next); }, t.how);
}

void c_emitter::end_with(const open_tail&, const flow&, const flow_block&, block_id) {}

void c_emitter::end_with(const go_tail&, const flow&, const flow_block& b, block_id next) {
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const branch_tail& how, const flow&, const flow_block& b, block_id next) {
  const std::string c = text(how.condition);
  const std::vector<block_id>& to = b.tail.next;
  if (to[0] == next) return line("if (!(" + c + ")) goto " + labels_[to[1]] + ";");
  line("if (" + c + ") goto " + labels_[to[0]] + ";");
  go_to(to[1], next);
}

void c_emitter::end_with(const check_tail&, const flow&, const flow_block& b, block_id next) {
  line("if (status < 0) goto " + labels_[b.tail.next[1]] + ";");
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const fault_tail&, const flow&, const flow_block& b, block_id next) {
  const span at = b.tail.at;
  line("if (bad != 0) {");
  line("  status = heddle_fault(w, bad, " + c_text(at ? at.file->path() : "") + ", " +
       std::to_string(at ? at.file->line_of(at.begin) : 0) + ");");
  line("  bad = 0;");  // a defer computes, too
  line("  goto " + labels_[b.tail.next[1]] + ";");
  line("}");
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const choose_tail& how, const flow&, const flow_block& b, block_id next) {
  const std::vector<block_id>& to = b.tail.next;
  const std::string of = text(how.of);
  if (!how.texts.empty()) {
    for (std::size_t i = 0; i != how.texts.size(); ++i)
      line("if (heddle_view_equal(" + of + ", " +
           (how.texts[i].empty() ? "HEDDLE_NO_VIEW" : "HEDDLE_VIEW(" + c_text(how.texts[i]) + ")") +
           ")) goto " + labels_[to[i]] + ";");
    return go_to(to.back(), next);
  }
  line("switch (" + of + ") {");
  for (std::size_t i = 0; i != how.cases.size(); ++i) {
    if (to[i] == to.back()) continue;
    line("  case " + constant_text(*how.of.type, how.cases[i]) + ": goto " + labels_[to[i]] + ";");
  }
  line("  default: goto " + labels_[to.back()] + ";");
  line("}");
}

void c_emitter::end_with(const call_tail& how, const flow&, const flow_block& b, block_id next) {
  const function_call& x = how.ask;
  const std::string callee = text(x.args[0].what);
  line("status = heddle_call(w, " + callee + ", self, &run);");
  line("if (status == HEDDLE_PARKED) " + parked(b, "run"));
  if (x.result != no_id)
    line("heddle_call_result(" + callee + ", &" + slot_text(x.result) + ", sizeof " +
         slot_text(x.result) + ");");
  line("heddle_call_end(w, " + callee + ");");
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const leave_tail& how, const flow&, const flow_block& b, block_id next) {
  line("if (heddle_scope_leave(w, &" + slot_text(how.scope) + ", self, " +
       (how.cancels ? "true" : "false") + ") == HEDDLE_PARKED) " + parked(b));
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const yield_tail&, const flow&, const flow_block& b, block_id next) {
  line("if (heddle_yield(w, self)) " + parked(b));
  go_to(b.tail.next[0], next);
}

void c_emitter::end_with(const end_tail&, const flow& f, const flow_block&, block_id) {
  if (f.has_frame) return line("return heddle_end(w, self, status);");
  if (f.recursive) line("heddle_leave(w);");
  const std::string result = f.result != no_id ? slot_text(f.result) : "";
  if (!returns_status(f)) return line("return" + (result.empty() ? "" : " " + result) + ";");
  // A call that fails has no result, not even one to copy.
  if (!result.empty()) line("if (status >= 0) *result_ = " + result + ";");
  line("return status;");
}

void c_emitter::end_with(const any_tail& how, const flow&, const flow_block& b, block_id) {
  const std::vector<block_id>& to = b.tail.next;
  const std::string n = std::to_string(how.arms.size());
  const std::string won = slot_text(how.won);
  line("for (heddle_turn turn = heddle_turn_first(" + n + ", " + won +
       ");; heddle_turn_next(&turn)) {");
  line("  if (turn.left == 0) " + parked(b));
  line("  switch (turn.arm) {");
  for (std::size_t i = 0; i != how.arms.size(); ++i) {
    line("    case " + std::to_string(i) + ":");
    line("      status = " +
         operation_text(how.arms[i], "&f->arm[" + std::to_string(i) + "].wait",
                        "heddle_arm_of(w, &f->arm[" + std::to_string(i) + "], self)") +
         ";");
    line("      break;");
  }
  line("    default: break;");
  line("  }");
  line("  if (status == HEDDLE_PARKED) continue;");
  line("  " + won + " = turn.arm;");
  line("  break;");
  line("}");
  line("heddle_withdraw_arms(w, f->arm, " + n + ");");
  line("switch (" + won + ") {");
  for (std::size_t i = 0; i != how.arms.size(); ++i)
    line(i + 1 == how.arms.size()
             ? "  default: goto " + labels_[to[i]] + ";"
             : "  case " + std::to_string(i) + ": goto " + labels_[to[i]] + ";");
  line("}");
}

}  // namespace heddle::draft
