// SPDX-License-Identifier: MIT
// Adds the effects of expressions on variables to the graph of a function.
#include <algorithm>
#include <utility>

#include "draft/own_graph.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

bool has_effects(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        any |= x.kind == expr_kind::call || x.kind == expr_kind::spawn ||
               (x.kind == expr_kind::name && x.moves);
      },
      [](const stmt&) {});
  return any;
}

}  // namespace

variable* place_root(const expr& e) noexcept {
  const expr* at = &e;
  for (;;) {
    if (at->kind == expr_kind::name && at->means == meaning::local) return at->var;
    if (at->kind == expr_kind::member && at->means == meaning::field) {
      at = at->a.get();
    } else if (at->kind == expr_kind::index) {
      at = at->a.get();
    } else {
      return nullptr;
    }
  }
}

void ownership_graph::add_subscripts(const expr& e) {
  if (e.kind == expr_kind::index) add_expr(*e.b);
  if (e.a && (e.a->kind == expr_kind::index || e.a->kind == expr_kind::member))
    add_subscripts(*e.a);
}

void ownership_graph::use_place(const expr& e, happening how) {
  variable* const v = place_root(e);
  if (v == nullptr) return add_expr(e);
  add_subscripts(e);
  add(how, v, e.at);
}

void ownership_graph::add_expr(const expr& e) {
  switch (e.kind) {
    case expr_kind::name:
      if (e.means != meaning::local) return;
      if (e.moves && in_defer_) {
        report_.error("D0101", e.at, quoted(e.var->name) + " cannot be moved in 'defer'").hint =
            "it is released at the end of its block anyway";
        return;
      }
      return add(e.moves ? happening::move : happening::use, e.var, e.at);
    case expr_kind::member:
      if (e.means == meaning::field || e.means == meaning::operation)
        use_place(*e.a, happening::use);
      return;
    case expr_kind::index:
      use_place(*e.a, happening::use);
      return add_expr(*e.b);
    case expr_kind::unary:
    case expr_kind::try_:
    case expr_kind::move:
      return add_expr(*e.a);
    case expr_kind::binary: {
      if (e.op != word::s_andand && e.op != word::s_oror)
        return add_before(*e.a, has_effects(*e.b), [&] { add_expr(*e.b); });
      add_expr(*e.a);
      const std::size_t before = at_;
      const std::size_t after = fresh();
      go(after);
      at_ = branch(before);
      add_expr(*e.b);
      go(after);
      at_ = before == nowhere ? nowhere : after;
      return;
    }
    case expr_kind::range:
      if (e.a) add_expr(*e.a);
      if (e.b) add_expr(*e.b);
      return;
    case expr_kind::list:
      for (const argument& a : e.args) add_expr(*a.value);
      return;
    case expr_kind::spawn:
      return add_spawn(e);
    case expr_kind::call:
      return add_call(e);
    case expr_kind::or_else: {
      add_expr(*e.a);
      const std::size_t before = at_;
      const std::size_t after = fresh();
      go(after);
      at_ = branch(before);
      const std::size_t mark = live_.size();
      enter_name(e.error_var, true);
      if (e.jump) add_stmt(*e.jump);
      if (e.handler) add_block(*e.handler);
      if (e.b) add_expr(*e.b);
      leave_names(mark);
      go(after);
      at_ = before == nowhere ? nowhere : after;
      return;
    }
    default:
      return;
  }
}

void ownership_graph::add_call(const expr& e) {
  if (e.means == meaning::operation && e.a->kind == expr_kind::member &&
      e.a->a->means != meaning::namespace_) {
    const expr& on = *e.a->a;
    add_args(e, 0);
    const operation& op = *e.op_info;
    if (op.consumes) {
      // `defer c.close()` does nothing where c is gone by then.
      const bool later = std::exchange(in_defer_, false);
      add(later ? happening::use : happening::move, place_root(on), on.at);
      in_defer_ = later;
    } else {
      use_place(on, op.changes ? happening::change
                    : op.waits ? happening::wait_on
                               : happening::use);
    }
    change_args(e);
    return;
  }
  add_args(e, 0);
  change_args(e);
}

void ownership_graph::add_args(const expr& e, std::size_t first) {
  while (first != e.args.size() && !e.args[first].value) ++first;
  if (first == e.args.size()) return;
  bool effects = false;
  for (std::size_t i = first + 1; i != e.args.size(); ++i)
    effects = effects || (e.args[i].value && has_effects(*e.args[i].value));
  add_before(*e.args[first].value, effects, [&] { add_args(e, first + 1); });
}

variable* ownership_graph::add_nameless(const expr& from) {
  std::vector<variable*> roots = roots_of(from);
  if (roots.empty() || at_ == nowhere) return nullptr;
  auto made = std::make_unique<variable>();
  made->name = std::string(from.at.file->text().substr(from.at.begin, from.at.size()));
  made->type = from.to != nullptr ? from.to : from.type;
  made->owner = &function_;
  made->number = static_cast<std::uint32_t>(function_.variables.size());
  variable* const v = made.get();
  function_.variables.push_back(std::move(made));
  function_.looks_into[v] = std::move(roots);
  add(happening::declare, v, {});
  add(happening::assign, v, {});
  return v;
}

void ownership_graph::close_views() {
  for (auto& [view, roots] : function_.looks_into) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (roots[i]->type->owning != owning::borrowed) continue;
      const auto more = function_.looks_into.find(roots[i]);
      if (more == function_.looks_into.end()) continue;
      for (std::size_t n = 0; n < more->second.size(); ++n)
        if (std::find(roots.begin(), roots.end(), more->second[n]) == roots.end())
          roots.push_back(more->second[n]);
    }
  }
  for (auto& [view, roots] : function_.looks_into)
    roots.erase(
        std::remove_if(roots.begin(), roots.end(),
                       [](const variable* v) { return v->type->owning == owning::borrowed; }),
        roots.end());
}

