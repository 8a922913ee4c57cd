// SPDX-License-Identifier: MIT
// Built-in operations in C++: most are members of the types of heddle/draft.hh of the same name.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/operations.hh"

namespace heddle::draft {
namespace {

/// The operations that are functions: the object, the name, and the name in C++.
struct row {
  receiver on;
  std::string_view name;
  std::string_view cc;
};
constexpr row functions[] = {
    {receiver::net, "listen", "draft::listen"},
    {receiver::net, "address", "draft::address"},
    {receiver::net, "connect", "draft::connect"},
    {receiver::fs, "open", "draft::open"},
    {receiver::fs, "open_under", "draft::open_under"},
    {receiver::fs, "append", "draft::append"},
    {receiver::conn, "send_file", "draft::send_file"},
    {receiver::view, "len", "draft::len"},
    {receiver::view, "copy", "draft::bytes"},
    {receiver::view, "find", "draft::find"},
    {receiver::view, "trim", "draft::trim"},
    {receiver::view, "to_int", "draft::to_int"},
    {receiver::time, "now", "draft::now"},
    {receiver::time, "sleep", "draft::sleep"},
    {receiver::time, "pause", "draft::pause"},
    {receiver::rand, "below", "draft::random_below"},
    {receiver::log, "print", "draft::print"},
};

}  // namespace

cc_expr cc_emitter::construct_text(const expr& e) {
  std::vector<const expr*> list;
  for (const argument& a : e.args)
    if (a.value) list.push_back(a.value.get());
  return cc_call(type_text(*e.type, e.at), operands(list));
}

cc_expr cc_emitter::operation_text(const expr& e) {
  const operation& op = *e.op_info;
  const bool is_call = e.kind == expr_kind::call;
  if (op.on == receiver::none) {
    if (op.id != operation_id::event_of_wait) return construct_text(e);
    return cc_call(waits_ + ".event", {place_text(*e.args[0].value)});
  }
  const expr& callee = is_call ? *e.a : e;
  const bool has_receiver =
      callee.kind == expr_kind::member && callee.a->means != meaning::namespace_;
  std::vector<const expr*> list;
  std::vector<bool> places;
  if (has_receiver) {
    list.push_back(callee.a.get());
    places.push_back(op.changes || callee.a->kind == expr_kind::name);
  }
  const auto params = params_of(op);
  const expr* range = nullptr;
  for (std::size_t i = 0; i != e.args.size(); ++i) {
    const expr* const value = e.args[i].value.get();
    // The header has the default of the host, too.
    const bool is_default = value != nullptr && value->kind == expr_kind::text &&
                            i < params.size() &&
                            params[i].fallback == "\"" + value->text_value + "\"";
    if (value == nullptr || is_default) continue;
    if (value->kind == expr_kind::range) {
      range = value;
      if (value->a) list.push_back(value->a.get());
      if (value->b) list.push_back(value->b.get());
      continue;
    }
    places.resize(list.size());
    list.push_back(value);
    places.push_back(i < params.size() && params[i].how == passing::change);
  }
  std::vector<cc_expr> t = operands(list, places);
  if (range != nullptr) {
    if (!range->a) t.insert(t.end() - (range->b ? 1 : 0), cc_expr("0"));
    if (!range->b) stop(e.at, "a part of a file without its end");
  }
  if (has_receiver && is_c_text(*callee.a) && op.on == receiver::text) {
    const cc_expr at = place_text(*callee.a);
    if (op.id == operation_id::clear_text)
      return cc_expr(cc_member(at, "len = 0").alone(), cc_rank::assignment);
    return cc_call("draft::append_text", {at, t[1]});
  }
  for (const row& r : functions)
    if (r.on == op.on && r.name == op.name) return cc_call(std::string(r.cc), t);
  if (!has_receiver) stop(e.at, op.full_name());
  if (op.id == operation_id::starts_with) {
    const bool view = callee.a->type->is(kind::view) && callee.a->kind != expr_kind::text;
    const cc_expr on = view ? t[0] : cc_call("std::string_view", {t[0]});
    return cc_call(cc_member(on, "starts_with").alone(), t, 1);
  }
  return cc_call(cc_member(t[0], std::string(op.name)).alone(), t, 1);
}

}  // namespace heddle::draft
