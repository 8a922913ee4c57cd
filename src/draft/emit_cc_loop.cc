// SPDX-License-Identifier: MIT
// Loops in C++, and how blocks are left.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

struct exit_search {
  exits found;

  void look(const block& b, int loops, std::size_t first = 0) {
    for (std::size_t i = first; i < b.body.size(); ++i) look(*b.body[i], loops);
  }
  void look(const expr& e, int loops) {
    each_part(e, [&](const auto& part) { look(part, loops); });
  }
  void look(const stmt& s, int loops) {
    const bool loop =
        s.kind == stmt_kind::while_ || s.kind == stmt_kind::loop || s.kind == stmt_kind::for_;
    if (s.kind == stmt_kind::return_) found.returns = true;
    if (s.kind == stmt_kind::break_ && loops == 0) found.breaks = true;
    if (s.kind == stmt_kind::continue_ && loops == 0) found.continues = true;
    if (s.a) look(*s.a, loops);
    if (s.b) look(*s.b, loops);
    const int inside = loops + (loop ? 1 : 0);
    look(s.body, inside);
    look(s.else_body, inside);
    for (const match_arm& a : s.arms) look(a.body, loops);
    for (const any_arm& a : s.any_arms) {
      if (a.what) look(*a.what, loops);
      look(a.body, loops);
    }
  }
};

}  // namespace

exits exits_of(const block& b, std::size_t first) {
  exit_search s;
  s.look(b, 0, first);
  return s.found;
}

void cc_emitter::emit_loop(const std::string& head, const stmt& s, const std::string& first) {
  const std::string outer = turns_;
  bool chooses = false;
  walk(s.body, [](const expr&) {}, [&](const stmt& x) { chooses |= x.kind == stmt_kind::any; });
  // The any() in a loop asks the arm that won last time last.
  if (chooses && outer.empty()) {
    turns_ = fresh("turn");
    line("draft::turns " + turns_ + ";");
  }
  ++places_.back().loops;
  out_.open(head);
  if (!first.empty()) line(first);
  if (s.yields && function_->waits) line("co_await draft::breathe();");
  emit_block(s.body);
  out_.close();
  --places_.back().loops;
  turns_ = outer;
}

void cc_emitter::emit_while(const stmt& s) {
  if (!grows(*s.a) && !holds_wait(*s.a)) return emit_loop(condition(s, "while"), s);
  ++places_.back().loops;
  out_.open("for (;;)");
  if (s.yields && function_->waits) line("co_await draft::breathe();");
  cc_expr value = text(*s.a);
  if (s.name.empty()) {
    if (cc_waits(value)) {
      const std::string name = fresh("holds");
      line("const bool " + name + " = " + value.alone() + ";");
      value = cc_expr(name);
    }
    line("if (!" + value.beside() + ") break;");
  } else {
    const std::string name = s.name == "_" ? fresh("unused") : name_of(*s.var);
    line("auto " + name + " = " + value.alone() + ";");
    line("if (!" + name + ") break;");
    texts_[s.var] = cc_prefix("*", cc_expr(name));
  }
  emit_block(s.body);
  out_.close();
  --places_.back().loops;
}

void cc_emitter::emit_for(const stmt& s) {
  const bool unused = s.name == "_";
  const std::string x = unused ? fresh("i") : name_of(*s.var);
  if (const range_expr* const range = s.a->get<range_expr>()) {
    if (!range->to) stop(s.at, "a range without its end");
    const std::string t = type_text(*s.var->type, s.at);
    std::vector<const expr*> ends;
    if (range->from) ends.push_back(range->from.get());
    ends.push_back(range->to.get());
    const std::vector<cc_expr> texts = operands(ends);
    std::string limit, end = texts.back().beside();
    if (effect_of(*range->to) > effect::none) {  // computed once
      const std::string name = fresh("end");
      limit = ", " + name + " = " + texts.back().alone();
      end = name;
    }
    return emit_loop("for (" + t + " " + x + " = " + (range->from ? texts[0].alone() : "0") +
                         limit + "; " + x + " < " + end + "; ++" + x + ")",
                     s);
  }
  const type& of = *s.a->type;
  const bool array = of.is(kind::array);
  std::string list = text(*s.a).alone();
  if (of.needs_release() && !s.a->is<name_expr>() && !s.a->is<member_expr>()) {
    // A loop would look into a value that ends before its first turn.
    const std::string name = fresh("list");
    line("const auto " + name + " = " + list + ";");
    list = name;
  }
  if (!array && !of.is(kind::view)) list = "std::string_view(" + list + ")";
  if (!array && s.a->is<text_expr>()) list = "std::string_view(" + list + ")";
  const std::string element = array ? type_text(*of.of, s.at) : "std::uint8_t";
  if (s.second_var == nullptr)
    return emit_loop("for (" + std::string(unused ? "[[maybe_unused]] " : "") + "const " + element +
                         " " + x + " : " + list + ")",
                     s);
  if (!s.a->is<name_expr>()) {
    const std::string name = fresh("list");
    line("const auto " + name + " = " + list + ";");
    list = name;
  }
  const bool second_unused = s.second == "_";
  const std::string item = second_unused ? fresh("item") : name_of(*s.second_var);
  const std::string count = array ? std::to_string(of.count) : "draft::len(" + list + ")";
  emit_loop("for (std::int64_t " + x + " = 0; " + x + " < " + count + "; ++" + x + ")", s,
            std::string(second_unused ? "[[maybe_unused]] " : "") + "const " + element + " " +
                item + " = draft::at(" + list + ", " + x + ");");
}

}  // namespace heddle::draft
