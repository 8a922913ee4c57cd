// SPDX-License-Identifier: MIT
// Calls in C++: of functions, of C, of records' makers; conversions; spawn.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/operations.hh"
#include "draft/walk.hh"

namespace heddle::draft {

bool cc_emitter::waits(const expr& call) {
  const call_expr* const x = call.get<call_expr>();
  if (x == nullptr) return false;
  if (call.means == meaning::action) return x->action()->waits;
  return x->callee != nullptr ? x->callee->waits : x->op != nullptr && x->op->waits;
}

cc_expr cc_emitter::call_text(const expr& e) {
  const cc_expr call = bare_call(e);
  if (!waits(e) || foreign_blocks(e)) return call;
  return cc_prefix("co_await ", call);
}

bool cc_emitter::foreign_blocks(const expr& call) {
  const function* const f = call.as<call_expr>().callee;
  return f != nullptr && f->decl->is_extern() && f->decl->is_blocking();
}

void cc_emitter::name_aggregates(const call_expr& call) {
  for (const argument& a : call.args) {
    const expr* const v = a.value.get();
    if (v == nullptr || done_.contains(v)) continue;
    if (!v->is<list_expr>() && v->means != meaning::record) continue;
    const std::string value = text(*v).alone(), name = fresh("made");
    const std::string t = type_text(*v->type, v->at);
    line(t + " " + name + value.substr(t.size()) + ";");
    done_[v] = cc_expr(v->type->needs_release() ? "std::move(" + name + ")" : name);
  }
}

cc_expr cc_emitter::bare_call(const expr& e) {
  const call_expr& x = e.as<call_expr>();
  if (waits(e) || e.waits) name_aggregates(x);
  if (x.op != nullptr) return operation_text(e);
  if (x.callee != nullptr)
    return x.callee->decl->is_extern() ? foreign_call(e, x) : function_call(x);
  if (e.means == meaning::action) return cc_call(name_of(*x.action()), {});
  if (e.means == meaning::record) return record_text(e, x);
  if (e.means == meaning::conversion) return conversion_text(e, x);
  stop(e.at, "this call");
}

cc_expr cc_emitter::function_call(const call_expr& x) {
  const function& f = *x.callee;
  std::vector<const expr*> list;
  std::vector<bool> places;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const expr* value = i < x.args.size() ? x.args[i].value.get() : nullptr;
    if (value == nullptr) value = f.decl->params[i].fallback.get();
    list.push_back(value);
    places.push_back(f.params[i]->how == passing::change);
    // The lambda does nothing yet, so no argument is saved before it.
    if (const action_expr* const action = value->get<action_expr>();
        action != nullptr && !done_.contains(value)) {
      const cc_expr made = action_text(*value, *action);
      done_[value] = made;
    }
  }
  return cc_call(function_text(f), operands(list, places));
}

cc_expr cc_emitter::foreign_call(const expr& e, const call_expr& x) {
  const function& f = *x.callee;
  std::vector<const expr*> list;
  std::vector<bool> places;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const expr& value = *x.args[i].value;
    const bool lvalue = value.is<name_expr>() || value.is<member_expr>();
    list.push_back(&value);
    places.push_back(f.params[i]->how == passing::change ||
                     (f.params[i]->type->is(kind::record) && lvalue && !is_c_text(value)));
  }
  std::vector<cc_expr> t = operands(list, places);
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const variable& v = *f.params[i];
    cc_expr& a = t[i];
    switch (v.type->kind) {
      case kind::view:
      case kind::text:
        a = cc_call("draft::to_c", {a});
        break;
      case kind::record:
        if (!places[i]) {
          const std::string name = fresh("record");
          line("const " + type_text(*v.type, e.at) + " " + name + " = " + a.alone() + ";");
          a = cc_expr(name);
        }
        a = cc_prefix("&", cc_expr(a.primary()));
        break;
      case kind::buffer:
        a = cc_member(a, "raw()");
        break;
      case kind::opaque:
        if (!v.type->opaque->drop.empty())
          a = cc_member(a, v.how == passing::take ? "release()" : "get()");
        break;
      case kind::enumeration:
        if (v.how == passing::change) stop(v.at, "enums that C changes");
        a = cc_call("static_cast<" + type_text(*v.type->values->base, e.at) + ">", {a});
        break;
      case kind::error:
        if (v.how == passing::change) stop(v.at, "errors that C changes");
        a = cc_member(a, "code()");
        break;
      case kind::duration:
        if (v.how == passing::change) stop(v.at, "durations that C changes");
        a = cc_member(a, "count()");
        break;
      default:
        if (!v.type->is_integer() && !v.type->is(kind::boolean))
          stop(v.at, "C functions that take a " + v.type->name);
        if (v.how == passing::change) a = cc_prefix("&", cc_expr(a.primary()));
    }
  }
  cc_expr call = cc_call(f.name, t);
  if (foreign_blocks(e)) {
    const std::string name = fresh("work");
    line("auto " + name + " = [&] { return " + call.alone() + "; };");
    call = cc_expr("co_await draft::blocking(" + name + ")", cc_rank::prefix);
  }
  switch (f.result->kind) {
    case kind::view:
      return cc_call("draft::from_c", {call});
    case kind::enumeration:
      return cc_call("static_cast<" + type_text(*f.result, e.at) + ">", {call});
    case kind::error:
      return cc_call("draft::error::of_code", {call});
    case kind::duration:
      return cc_call("heddle::nanoseconds", {call});
    case kind::opaque:
      if (f.result->opaque->drop.empty()) return call;
      return cc_call(type_text(*f.result, e.at), {call});
    default:
      if (!f.result->is_integer() && !f.result->is(kind::boolean) && !f.result->is(kind::void_))
        stop(f.decl->at, "C functions that give a " + f.result->name);
      return call;
  }
}

