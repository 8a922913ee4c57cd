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
    if (e.is<action_expr>()) return;  // an action's jumps stay in it
    each_part(e, [&](const auto& part) { look(part, loops); });
  }
  void look(const stmt& s, int loops) {
    if (s.is<return_stmt>()) found.returns = true;
    if (s.is<break_stmt>() && loops == 0) found.breaks = true;
    if (s.is<continue_stmt>() && loops == 0) found.continues = true;
    const bool loop = s.is<while_stmt>() || s.is<loop_stmt>() || s.is<for_stmt>();
    each_part(s, overloaded{[&](const expr& part) { look(part, loops); },
                            [&](const block& part) { look(part, loops + (loop ? 1 : 0)); }});
  }
};

}  // namespace

exits exits_of(const block& b, std::size_t first) {
  exit_search s;
  s.look(b, 0, first);
  return s.found;
}

void cc_emitter::emit_loop(const std::string& head, const block& b, bool yields,
                           const std::string& first) {
  const std::string outer = turns_;
  bool chooses = false;
  walk(b, [](const expr&) {}, [&](const stmt& s) { chooses |= s.is<any_stmt>(); });
  // The any() in a loop asks the arm that won last time last.
  if (chooses && outer.empty()) {
    turns_ = fresh("turn");
    line("draft::turns " + turns_ + ";");
  }
  ++places_.back().loops;
  out_.open(head);
  if (!first.empty()) line(first);
  if (yields && function_->waits && places_.back().how != place::form::plain)
    line("co_await draft::breathe();");
  emit_block(b);
  out_.close();
  --places_.back().loops;
  turns_ = outer;
}

void cc_emitter::emit_while(const while_stmt& x) {
  const condition& c = x.when;
  if (!grows(*c.value) && !holds_wait(*c.value))
    return emit_loop(condition_text(c, "while"), x.body, x.yields);
  ++places_.back().loops;
  out_.open("for (;;)");
  if (x.yields && function_->waits && places_.back().how != place::form::plain)
    line("co_await draft::breathe();");
  if (c.name.empty()) {
    line("if (!" + holds_text(*c.value).beside() + ") break;");
  } else {
    const cc_expr value = text(*c.value);
    const std::string name = c.name == "_" ? fresh("unused") : name_of(*c.var);
    line("auto " + name + " = " + value.alone() + ";");
    line("if (!" + name + ") break;");
    texts_[c.var] = cc_prefix("*", cc_expr(name));
  }
  emit_block(x.body);
  out_.close();
  --places_.back().loops;
}

void cc_emitter::emit_for(const for_stmt& loop, span at) {
  const bool unused = loop.name == "_";
  const std::string x = unused ? fresh("i") : name_of(*loop.var);
  if (const range_expr* const range = loop.over->get<range_expr>()) {
    if (!range->to) stop(at, "a range without its end");
    const std::string t = type_text(*loop.var->type, at);
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
                     loop.body, loop.yields);
  }
  const type& of = *loop.over->type;
  const bool array = of.is(kind::array);
  std::string list = text(*loop.over).alone();
  if (of.needs_release() && !loop.over->is<name_expr>() && !loop.over->is<member_expr>()) {
    // A loop would look into a value that ends before its first turn.
    const std::string name = fresh("list");
    line("const auto " + name + " = " + list + ";");
    list = name;
  }
  if (!array && !of.is(kind::view)) list = "std::string_view(" + list + ")";
  if (!array && loop.over->is<text_expr>()) list = "std::string_view(" + list + ")";
  const std::string element = array ? type_text(*of.of, at) : "std::uint8_t";
  if (loop.second_var == nullptr)
    return emit_loop("for (" + std::string(unused ? "[[maybe_unused]] " : "") + "const " + element +
                         " " + x + " : " + list + ")",
                     loop.body, loop.yields);
  if (!loop.over->is<name_expr>()) {
    const std::string name = fresh("list");
    line("const auto " + name + " = " + list + ";");
    list = name;
  }
  const bool second_unused = loop.second == "_";
  const std::string item = second_unused ? fresh("item") : name_of(*loop.second_var);
  const std::string count = array ? std::to_string(of.count) : "draft::len(" + list + ")";
  emit_loop("for (std::int64_t " + x + " = 0; " + x + " < " + count + "; ++" + x + ")", loop.body,
            loop.yields,
            std::string(second_unused ? "[[maybe_unused]] " : "") + "const " + element + " " +
                item + " = draft::at(" + list + ", " + x + ");");
}

}  // namespace heddle::draft
