// SPDX-License-Identifier: MIT
// The flow as text (`--emit cfg`), as a graph (`--emit dot`), and the plan of the frame
// (`--emit plan`).
#include <algorithm>

#include "draft/checker.hh"
#include "draft/print_flow.hh"
#include "heddle/base/text.hh"

namespace heddle::draft {
namespace {

std::string literal_text(const std::string& s) {
  std::string out = "\"";
  append_quotable_text(out, std::string_view(s).substr(0, 40));
  return out + (s.size() > 40 ? "...\"" : "\"");
}

/// How an instruction is written, one function a kind.
struct instr_printer {
  const flow& f;

  [[nodiscard]] const std::string& name(var_id id) const { return f.slots[id].name; }
  [[nodiscard]] std::string to(const call_parts& x) const {
    if (x.result == no_id) return x.sets_status ? "status = " : "";
    return name(x.result) + (x.sets_status ? ", status = " : " = ");
  }
  [[nodiscard]] std::string args(const call_parts& x) const {
    std::string list = "(";
    for (const passed& a : x.args) {
      if (list.size() != 1) list += ", ";
      list += (a.by_address ? "&" : "") + print_value(f, a.what);
    }
    return list + ")";
  }
  std::string operator()(const set_instr& x) const {
    return print_value(f, x.place) + " = " + print_value(f, x.from);
  }
  std::string operator()(const clear_instr& x) const { return "clear " + name(x.slot); }
  std::string operator()(const retain_instr& x) const {
    return "retain " + print_value(f, x.place);
  }
  std::string operator()(const release_instr& x) const { return "release " + name(x.slot); }
  std::string operator()(const operation_call& x) const {
    return to(x) +
           (x.on ? print_value(f, *x.on) + "." + std::string(x.builtin->name)
                 : x.builtin->full_name()) +
           args(x);
  }
  std::string operator()(const function_call& x) const { return to(x) + x.callee->name + args(x); }
  std::string operator()(const frame_call& x) const {
    return to(x) + "frame " + x.callee->name + args(x);
  }
  std::string operator()(const spawn_call& x) const {
    return to(x) + "spawn " + x.callee->name + args(x) +
           (x.scope != no_id ? " in " + name(x.scope) : "");
  }
  std::string operator()(const open_within& x) const {
    return "open " + name(x.slot) + " for " + print_value(f, x.limit);
  }
  std::string operator()(const one_of<open_scope, open_shield> auto& x) const {
    return "open " + name(x.slot);
  }
  std::string operator()(const one_of<close_within, close_shield> auto& x) const {
    return "close " + name(x.slot);
  }
};

}  // namespace

std::string instr_text(const flow& f, const instr::kinds& how) {
  return std::visit(instr_printer{f}, how);
}

std::string block_name(const flow& f, block_id id) {
  return "b" + std::to_string(id) + "." + f.blocks[id].name;
}

namespace {

/// How a tail is written, one function a kind.
struct tail_printer {
  const flow& f;
  const tail& t;

