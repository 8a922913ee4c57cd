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
  walk(e, [&](const expr& x) { any |= x.is<try_expr>() || x.waits; }, [](const stmt&) {});
  return any;
}

}  // namespace

cc_expr cc_emitter::outcome_text(const or_expr& x) {
  const expr& call = *x.of;
  if (x.of_optional) return text(call);
  if (waits(call)) return cc_prefix("co_await ", cc_call("draft::caught", {bare_call(call)}));
  const auto save = [&](const expr& e) {
    if (stays_outside(e)) done_[&e] = saved(e, "first");
  };
  const call_expr& parts = call.as<call_expr>();
  for (const argument& a : parts.args)
    if (a.value) save(*a.value);
  if (const expr* const on = parts.receiver()) save(*on);
  const cc_expr inner = text(call);
  return cc_expr("draft::caught([&] { " + std::string(call.type->is(kind::void_) ? "" : "return ") +
                 inner.alone() + "; })");
}

cc_expr cc_emitter::short_or(const or_expr& x) {
  if (!x.otherwise || effect_of(*x.otherwise) > effect::reads || grows(*x.otherwise)) return {};
  if (x.otherwise->type->is_owned() || x.of->type->is_owned()) return {};
  const cc_expr outcome = outcome_text(x);
  return cc_call(outcome.primary() + ".value_or", {text(*x.otherwise)});
}

void cc_emitter::emit_handler(const or_expr& x, const std::string& outcome) {
  if (x.otherwise) {
    const bool lines = grows(*x.otherwise);
    if (lines) out_.open("if (!" + outcome + ")");
    const cc_expr value = text(*x.otherwise);
    line((lines ? "" : "if (!" + outcome + ") ") + outcome + " = " + value.alone() + ";");
    if (lines) out_.close();
    return;
  }
  const std::size_t from = out_.size();
  out_.open("if (!" + outcome + ")");
  if (x.error_var != nullptr) texts_[x.error_var] = cc_expr(outcome + ".error()");
  if (x.jump)
    emit_stmt(*x.jump);
  else
    emit_block(*x.handler);
  out_.close_if(from);
}

cc_expr cc_emitter::or_text(const expr& e, const or_expr& x, const std::string& name) {
  if (cc_expr s = short_or(x); !s.empty()) return s;
  const cc_expr outcome = outcome_text(x);
  const std::string got = fresh(name);
  line("auto " + got + " = " + outcome.alone() + ";");
  emit_handler(x, got);
  if (e.type->needs_release()) return cc_expr("std::move(*" + got + ")");
  return cc_prefix("*", cc_expr(got));
}

void cc_emitter::emit_or(const or_expr& x) {
  const bool empty = x.handler && x.handler->body.empty();
  const cc_expr outcome = outcome_text(x);
  if (empty) return line(outcome.alone() + ";");
  const std::size_t from = out_.size();
  const bool asked = x.error_var != nullptr && x.error_var->used;
  // GCC 12 does not go on after a co_await in a condition.
  if (asked || cc_waits(outcome)) {
    const std::string got = fresh("done");
    out_.open("if (const auto " + got + " = " + outcome.alone() + "; !" + got + ")");
    if (asked) texts_[x.error_var] = cc_expr(got + ".error()");
  } else {
    out_.open("if (!" + outcome.beside() + ")");
  }
  if (x.jump)
    emit_stmt(*x.jump);
  else if (x.handler)
    emit_block(*x.handler);
  else
    line(text(*x.otherwise).alone() + ";");
  out_.close_if(from);
}

}  // namespace heddle::draft
