// SPDX-License-Identifier: MIT
// Draft evaluates from left to right. C++ leaves the order of operands and arguments open, so where
// it could be seen, the earlier ones are saved in variables first.
#include <algorithm>
#include <utility>

#include "draft/cc_emitter.hh"
#include "draft/operations.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

effect operation_effect(const operation& op) {
  if (op.waits || op.changes || op.consumes) return effect::acts;
  if (op.on == receiver::view || (op.on == receiver::buffer && !op.fallible))
    return op.fallible ? effect::faults : effect::reads;
  if (op.on == receiver::none && op.id != operation_id::event_of_wait) return effect::faults;
  if (op.on == receiver::listener || op.id == operation_id::now) return effect::reads;
  if (op.id == operation_id::address) return effect::faults;
  return effect::acts;
}

}  // namespace

bool cc_emitter::quiet(const function& f) {
  if (f.decl->is_extern()) return f.decl->words == function_words::pure_fn;
  if (f.waits || f.takes_action()) return false;
  const auto [at, first] = quiet_.try_emplace(&f, true);  // true where it calls itself
  if (!first) return at->second;
  bool still = true;
  for (const variable* v : f.params) still &= v->how == passing::borrow;
  walk(
      f.decl->body,
      [&](const expr& e) {
        if (e.is<spawn_expr>()) still = false;
        const call_expr* const c = e.get<call_expr>();
        if (c != nullptr && c->callee != nullptr) still &= quiet(*c->callee);
        if (c != nullptr && c->op != nullptr) still &= operation_effect(*c->op) < effect::acts;
      },
      [](const stmt&) {});
  return quiet_[&f] = still;
}

effect cc_emitter::effect_of(const expr& e) {
  if (e.is_constant && !e.is<name_expr>()) return effect::none;
  const auto parts = [&] {
    effect most = effect::none;
    each_part(e, overloaded{[&](const expr& part) { most = std::max(most, effect_of(part)); },
                            [](const stmt&) {}, [](const block&) {}});
    return most;
  };
  return by_kind(
      e,
      [&](const name_expr& x) {
        const bool varies = x.var != nullptr && (x.var->is_var || x.var->how == passing::change);
        return varies ? effect::reads : effect::none;
      },
      [&](const unary_expr& x) {
        return std::max(x.op == word::s_sub ? effect::faults : effect::none, parts());
      },
      [&](const binary_expr& x) {
        return std::max(may_fault(x.op) ? effect::faults : effect::none, parts());
      },
      [&](const index_expr&) { return std::max(effect::faults, parts()); },
      [&](const or_expr& x) {
        if (!x.otherwise || effect_of(*x.otherwise) > effect::reads) return effect::acts;
        return std::max(effect_of(*x.of), effect_of(*x.otherwise));  // value_or()
      },
      [&](const spawn_expr&) { return effect::acts; },
      [&](const member_expr&) {
        const bool known = e.means == meaning::constant || e.means == meaning::error_name;
        return known ? effect::none : parts();
      },
      [&](const call_expr& x) {
        effect most = effect::none;
        if (x.callee != nullptr)
          most = quiet(*x.callee) ? effect::faults : effect::acts;
        else if (x.op != nullptr)
          most = operation_effect(*x.op);
        else if (e.means == meaning::conversion)
          most = effect::faults;
        else if (e.means == meaning::action)
          most = effect::acts;
        if (const expr* const on = x.receiver()) most = std::max(most, effect_of(*on));
        for (const argument& a : x.args)
          if (a.value) most = std::max(most, effect_of(*a.value));
        return most;
      },
      [&](const one_of<bad_expr, integer_expr, duration_expr, boolean_expr, text_expr, none_expr,
                       list_expr, range_expr, try_expr, move_expr, action_expr> auto&) {
        return parts();
      });
}

bool cc_emitter::holds_wait(const expr& e) {
  bool any = false;
  walk(e, [&](const expr& x) { any |= x.waits || waits(x); }, [](const stmt&) {});
  return any;
}

bool cc_emitter::meets(const expr& changes, const expr& reads) {
  std::set<const variable*> changed;
  walk(
      changes,
      [&](const expr& e) {
        if (const name_expr* const n = e.get<name_expr>(); n != nullptr && n->moves)
          changed.insert(n->var);
        if (const move_expr* const m = e.get<move_expr>()) changed.insert(place_root(*m->of));
        const call_expr* const c = e.get<call_expr>();
        if (c == nullptr) return;
        if (c->callee != nullptr)
          for (std::size_t i = 0; i != c->args.size(); ++i)
            if (c->args[i].value && c->callee->params[i]->how == passing::change)
              changed.insert(place_root(*c->args[i].value));
        if (c->op == nullptr || !c->called->is<member_expr>()) return;
        if (c->op->changes || c->op->consumes) changed.insert(place_root(*c->receiver()));
        const auto params = params_of(*c->op);
        for (std::size_t i = 0; i != c->args.size() && i < params.size(); ++i)
          if (c->args[i].value && params[i].how == passing::change)
            changed.insert(place_root(*c->args[i].value));
      },
      [&](const stmt& s) {
        if (const assign_stmt* const x = s.get<assign_stmt>()) changed.insert(place_root(*x->to));
      });
  bool any = false;
  walk(
      reads, [&](const expr& e) { any |= e.local() != nullptr && changed.contains(e.local()); },
      [](const stmt&) {});
  return any;
}

bool cc_emitter::grows(const expr& e) {
  if (const auto found = grows_.find(&e); found != grows_.end()) return found->second;
  const cc_lines::mark before = out_.here();
  const std::size_t names = made_.size();
  const auto texts = texts_;
  const auto places = places_;
  const auto done = done_;
  const bool was_dry = std::exchange(dry_, true);
  static_cast<void>(text(e));
  const bool grew = out_.size() != before.size;
  out_.back_to(before);
  forget_names(names);
  texts_ = texts;
  places_ = places;
  done_ = done;
  dry_ = was_dry;
  return grows_[&e] = grew;
}

cc_expr cc_emitter::saved(const expr& e, const std::string& base) {
  const type& t = *e.final_type();
  const cc_expr value = text(e);
  const std::string name = fresh(base);
  line((t.is_owned() ? "" : "const ") + type_text(t, e.at) + " " + name + " = " + value.alone() +
       ";");
  return cc_expr(t.is_owned() ? "std::move(" + name + ")" : name);
}

std::vector<cc_expr> cc_emitter::operands(const std::vector<const expr*>& list,
                                          const std::vector<bool>& places) {
  std::vector<cc_expr> out;
  std::vector<effect> effects;
  for (const expr* e : list) effects.push_back(effect_of(*e));
  for (std::size_t i = 0; i != list.size(); ++i) {
    const bool is_place = i < places.size() && places[i];
    bool save = false;
    for (std::size_t k = i + 1; k < list.size() && !save && !is_place; ++k) {
      const bool both = effects[i] >= effect::faults && effects[k] >= effect::faults &&
                        (effects[i] == effect::acts || effects[k] == effect::acts);
      save = both || (effects[k] == effect::acts && meets(*list[k], *list[i])) ||
             (effects[i] == effect::acts && meets(*list[i], *list[k])) ||
             (effects[i] >= effect::reads && grows(*list[k]));
    }
    if (is_place)
      out.push_back(place_text(*list[i]));
    else
      out.push_back(save ? saved(*list[i], "first") : text(*list[i]));
  }
  return out;
}

}  // namespace heddle::draft