  [[nodiscard]] std::string to(std::size_t i) const { return block_name(f, t.next.at(i)); }
  std::string operator()(const open_tail&) const { return "?"; }
  std::string operator()(const go_tail&) const { return "go " + to(0); }
  std::string operator()(const branch_tail& x) const {
    return "if " + print_value(f, x.condition) + " go " + to(0) + " else " + to(1);
  }
  std::string operator()(const check_tail&) const {
    return "if status < 0 go " + to(1) + " else " + to(0);
  }
  std::string operator()(const fault_tail&) const {
    return "if fault go " + to(1) + " else " + to(0);
  }
  std::string operator()(const choose_tail& x) const {
    std::string out = "switch " + print_value(f, x.of);
    for (std::size_t i = 0; i + 1 < t.next.size(); ++i)
      out += ", " + (x.texts.empty() ? to_decimal(x.cases[i]) : literal_text(x.texts[i])) + ": " +
             to(i);
    return out + ", else: " + to(t.next.size() - 1);
  }
  std::string operator()(const wait_tail& x) const {
    return "wait " + instr_text(f, x.ask) + " then " + to(0);
  }
  std::string operator()(const pool_tail& x) const {
    return "wait " + instr_text(f, x.ask) + " then " + to(0);
  }
  std::string operator()(const call_tail& x) const {
    return "call " + instr_text(f, x.ask) + " then " + to(0);
  }
  std::string operator()(const any_tail& x) const {
    std::string out = "any";
    for (std::size_t i = 0; i != x.arms.size(); ++i)
      out += (i == 0 ? " " : " | ") + instr_text(f, x.arms[i]) + " then " + to(i);
    return out;
  }
  std::string operator()(const leave_tail& x) const {
    return std::string(x.cancels ? "cancel and leave " : "leave ") + f.slots[x.scope].name +
           " then " + to(0);
  }
  std::string operator()(const yield_tail&) const { return "yield then " + to(0); }
  std::string operator()(const end_tail&) const { return "end"; }
};

std::string tail_text(const flow& f, const tail& t) {
  return std::visit(tail_printer{f, t}, t.how);
}

std::string dot_text(std::string s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string print_value(const flow& f, const value& v) {
  const auto text = [&](const value& part) { return print_value(f, part); };
  const auto call = [&](std::string_view name, const value& of) {
    return std::string(name) + "(" + text(of) + ")";
  };
  return by_kind(
      v,
      [&](const number_value& x) -> std::string {
        if (v.type->is(kind::boolean)) return x.number != 0 ? "true" : "false";
        return to_decimal(x.number);
      },
      [](const one_of<text_value, literal_value> auto& x) { return literal_text(x.bytes); },
      [&](const slot_value& x) { return f.slots[x.slot].name; },
      [&](const field_value& x) {
        return text(*x.of) + "." + x.of->type->record->parts.at(x.field).name;
      },
      [&](const one_of<element_value, byte_value> auto& x) {
        return text(*x.of) + "[" + text(*x.at) + "]";
      },
      [&](const part_value& x) {
        return text(*x.of) + "[" + text(*x.from) + ".." + text(*x.to) + "]";
      },
      [&](const index_value& x) { return call("heddle_index", *x.at); },
      [&](const error_value& x) { return "error of " + text(*x.of); },
      [&](const status_value& x) { return "status of " + text(*x.of); },
      [&](const unary_value& x) { return std::string(spelling(x.op)) + text(*x.of); },
      [&](const binary_value& x) {
        return "(" + text(*x.left) + " " + std::string(spelling(x.op)) + " " + text(*x.right) + ")";
      },
      [&](const convert_value& x) { return call(v.type->name, *x.of); },
      [&](const view_value& x) { return call("view", *x.of); },
      [&](const wrap_value& x) { return call("some", *x.of); },
      [](const empty_value&) -> std::string { return "empty"; },
      [&](const has_value& x) { return call("has", *x.of); },
      [&](const held_value& x) { return call("held", *x.of); },
      [&](const property_value& x) { return call(x.c_name, *x.of); },
      [](const foreign_value& x) { return x.name; });
}

std::string print_flow(const flow& f) {
  std::string out = "function " + f.fn->c_name + "\n";
  for (block_id i = 0; i != f.blocks.size(); ++i) {
    const flow_block& b = f.blocks[i];
    out += block_name(f, i) + (b.tail.waits() ? " (wait)" : "") + ":\n";
    for (const instr& x : b.body) out += "  " + instr_text(f, x.how) + "\n";
    out += "  " + tail_text(f, b.tail) + "\n";
  }
  return out + "\n";
}

std::string print_dot(const flow& f) {
  std::string out =
      "subgraph \"cluster_" + f.fn->c_name + "\" {\n  label=\"" + f.fn->c_name + "\";\n";
  const std::string id = f.fn->c_name + "_";
  for (block_id i = 0; i != f.blocks.size(); ++i) {
    const flow_block& b = f.blocks[i];
    std::string text = b.name + "\\l";
    for (const instr& x : b.body) text += dot_text(instr_text(f, x.how)) + "\\l";
    each_call(b.tail, [&](const auto& x) { text += dot_text(instr_text(f, x)) + "\\l"; });
    if (b.tail.is<branch_tail>())
      text += "if " + dot_text(print_value(f, *b.tail.decides())) + "\\l";
    out += "  \"" + id + std::to_string(i) + "\" [label=\"" + text + "\"" +
           (b.tail.waits() ? ",shape=box,style=\"rounded,filled\",fillcolor=lightyellow"
                           : ",shape=box") +
           "];\n";
    for (std::size_t n = 0; n != b.tail.next.size(); ++n) {
      out +=
          "  \"" + id + std::to_string(i) + "\" -> \"" + id + std::to_string(b.tail.next[n]) + "\"";
      if (b.tail.is<branch_tail>()) out += n == 0 ? " [label=yes]" : " [label=no]";
      if ((b.tail.is<check_tail>() || b.tail.is<fault_tail>()) && n == 1)
        out += " [label=error,style=dashed]";
      out += ";\n";
    }
  }
  return out + "}\n";
}

}  // namespace heddle::draft
