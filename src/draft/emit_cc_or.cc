// SPDX-License-Identifier: MIT
// `or` in C++: draft::caught() gives the value or the error, and what follows asks it. An optional
// is asked itself.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// Whether it waits or passes on an error: then it must stay outside of the call of caught().
bool stays_outside(const expr& e) {
  bool any = false;
  walk(e, [&](const expr& x) { any |= x.kind == expr_kind::try_ || x.waits; }, [](const stmt&) {});
  return any;
}

}  // namespace

cc_expr cc_emitter::outcome_text(const expr& e) {
  if (e.of_optional) return text(*e.a);
  const expr& call = *e.a;
  if (waits(call)) return cc_prefix("co_await ", cc_call("draft::caught", {bare_call(call)}));
  for (const argument& a : call.args)
    if (a.value && stays_outside(*a.value)) done_[a.value.get()] = saved(*a.value, "first");
  if (call.a && call.a->kind == expr_kind::member && stays_outside(*call.a->a))
    done_[call.a->a.get()] = saved(*call.a->a, "first");
  const cc_expr inner = text(call);
  return cc_expr("draft::caught([&] { " + std::string(call.type->is(kind::void_) ? "" : "return ") +
                 inner.alone() + "; })");
}

cc_expr cc_emitter::short_or(const expr& e) {
  if (!e.b || effect_of(*e.b) > effect::reads || grows(*e.b)) return {};
  if (e.b->type->is_owned() || e.a->type->is_owned()) return {};
  const cc_expr outcome = outcome_text(e);
  return cc_call(outcome.primary() + ".value_or", {text(*e.b)});
}

void cc_emitter::emit_handler(const expr& e, const std::string& outcome) {
  if (e.b) {
    const bool lines = grows(*e.b);
    if (lines) out_.open("if (!" + outcome + ")");
    const cc_expr value = text(*e.b);
    line((lines ? "" : "if (!" + outcome + ") ") + outcome + " = " + value.alone() + ";");
    if (lines) out_.close();
    return;
  }
  const std::size_t from = out_.size();
  out_.open("if (!" + outcome + ")");
  if (e.error_var != nullptr) texts_[e.error_var] = cc_expr(outcome + ".error()");
  if (e.jump)
    emit_stmt(*e.jump);
  else
    emit_block(*e.handler);
  out_.close_if(from);
}

cc_expr cc_emitter::or_text(const expr& e, const std::string& name) {
  if (cc_expr s = short_or(e); !s.empty()) return s;
  const cc_expr outcome = outcome_text(e);
  const std::string got = fresh(name);
  line("auto " + got + " = " + outcome.alone() + ";");
  emit_handler(e, got);
  if (e.type->needs_release()) return cc_expr("std::move(*" + got + ")");
  return cc_prefix("*", cc_expr(got));
}

void cc_emitter::emit_or(const expr& e) {
  const bool empty = e.handler && e.handler->body.empty();
  const cc_expr outcome = outcome_text(e);
  if (empty) return line(outcome.alone() + ";");
  const std::size_t from = out_.size();
  const bool asked = e.error_var != nullptr && e.error_var->used;
  // GCC 12 does not go on after a co_await in a condition.
  if (asked || cc_waits(outcome)) {
    const std::string got = fresh("done");
    out_.open("if (const auto " + got + " = " + outcome.alone() + "; !" + got + ")");
    if (asked) texts_[e.error_var] = cc_expr(got + ".error()");
  } else {
    out_.open("if (!" + outcome.beside() + ")");
  }
  if (e.jump)
    emit_stmt(*e.jump);
  else if (e.handler)
    emit_block(*e.handler);
  else
    line(text(*e.b).alone() + ";");
  out_.close_if(from);
}

}  // namespace heddle::draft