void ownership_graph::add_arg(const argument& a, passing, const variable*) {
  if (a.value) add_expr(*a.value);
}

void ownership_graph::change_args(const expr& e) {
  std::vector<passing> how(e.args.size(), passing::borrow);
  if (e.callee != nullptr) {
    for (std::size_t i = 0; i != how.size(); ++i) how[i] = e.callee->decl->params[i].how;
  } else if (e.op_info != nullptr && e.op_info->params != "...") {
    const auto params = params_of(*e.op_info);
    for (std::size_t i = 0; i != how.size() && i != params.size(); ++i) how[i] = params[i].how;
  }
  for (std::size_t i = 0; i != how.size(); ++i) {
    if (how[i] != passing::change || !e.args[i].value) continue;
    variable* const v = place_root(*e.args[i].value);
    if (v == nullptr) continue;
    for (std::size_t j = 0; j != how.size(); ++j) {
      if (j == i || !e.args[j].value) continue;
      const auto roots = roots_of(*e.args[j].value);
      // A handle that is lent is not counted: the change would release it under its user.
      const type& held = *e.args[j].value->type;
      const bool counted = held.owning == owning::counted && how[j] == passing::borrow;
      const bool same = place_root(*e.args[j].value) == v && (held.by_address() || counted);
      if (!same && !(how[j] == passing::change && place_root(*e.args[j].value) == v) &&
          std::find(roots.begin(), roots.end(), v) == roots.end())
        continue;
      if (how[j] == passing::change && j < i) continue;  // reported already
      auto& d = report_.error("D0301", e.args[i].at,
                              quoted(v->name) + " would be changed while it is looked at");
      d.notes.push_back({e.args[j].at, "by this argument"});
      d.hint = "pass a copy";
    }
    if (e.callee == nullptr && e.means == meaning::operation && e.a->kind == expr_kind::member &&
        place_root(*e.a->a) == v) {
      report_.error("D0301", e.args[i].at, quoted(v->name) + " is passed to itself");
    }
    add(happening::change, v, e.args[i].at);
  }
}

void ownership_graph::add_spawn(const expr& e) {
  const expr& call = *e.a;
  const function& f = *call.callee;
  // The color is read before the parameters move into the thread.
  if (e.b) add_expr(*e.b);
  for (const argument& a : call.args) add_expr(*a.value);
  for (std::size_t i = 0; i != call.args.size(); ++i) {
    const variable& p = *f.params[i];
    const expr& value = *call.args[i].value;
    if (f.is_thread() || p.how == passing::take) continue;
    for (variable* root : roots_of(value)) lend(root, happening::lend, value.at);
    variable* const v = place_root(value);
    if (v == nullptr) continue;
    if (p.how == passing::change) {
      lend(v, happening::lend_var, value.at);
    } else if (v->type->is_owned() && value.type->is_owned()) {
      lend(v, happening::lend, value.at);
    }
  }
}

void ownership_graph::lend(variable* v, happening how, span at) {
  if (scopes_.empty()) return;
  const auto inside = live_.begin() + static_cast<std::ptrdiff_t>(scopes_.back());
  if (v->type->owning != owning::borrowed && std::find(inside, live_.end(), v) != live_.end()) {
    auto& d = report_.error("D0201", at, quoted(v->name) + " ends before the job that borrows it");
    d.notes.push_back({v->at, "it is declared here"});
    d.hint = "declare it before the 'scope'";
    return;
  }
  add(how, v, at);
  lent_.push_back(v);
}

std::vector<variable*> ownership_graph::roots_of(const expr& e) const {
  std::vector<variable*> list;
  collect_roots(e, list);
  return list;
}

void ownership_graph::collect_roots(const expr& e, std::vector<variable*>& list) const {
  const bool is_view =
      (e.to != nullptr && e.to->is(kind::view)) || (e.type != nullptr && e.type->is(kind::view));
  if (!is_view) return;
  if (variable* const v = place_root(e); v != nullptr) {
    if (v->type->owning == owning::borrowed) {
      const auto found = function_.looks_into.find(v);
      if (found != function_.looks_into.end())
        list.insert(list.end(), found->second.begin(), found->second.end());
      list.push_back(v);
    } else {
      list.push_back(v);
    }
    return;
  }
  switch (e.kind) {
    case expr_kind::index:
    case expr_kind::try_:
      return collect_looked(*e.a, list);
    case expr_kind::or_else:
      collect_looked(*e.a, list);
      if (e.b) collect_looked(*e.b, list);
      return;
    case expr_kind::call:
      if (e.op_info == nullptr) return;
      if (e.op_info->looks_into) collect_looked(*e.a->a, list);
      if (e.op_info->looks_into_arg >= 0)
        collect_looked(*e.args[static_cast<std::size_t>(e.op_info->looks_into_arg)].value, list);
      return;
    default:
      return;
  }
}

void ownership_graph::collect_looked(const expr& e, std::vector<variable*>& list) const {
  variable* const v = place_root(e);
  if (v != nullptr && v->type->owning != owning::borrowed) {
    list.push_back(v);
  } else {
    collect_roots(e, list);
  }
}

void ownership_graph::note_view(variable* v, const expr& from) {
  if (v == nullptr || v->type->owning != owning::borrowed) return;
  auto& into = function_.looks_into[v];
  for (variable* root : roots_of(from))
    if (root != v && std::find(into.begin(), into.end(), root) == into.end()) into.push_back(root);
}

}  // namespace heddle::draft
