// SPDX-License-Identifier: MIT
// Functions in C: blocks are labels named after operation and line, in the order of the source.
#include <algorithm>
#include <map>
#include <set>

#include "draft/c_emitter.hh"

namespace heddle::draft {

std::string c_emitter::param_text(const flow& f, std::size_t i) {
  const slot& s = f.slots[f.params[i]];
  const variable& v = *f.fn->params[i];
  std::string t = c_type(*s.type);
  if (s.by_reference && !is_own_address(*s.type))
    t = (v.how == passing::change ? "" : "const ") + t + "*";
  return t + " " + c_name(s.name);
}

std::string c_emitter::prototype(const flow& f) {
  std::string list = "heddle_worker* w";
  for (std::size_t i = 0; i != f.params.size(); ++i) list += ", " + param_text(f, i);
  // Modules that this one uses are part of its C, and of that of others: their names stay inside.
  const bool seen = f.fn->decl->is_pub && f.fn->home == program_.main_module;
  const char* const unused = called_.contains(f.fn) ? "" : "__attribute__((unused)) ";
  const std::string linkage = seen ? "" : unused + std::string("static ");
  if (f.has_frame) return linkage + "heddle_frame* " + f.fn->c_name + "_new(" + list + ");\n";
  const type& r = *f.fn->result;
  if (returns_status(f)) {
    if (!r.is(kind::void_)) list += ", " + c_type(r) + "* result_";
    return linkage + "int64_t " + f.fn->c_name + "(" + list + ");\n";
  }
  return linkage + c_type(r) + " " + f.fn->c_name + "(" + list + ");\n";
}

std::vector<block_id> c_emitter::order_blocks(const flow& f) {
  std::vector<block_id> post;
  std::vector<std::uint8_t> seen(f.blocks.size(), 0);
  struct visit {
    block_id at;
    std::size_t left;
  };
  std::vector<visit> path = {{0, f.blocks[0].tail.next.size()}};
  seen[0] = 1;
  while (!path.empty()) {
    visit& v = path.back();
    if (v.left == 0) {
      post.push_back(v.at);
      path.pop_back();
      continue;
    }
    const block_id next = f.blocks[v.at].tail.next[--v.left];
    if (seen[next] != 0) continue;
    seen[next] = 1;
    path.push_back({next, f.blocks[next].tail.next.size()});
  }
  std::reverse(post.begin(), post.end());
  return post;
}

void c_emitter::name_labels(const flow& f, const std::vector<block_id>& order) {
  labels_.assign(f.blocks.size(), {});
  std::map<std::string, int> used;
  for (const block_id at : order) {
    std::string name = f.blocks[at].name;
    for (char& c : name)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
    const int n = ++used[name];
    labels_[at] = n == 1 ? name : name + "_" + std::to_string(n);
    if (is_c_word(labels_[at])) labels_[at] += "_";
  }
  // Only what is jumped to needs its label.
  needs_label_.assign(f.blocks.size(), false);
  for (std::size_t i = 0; i != order.size(); ++i) {
    const tail& t = f.blocks[order[i]].tail;
    const block_id next = i + 1 < order.size() ? order[i + 1] : no_id;
    if (t.waits()) needs_label_[order[i]] = true;
    for (std::size_t n = 0; n != t.next.size(); ++n) {
      const bool falls =
          t.next[n] == next && (t.is<go_tail>() || t.is<branch_tail>() ||
                                (n == 0 && !t.is<choose_tail>() && !t.is<any_tail>()));
      if (!falls) needs_label_[t.next[n]] = true;
    }
  }
}

void c_emitter::go_to(block_id to, block_id next) {
  if (to != next) line("goto " + labels_[to] + ";");
}

bool c_emitter::uses_bad(const flow& f) const {
  bool any = false;
  const auto look = [&](const value& v) { any |= v.may_fault() || v.checks_index(); };
  const auto look_at_call = overloaded{[&](const call_parts& c) {
                                         for (const passed& a : c.args) look(a.what);
                                       },
                                       [&](const operation_call& c) {
                                         for (const passed& a : c.args) look(a.what);
                                         if (c.on) look(*c.on);
                                         any |= c.builtin->may_fault;
                                       }};
  for (const flow_block& b : f.blocks) {
    for (const instr& i : b.body)
      by_kind(
          i, look_at_call,
          [&](const set_instr& x) {
            look(x.place);
            look(x.from);
          },
          [&](const retain_instr& x) { look(x.place); },
          [&](const open_within& x) { look(x.limit); },
          [](const one_of<clear_instr, release_instr, close_within, open_scope, open_shield,
                          close_shield> auto&) {});
    each_call(b.tail, look_at_call);
    if (const value* const v = b.tail.decides()) look(*v);
    any |= b.tail.is<fault_tail>();
  }
  return any;
}

void c_emitter::find_called() {
  const auto note = overloaded{[](const operation_call&) {},
                               [&](const one_of<function_call, frame_call, spawn_call> auto& x) {
                                 called_.insert(x.callee);
                               }};
  for (const flow& f : flows_) {
    if (f.fn->is_main()) called_.insert(f.fn);
    for (const flow_block& b : f.blocks) each_call(b, note);
  }
}

void c_emitter::emit_function(const flow& f) {
  flow_ = &f;
  last_line_ = 0;
  std::size_t body = 0;
  const std::vector<block_id> order = order_blocks(f);
  name_labels(f, order);
  if (f.has_frame) {
    emit_frame_type(f);
    emit_wait_table(f);
    std::string list = "heddle_worker* w";
    emit_body_head_frame(f);
    body = out_.find('\n', out_.rfind("_frame* const f = ")) + 1;
  } else {
    emit_plain_head(f);
  }
  for (std::size_t i = 0; i != order.size(); ++i) {
    const block_id at = order[i];
    const flow_block& b = f.blocks[at];
    if (needs_label_[at]) out_ += labels_[at] + ":;\n";
    for (const instr& x : b.body) emit_instr(x);
    emit_tail(f, b, i + 1 < order.size() ? order[i + 1] : no_id);
  }
  out_ += "}\n";
  if (f.has_frame && out_.find("f->", body) == std::string::npos) out_.insert(body, "  (void)f;\n");
  if (options_.lines) out_ += reset_line();
  if (f.has_frame) emit_constructor(f);
}

void c_emitter::emit_locals(const flow& f) {
  std::set<var_id> used, read;
  for (const flow_block& b : f.blocks) {
    const auto note = [&](var_id id, char how) {
      used.insert(id);
      if (how == 'u') read.insert(id);
    };
    for (const instr& x : b.body) {
      const set_instr* const sets = x.get<set_instr>();
      const var_id root = sets != nullptr ? sets->place.root() : no_id;
      if (root == no_id) {
        each_slot(x, f.status, note);
        continue;
      }
      // To write a part of a variable is not to read it.
      const bool before = read.contains(root);
      each_slot(sets->place, note);
      if (!before) read.erase(root);
      each_slot(sets->from, note);
    }
    each_slot(b.tail, f.status, f.result, note);
    if (b.tail.in_place() != no_id) used.insert(b.tail.in_place());
    if (b.tail.waits()) used.insert(f.status);
  }
  for (const var_id id : used) {
    const slot& s = f.slots[id];
    if (s.in_frame || s.parameter) continue;
    const std::string init = is_struct(*s.type) ? "" : is_pointer(*s.type) ? " = NULL" : " = 0";
    const char* const unused =
        id != f.status && read.count(id) == 0 ? "__attribute__((unused)) " : "";
    line(unused + c_type(*s.type) + " " +
         (id == f.status ? std::string("status") : c_name(s.name)) + init + ";");
  }
  if (!f.has_frame)
    for (const var_id id : f.params)
      if (!read.contains(id)) line("(void)" + c_name(f.slots[id].name) + ";");
  if (uses_bad(f)) line("uint32_t bad = 0;");
  for (const flow_block& b : f.blocks) {
    if (!b.tail.is<call_tail>()) continue;
    line("heddle_link run = 0;");
    break;
  }
}

void c_emitter::emit_plain_head(const flow& f) {
  std::string p = prototype(f);
  p.resize(p.size() - 2);
  out_ += "\n" + p + " {\n";
  emit_locals(f);
  line("(void)w;");
  if (!returns_status(f) &&
      out_.find("int64_t status = 0;", out_.rfind(f.fn->c_name + "(")) != std::string::npos)
    line("(void)status;");
  if (f.recursive) {
    line("if (!heddle_enter(w)) {");
    // The function does not run, so the arguments that it was to take are released here.
    for (std::size_t i = 0; i != f.params.size(); ++i)
      if (const slot& s = f.slots[f.params[i]];
          f.fn->params[i]->how == passing::take && s.type->needs_release())
        line("  " + release_text(*s.type, slot_text(f.params[i])) + ";");
    line("  return heddle_fault(w, HEDDLE_TOO_DEEP, " + c_text(f.fn->decl->at.file->path()) + ", " +
         std::to_string(f.fn->decl->at.file->line_of(f.fn->decl->at.begin)) + ");");
    line("}");
  }
}

}  // namespace heddle::draft