cc_expr cc_emitter::record_text(const expr& e, const call_expr& x) {
  const record& r = *e.type->record;
  const bool foreign = r.decl->is_extern();
  std::vector<const expr*> list;
  for (const argument& a : x.args)
    if (a.value) list.push_back(a.value.get());
  const std::vector<cc_expr> t = operands(list);
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i != r.parts.size(); ++i) {
    const bool given = i < x.args.size() && x.args[i].value;
    // Designated initializers of a C struct name every field, or the compiler warns.
    if (!given && (!foreign || list.empty())) continue;
    if (given && foreign && r.parts[i].type->is(kind::text))
      stop(e.at, "texts of C records that are given when it is made; set them afterwards");
    out += (out.empty() ? "." : ", .") + safe(r.parts[i].name) + " = " +
           (given ? t[next].alone() : "{}");
    next += given ? 1 : 0;
  }
  return cc_expr(type_text(*e.type, e.at) + "{" + out + "}");
}

cc_expr cc_emitter::conversion_text(const expr& e, const call_expr& x) {
  const expr& from = *x.args[0].value;
  const cc_expr a = text(from);
  const std::string made = type_text(*e.type, e.at), to = "draft::to<" + made + ">";
  if (e.type->is_integer() && from.type->is_integer()) return cc_call(to, {a});
  if (e.type->is_integer() && from.type->is(kind::enumeration))
    return cc_call(
        to, {cc_call("static_cast<" + type_text(*from.type->values->base, e.at) + ">", {a})});
  if (e.type->is_integer() && from.type->is(kind::duration))
    return cc_call(to, {cc_member(a, "count()")});
  if (e.type->is(kind::duration) && from.type->is_integer())
    return cc_call("heddle::nanoseconds", {a});
  if (e.type->is(kind::duration) || e.type->is_integer()) stop(e.at, "this conversion");
  return cc_call(made, {a});
}

cc_expr cc_emitter::spawn_text(const expr& e, const spawn_expr& x) {
  const call_expr& call = x.call->as<call_expr>();
  const function& f = *call.callee;
  std::string color;
  if (x.color && jobs_.empty()) {
    const type& t = *x.color->type;
    const cc_expr plain = text(*x.color);
    color = (t.is(kind::conn) ? cc_member(plain, "color()") : cc_call("heddle::color", {plain}))
                .alone();
    if (meets(*x.call, *x.color)) {  // the connection moves into the thread
      const std::string name = fresh("own");
      line("const heddle::color " + name + " = " + color + ";");
      color = name;
    }
    color += ", ";
  }
  std::string body = function_call(call).alone();
  if (!is_task(f)) {
    for (const variable* v : f.params)
      if (v->how == passing::change || (v->type->is_owned() && v->how == passing::borrow))
        stop(e.at, "a spawned function that does not wait, and borrows");
    const std::size_t bracket = body.find('(');
    const std::string list = body.substr(bracket + 1);
    body = "draft::later(" + body.substr(0, bracket) + (list == ")" ? ")" : ", " + list);
  }
  return cc_expr((jobs_.empty() ? "draft::spawn(" : jobs_ + ".spawn(") + color + body + ")");
}

}  // namespace heddle::draft
