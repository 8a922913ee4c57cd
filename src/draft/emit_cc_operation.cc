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
    {receiver::net, "listen_unix", "draft::listen_unix"},
    {receiver::net, "connect_unix", "draft::connect_unix"},
    {receiver::net, "udp", "draft::open_udp"},
    {receiver::os, "adopt", "draft::adopt"},
    {receiver::os, "pipe", "draft::open_pipe"},
    {receiver::os, "run", "draft::run_program"},
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

/// Whether the argument is what the parameter is without one; the header has the same default.
bool is_default(const expr* value, const std::vector<operation_param>& params, std::size_t at) {
  if (value == nullptr) return true;
  if (at >= params.size() || params[at].fallback.empty()) return false;
  if (const text_expr* const text = value->get<text_expr>())
    return params[at].fallback == "\"" + text->bytes + "\"";
  const integer_expr* const number = value->get<integer_expr>();
  return number != nullptr && params[at].fallback == std::to_string(number->value);
}

}  // namespace

cc_expr cc_emitter::construct_text(const expr& e, const call_expr& x) {
  std::vector<const expr*> list;
  for (const argument& a : x.args)
    if (a.value) list.push_back(a.value.get());
  return cc_call(type_text(*e.type, e.at), operands(list));
}

cc_expr cc_emitter::operation_text(const expr& e) {
  const call_expr* const call = e.get<call_expr>();
  const operation& op = call != nullptr ? *call->op : *e.as<member_expr>().op;
  if (op.on == receiver::none) {
    if (op.id != operation_id::event_of_wait) return construct_text(e, *call);
    return cc_call(waits_ + ".event", {place_text(*call->args[0].value)});
  }
  const expr* const on = call != nullptr ? call->receiver() : e.as<member_expr>().of.get();
  std::vector<const expr*> list;
  std::vector<bool> places;
  if (on != nullptr) {
    list.push_back(on);
    places.push_back(op.changes || on->is<name_expr>());
  }
  const auto params = params_of(op);
  const range_expr* range = nullptr;
  std::size_t given = call != nullptr ? call->args.size() : 0;
  while (given != 0 && is_default(call->args[given - 1].value.get(), params, given - 1)) --given;
  for (std::size_t i = 0; i != given; ++i) {
    const expr* const value = call->args[i].value.get();
    if (value == nullptr) continue;
    if (value->is<range_expr>()) {
      range = value->get<range_expr>();
      if (range->from) list.push_back(range->from.get());
      if (range->to) list.push_back(range->to.get());
      continue;
    }
    places.resize(list.size());
    list.push_back(value);
    places.push_back(i < params.size() && params[i].how == passing::change);
  }
  std::vector<cc_expr> t = operands(list, places);
  if (range != nullptr) {
    if (!range->from) t.insert(t.end() - (range->to ? 1 : 0), cc_expr("0"));
    if (!range->to) stop(e.at, "a part of a file without its end");
  }
  if (on != nullptr && is_c_text(*on) && op.on == receiver::text) {
    const cc_expr at = place_text(*on);
    if (op.id == operation_id::clear_text)
      return cc_expr(cc_member(at, "len = 0").alone(), cc_rank::assignment);
    return cc_call("draft::append_text", {at, t[1]});
  }
  for (const row& r : functions)
    if (r.on == op.on && r.name == op.name) return cc_call(std::string(r.cc), t);
  if (on == nullptr) stop(e.at, op.full_name());
  if (op.id == operation_id::starts_with) {
    const bool view = on->type->is(kind::view) && !on->is<text_expr>();
    const cc_expr bytes = view ? t[0] : cc_call("std::string_view", {t[0]});
    return cc_call(cc_member(bytes, "starts_with").alone(), t, 1);
  }
  return cc_call(cc_member(t[0], std::string(op.name)).alone(), t, 1);
}

}  // namespace heddle::draft
