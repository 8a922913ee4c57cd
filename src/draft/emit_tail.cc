// SPDX-License-Identifier: MIT
// The ends of blocks in C: jumps, waits, any.
#include "draft/c_emitter.hh"

namespace heddle::draft {

std::string c_emitter::parked(const flow_block& b, const std::string& run) {
  if (run != "0")
    return "return heddle_park_to(self, " + std::to_string(b.wait_number) + ", " + run + ");";
  return "return heddle_park(self, " + std::to_string(b.wait_number) + ");";
}

void c_emitter::emit_wait_call(const instr& x, const flow_block& b) {
  if (x.builtin != nullptr) {
    line("status = " + operation_text(x, "&f->wait") + ";");
    line("if (status == HEDDLE_PARKED) " + parked(b));
    return;
  }
  // A foreign function in the pool.
  const function& f = *x.callee;
  const std::string name = "call_" + std::to_string(++thunk_number_) + "_" + f.name;
  std::string fields, pass, fill;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const std::string n = "p" + std::to_string(i);
    const variable& p = *f.params[i];
    if (p.type->is(kind::record)) {
      fields += "  " + c_type(*p.type) + " " + n + ";\n";
      pass += (i == 0 ? "" : ", ") + std::string("&x->") + n;
      fill += (i == 0 ? "." : ", .") + n + " = " + text(x.args[i]);
    } else {
      fields += "  " + foreign_param(p) + " " + n + ";\n";
      pass += (i == 0 ? "" : ", ") + std::string("x->") + n;
      fill +=
          (i == 0 ? "." : ", .") + n + " = " +
          (p.type->is(kind::text) ? "HEDDLE_TEXT_VIEW(" + text(x.args[i]) + ")" : text(x.args[i]));
    }
  }
  const bool gives = !f.result->is(kind::void_);
  if (gives) fields += "  " + c_type(*f.result) + " result;\n";
  if (fields.empty()) fields = "  char none;\n";
  thunks_ += "\ntypedef struct " + name + " {\n" + fields + "} " + name + ";\nstatic void run_" +
             name + "(void* at) {\n  " + name + "* const x = (" + name + "*)at;\n  " +
             (gives ? "x->result = " : "") + f.name + "(" + pass + ");\n  (void)x;\n}\n";
  line("{");
  line("  " + name + " x = {" + (fill.empty() ? "0" : fill) + "};");
  line("  status = heddle_blocking(w, run_" + name + ", &x, sizeof x, &f->wait, self);");
  line("  if (status == HEDDLE_PARKED) " + parked(b));
  if (gives && x.result != no_id) line("  " + slot_text(x.result) + " = x.result;");
  line("}");
}

void c_emitter::emit_tail(const flow& f, const flow_block& b, block_id next) {
  const tail& t = b.tail;
  mark_line(t.at);
  switch (t.op) {
    case tail_op::none:
      return;
    case tail_op::go:
      return go_to(t.next[0], next);
    case tail_op::branch: {
      const std::string c = text(t.args[0]);
      if (t.next[0] == next) {
        line("if (!(" + c + ")) goto " + labels_[t.next[1]] + ";");
      } else {
        line("if (" + c + ") goto " + labels_[t.next[0]] + ";");
        go_to(t.next[1], next);
      }
      return;
    }
    case tail_op::check:
      line("if (status < 0) goto " + labels_[t.next[1]] + ";");
      return go_to(t.next[0], next);
    case tail_op::check_fault:
      line("if (bad != 0) {");
      line("  status = heddle_fault(w, bad, " + c_text(t.at ? t.at.file->path() : "") + ", " +
           std::to_string(t.at ? t.at.file->line_of(t.at.begin) : 0) + ");");
      line("  bad = 0;");  // a defer computes, too
      line("  goto " + labels_[t.next[1]] + ";");
      line("}");
      return go_to(t.next[0], next);
    case tail_op::choose: {
      if (!t.texts.empty()) {
        for (std::size_t i = 0; i != t.texts.size(); ++i)
          line("if (heddle_view_equal(" + text(t.args[0]) + ", " +
               (t.texts[i].empty() ? "HEDDLE_NO_VIEW" : "HEDDLE_VIEW(" + c_text(t.texts[i]) + ")") +
               ")) goto " + labels_[t.next[i]] + ";");
        return go_to(t.next.back(), next);
      }
      line("switch (" + text(t.args[0]) + ") {");
      for (std::size_t i = 0; i != t.cases.size(); ++i) {
        if (t.next[i] == t.next.back()) continue;
        std::string c = constant_text(*t.args[0].type, t.cases[i]);
        line("  case " + c + ": goto " + labels_[t.next[i]] + ";");
      }
      line("  default: goto " + labels_[t.next.back()] + ";");
      line("}");
      return;
    }
    case tail_op::wait:
      emit_wait_call(t.waits[0], b);
      return go_to(t.next[0], next);
    case tail_op::call: {
      const instr& x = t.waits[0];
      const std::string callee = text(x.args[0]);
      line("status = heddle_call(w, " + callee + ", self, &run);");
      line("if (status == HEDDLE_PARKED) " + parked(b, "run"));
      if (x.result != no_id)
        line("heddle_call_result(" + callee + ", &" + slot_text(x.result) + ", sizeof " +
             slot_text(x.result) + ");");
      line("heddle_call_end(w, " + callee + ");");
      return go_to(t.next[0], next);
    }
    case tail_op::any:
      return emit_any(f, b);
    case tail_op::leave_scope:
      line("if (heddle_scope_leave(w, &" + slot_text(t.slot) + ", self, " +
           (t.early ? "true" : "false") + ") == HEDDLE_PARKED) " + parked(b));
      return go_to(t.next[0], next);
    case tail_op::yield:
      line("if (heddle_yield(w, self)) " + parked(b));
      return go_to(t.next[0], next);
    case tail_op::end:
      if (f.has_frame) {
        line("return heddle_end(w, self, status);");
        return;
      }
      if (f.recursive) line("heddle_leave(w);");
      if (returns_status(f)) {
        // A call that fails has no result, not even one to copy.
        if (f.result != no_id) line("if (status >= 0) *result_ = " + slot_text(f.result) + ";");
        line("return status;");
      } else {
        line(f.result != no_id ? "return " + slot_text(f.result) + ";" : "return;");
      }
      return;
  }
}

void c_emitter::emit_any(const flow&, const flow_block& b) {
  const tail& t = b.tail;
  const std::string n = std::to_string(t.waits.size());
  const std::string won = slot_text(t.slot);
  line("for (heddle_turn turn = heddle_turn_first(" + n + ", " + won +
       ");; heddle_turn_next(&turn)) {");
  line("  if (turn.left == 0) " + parked(b));
  line("  switch (turn.arm) {");
  for (std::size_t i = 0; i != t.waits.size(); ++i) {
    line("    case " + std::to_string(i) + ":");
    line("      status = " +
         operation_text(t.waits[i], "&f->arm[" + std::to_string(i) + "].wait",
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
  for (std::size_t i = 0; i != t.waits.size(); ++i)
    line(i + 1 == t.waits.size()
             ? "  default: goto " + labels_[t.next[i]] + ";"
             : "  case " + std::to_string(i) + ": goto " + labels_[t.next[i]] + ";");
  line("}");
}

}  // namespace heddle::draft
