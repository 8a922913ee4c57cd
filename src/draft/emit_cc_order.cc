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
  if (f.decl->is_extern) return f.decl->pure;
  if (f.waits) return false;
  const auto [at, first] = quiet_.try_emplace(&f, true);  // true where it calls itself
  if (!first) return at->second;
  bool still = true;
  for (const variable* v : f.params) still &= v->how == passing::borrow;
  walk(
      f.decl->body,
      [&](const expr& e) {
        if (e.kind == expr_kind::spawn) still = false;
        if (e.kind == expr_kind::call && e.means == meaning::function) still &= quiet(*e.callee);
        if (e.kind == expr_kind::call && e.means == meaning::operation)
          still &= operation_effect(*e.op_info) < effect::acts;
      },
      [](const stmt&) {});
  return quiet_[&f] = still;
}

effect cc_emitter::effect_of(const expr& e) {
  if (e.is_constant && e.kind != expr_kind::name) return effect::none;
  effect most = effect::none;
  switch (e.kind) {
    case expr_kind::name:
      if (e.means == meaning::local && (e.var->is_var || e.var->how == passing::change))
        most = effect::reads;
      return most;
    case expr_kind::unary:
      most = e.op == word::s_sub ? effect::faults : effect::none;
      break;
    case expr_kind::binary:
      switch (e.op) {
        case word::s_add:
        case word::s_sub:
        case word::s_mul:
        case word::s_div:
        case word::s_mod:
        case word::s_shl:
        case word::s_shr:
          most = effect::faults;
          break;
        default:
          break;
      }
      break;
    case expr_kind::index:
      most = effect::faults;
      break;
    case expr_kind::or_else:
      if (!e.b || effect_of(*e.b) > effect::reads) return effect::acts;
      return std::max(effect_of(*e.a), effect_of(*e.b));  // value_or()
    case expr_kind::spawn:
      return effect::acts;
    case expr_kind::member:
      if (e.means == meaning::constant || e.means == meaning::enumerator ||
          e.means == meaning::error_name)
        return effect::none;
      break;
    case expr_kind::call:
      if (e.means == meaning::function)
        most = quiet(*e.callee) ? effect::faults : effect::acts;
      else if (e.means == meaning::operation)
        most = operation_effect(*e.op_info);
      else if (e.means == meaning::conversion || e.means == meaning::construct)
        most = effect::faults;
      if (e.means != meaning::operation || e.a->kind != expr_kind::member) {
        for (const argument& a : e.args)
          if (a.value) most = std::max(most, effect_of(*a.value));
        return most;
      }
      if (e.a->a->means != meaning::namespace_) most = std::max(most, effect_of(*e.a->a));
      for (const argument& a : e.args)
        if (a.value) most = std::max(most, effect_of(*a.value));
      return most;
    default:
      break;
  }
  if (e.a && e.a->means != meaning::namespace_) most = std::max(most, effect_of(*e.a));
  if (e.b) most = std::max(most, effect_of(*e.b));
  for (const argument& a : e.args)
    if (a.value) most = std::max(most, effect_of(*a.value));
  return most;
}

bool cc_emitter::holds_wait(const expr& e) {
  bool any = false;
  walk(
      e, [&](const expr& x) { any |= x.waits || (x.kind == expr_kind::call && waits(x)); },
      [](const stmt&) {});
  return any;
}

bool cc_emitter::meets(const expr& changes, const expr& reads) {
  std::set<const variable*> changed;
  const auto root = [](const expr* e) -> const variable* {
    while (e->kind == expr_kind::member || e->kind == expr_kind::index) e = e->a.get();
    return e->kind == expr_kind::name ? e->var : nullptr;
  };
  walk(
      changes,
      [&](const expr& e) {
        if (e.moves) changed.insert(e.var);
        if (e.kind == expr_kind::move) changed.insert(root(e.a.get()));
        if (e.kind != expr_kind::call) return;
        if (e.means == meaning::function)
          for (std::size_t i = 0; i != e.args.size(); ++i)
            if (e.args[i].value && e.callee->params[i]->how == passing::change)
              changed.insert(root(e.args[i].value.get()));
        if (e.means != meaning::operation || e.a->kind != expr_kind::member) return;
        if (e.op_info->changes || e.op_info->consumes) changed.insert(root(e.a->a.get()));
        const auto params = params_of(*e.op_info);
        for (std::size_t i = 0; i != e.args.size() && i < params.size(); ++i)
          if (e.args[i].value && params[i].how == passing::change)
            changed.insert(root(e.args[i].value.get()));
      },
      [&](const stmt& s) {
        if (s.kind == stmt_kind::assign) changed.insert(root(s.a.get()));
      });
  bool any = false;
  walk(
      reads,
      [&](const expr& e) {
        any |= e.kind == expr_kind::name && e.var != nullptr && changed.contains(e.var);
      },
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
  const type& t = e.to != nullptr ? *e.to : *e.type;
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
