// SPDX-License-Identifier: MIT
// The parts of a flow while it is built: blocks, slots, values, and which slots a view looks into.
#include <algorithm>
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

block_id lowering::fresh(std::string name) {
  flow_.blocks.emplace_back();
  flow_.blocks.back().name = std::move(name);
  return static_cast<block_id>(flow_.blocks.size() - 1);
}

void lowering::finish(span at, std::vector<block_id> next, tail::kinds how) {
  if (open()) flow_.blocks[at_].tail = {{std::move(how)}, at, std::move(next)};
  at_ = no_id;
}

void lowering::go(block_id to, span at) { finish(at, {to}, go_tail{}); }

void lowering::branch(value condition, block_id yes, block_id no, span at) {
  condition = safe(std::move(condition), at);
  finish(at, {yes, no}, branch_tail{std::move(condition)});
}

void lowering::add(span at, instr::kinds how) {
  if (open()) flow_.blocks[at_].body.push_back({{std::move(how)}, at});
}

var_id lowering::add_slot(std::string name, const type* t, span at, bool temporary) {
  slot s;
  std::string unique = name;
  for (int n = 2; names_.count(unique) != 0; ++n) unique = name + "_" + std::to_string(n);
  names_.insert(unique);
  s.name = std::move(unique);
  s.type = t;
  s.at = at;
  s.temporary = temporary;
  flow_.slots.push_back(std::move(s));
  return static_cast<var_id>(flow_.slots.size() - 1);
}

void lowering::set(value place, value from, span at) {
  const bool faults = from.may_fault();
  add(at, set_instr{std::move(place), std::move(from)});
  if (faults) check_fault(at);
}

void lowering::check_fault(span at) {
  if (!open()) return;
  flow_.may_fault = true;
  const block_id next = fresh("go_on", at);
  finish(at, {next, unwind_to(top_)}, fault_tail{});
  at_ = next;
}

value lowering::safe(value v, span at) {
  if (!v.may_fault()) return v;
  const var_id tmp = add_temp(v.type, at);
  note_value_views(tmp, v);
  set(value_of(tmp), std::move(v), at);
  return value_of(tmp);
}

value lowering::stable(value v, span at) {
  if (v.is<number_value, text_value, literal_value, foreign_value, empty_value>()) return v;
  const value* base = &v;
  while (base->is<field_value, view_value>())
    each_part(*base, [&](const value& of) { base = &of; });
  if (base->is<slot_value>()) return v;
  const var_id tmp = add_temp(v.type, at);
  note_value_views(tmp, v);
  set(value_of(tmp), std::move(v), at);
  return value_of(tmp);
}

void lowering::note_value_views(var_id into, const value& v) {
  if (v.type->owning != owning::borrowed) return;
  std::vector<var_id>& list = flow_.slots[into].looks_into;
  each_slot(v, [&](var_id id, char) {
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  });
}

void lowering::link_views() {
  for (const auto& [into, from] : views_) {
    std::vector<var_id>& list = flow_.slots[into].looks_into;
    if (std::find(list.begin(), list.end(), from) == list.end()) list.push_back(from);
  }
}

void lowering::note_program_views(const variable& v, var_id id) {
  const auto found = context_->fn->looks_into.find(&v);
  if (found == context_->fn->looks_into.end()) return;
  for (variable* root : found->second) {
    const context* const c = knowing(*root);
    if (c == nullptr) continue;
    if (const auto slot_of = c->names.find(root); slot_of != c->names.end())
      views_.emplace_back(id, slot_of->second);
    else
      each_slot(c->aliases.at(root), [&](var_id from, char) { views_.emplace_back(id, from); });
  }
}

const lowering::context* lowering::knowing(const variable& v) const {
  const context* c = context_;
  while (c != nullptr && !c->names.contains(&v) && !c->aliases.contains(&v)) c = c->home;
  return c;
}

value lowering::variable_value(const variable& v) {
  if (const context* const c = knowing(v)) {
    const auto alias = c->aliases.find(&v);
    return alias != c->aliases.end() ? alias->second : value_of(c->names.at(&v));
  }
  const var_id id = add_slot(v.name, v.type, v.at);
  context_->names[&v] = id;
  return value_of(id);
}

var_id lowering::declare(const variable& v) {
  const var_id id = add_slot(v.name, v.type, v.at);
  context_->names[&v] = id;
  note_program_views(v, id);
  return id;
}

}  // namespace heddle::draft
