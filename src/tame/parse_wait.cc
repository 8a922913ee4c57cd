// SPDX-License-Identifier: MIT
// twait, make_event and tvars.
#include "tame/parser.hh"

namespace heddle::tame {

void parser::twait_word(std::size_t i) {
  const token& t = at(i);
  const token* after = next(i);
  if (after == nullptr) return;
  const bool block = after->is("{") || after->is(word::volatile_);
  if (!block && !after->is("(") && !after->is("[")) return;
  const node& around = top();
  if (!around.function && ported_) return;
  if (!around.function && !block) {
    // Outside of tamed functions `twait` may be any name. It means a wait if it begins a statement.
    const token* p = previous();
    const bool begins = p == nullptr || p->is(";") || p->is("{") || p->is("}") || p->is(")") ||
                        p->is(word::else_) || p->is(word::do_);
    if (!begins || !in_function_body() || around.bracket != '{') return;
  }
  if (!in_function_body()) {
    if (!block) return;
    out_.error("T0201", place(t), "a twait outside of any function");
    return;
  }
  found_.has_tame = true;
  check_wait(t);
  wait_point w;
  w.function = around.function;
  w.keyword = of(t);
  w.what = wait_point::kind::all;
  const token* p = previous();
  w.statement = p == nullptr || p->is(";") || p->is("{") || p->is("}") || p->is(":") ||
                p->is(")") || p->is(word::else_) || p->is(word::do_);
  if (around.function) found_.at(around.function).note_wait();
  if (after->is(word::volatile_)) w.quiet = of(*after);
  found_.waits.push_back(w);
  state_.now.next = control::wait;
  state_.now.wait = last_of(found_.waits);
}

/// Whether this place can be in a function's body: not among a class's members or at file scope. In
/// the original dialect a function that is defined inside of its class may wait as a thread.
bool parser::in_function_body() {
  const node& around = top();
  if (around.in == code::ordinary) return state_.top != root;
  if (around.in != code::class_) return true;
  return language_ == dialect::tame && around.what != role::class_body;
}

/// Refuses a twait where the function may not wait.
void parser::check_wait(const token& t) {
  const node& around = top();
  if (around.in == code::lambda) {
    source::diagnostic& d =
        out_.error("T0202", place(t), "this lambda is not tamed, so it cannot wait");
    for (node_index up = state_.top; up != root; up = at(up).parent) {
      if (at(up).what != role::lambda_body) continue;
      d.notes.push_back({place(at(at(up).open)), "the lambda"});
      break;
    }
    d.hint = "write `[...](...) tamed { ... }`, or give the lambda an event and wait outside";
    return;
  }
  if (!around.function) {
    if (language_ == dialect::tame && in_function_body()) return;  // a thread waits
    out_.error("T0201", place(t), "a twait in a function that is not tamed").hint =
        "write `tamed` before the function's type, which must be void";
    return;
  }
  if (around.catch_at) {
    source::diagnostic& d =
        out_.error("T0203", place(t), "C++ allows no wait inside of a handler of exceptions");
    d.notes.push_back({place(at(at(around.catch_at).open)), "the handler begins here"});
    d.hint =
        "store the exception: std::exception_ptr e; try { } catch (...) { e = "
        "std::current_exception(); } and wait behind it: if (e) { twait ... }";
  }
  if (around.expression_at) {
    source::diagnostic& d =
        out_.error("T0204", place(t), "a wait inside of a statement expression ({ })");
    d.notes.push_back({place(at(at(around.expression_at).open)), "it begins here"});
    d.hint = "make it a statement of its own, or a tamed function";
  }
  const function& f = found_.at(around.function);
  if (f.waits() || f.name.empty()) return;
  if (f.constant) {
    source::diagnostic& d = out_.error("T0103", place(t), "a constexpr function cannot wait");
    d.notes.push_back({place(f.name), "the function"});
    d.hint = "remove constexpr";
  }
  if (f.varargs) {
    source::diagnostic& d =
        out_.error("T0104", place(t), "a function with C's variable arguments cannot wait");
    d.notes.push_back({place(f.name), "the function"});
    d.hint =
        "make it a template with a parameter pack: template <class... Args> tamed void f(Args... "
        "args)";
  }
}

void parser::close_wait(std::size_t i, const node& n) {
  wait_point& w = found_.at(n.wait);
  w.close = of(at(i));
  if (w.function) found_.at(w.function).wait = function::waiting::waited;
  if (w.what == wait_point::kind::all) {
    if (w.calls && !w.makes_events && w.function)
      found_.lints.push_back(
          {"T0502",
           w.keyword,
           "this twait body makes no event, so that it waits for nothing",
           {},
           nullptr,
           "make_event(...) in the body makes one; a function that is called there cannot"});
    return;
  }
  const token* after = next(i);
  w.used = is(after, ".") || is(after, "->") || is(after, "[") || is(after, "(");
  w.statement = w.statement && is(after, ";");
  std::uint32_t begin = at(n.open).end;
  for (const std::uint32_t comma : n.commas) {
    w.arguments.push_back({begin, comma});
    begin = comma + 1;
  }
  w.arguments.push_back({begin, at(i).begin});
  if (n.open + 1 == i) {
    source::diagnostic& d =
        out_.error("T0207", place(w.keyword), "twait() names nothing to wait for");
    d.hint = "twait { ... } waits for the events that are made in it, twait(r) for one of r";
  }
}

void parser::make_event_word(std::size_t i) {
  const token& t = at(i);
  const node& around = top();
  const token* after = next(i);
  if (!is(after, "(") && !is(after, "<")) return;
  if (is(previous(), "::")) {
    const std::size_t colons = state_.previous.value();
    if (colons == 0 || !at(colons - 1).is(word::tamer_) || !around.in_wait) return;
    range r{at(colons - 1).begin, t.begin};
    if (colons >= 2 && at(colons - 2).is("::")) r.begin = at(colons - 2).begin;
    found_.replacements.push_back({replacement::kind::qualification, r, around.function});
  }
  const bool inside = around.in_wait.operator bool();
  constexpr int brackets_max = 64;  // brackets around it that are searched, for a lint
  node_index up = state_.top;
  for (int seen = 0; up != root && seen < brackets_max; ++seen) {
    const node& n = at(up);
    if (n.what == role::wait_body) {
      found_.at(n.wait).makes_events = true;
      break;
    }
    up = n.parent;
  }
  if (!inside && around.function) lint_life(i);
  if (around.enclosing) {
    found_.replacements.push_back(
        {inside ? replacement::kind::maker : replacement::kind::maker_outside, of(t),
         around.enclosing});
  }
  if (!inside) return;
  if (after->is("(")) {
    state_.now.next = control::event;
    check_slot(i);
  }
}

/// Refuses a slot of make_event that is declared in the same twait body, because it dies before the
/// wait.
void parser::check_slot(std::size_t i) {
  constexpr std::size_t looked_at = 24;  // the most tokens and names; the run time checks the rest
  const wait_index wait = top().in_wait;
  int depth = 0;
  for (std::size_t j = i + 1; j < list_.size() && j < i + looked_at; ++j) {
    const token& t = at(j);
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if ((t.is(")") || t.is("]") || t.is("}")) && --depth == 0) return;
    if (depth != 1 || t.kind != token_kind::identifier || j + 1 >= list_.size()) continue;
    if (!(at(j - 1).is("(") || at(j - 1).is(",")) || !(at(j + 1).is(",") || at(j + 1).is(")")))
      continue;
    name_index name = state_.names;
    for (std::size_t seen = 0; name && seen < looked_at; ++seen) {
      const declared_name& known = at(name);
      const std::string_view text =
          file_.text().substr(known.where.begin, known.where.end - known.where.begin);
      if (text == tokens_.text_of(t)) {
        if (known.wait != wait) break;  // a reference, static, or of a twait body around
        source::diagnostic& d =
            out_.error("T0206", place(t), "this slot ends with the twait body, before the wait");
        d.notes.push_back({place(known.where), "it is declared here, inside of the body"});
        d.notes.push_back({place(found_.at(wait).keyword), "the twait begins here"});
        d.hint = "declare it before the twait";
        break;
      }
      name = known.before;
    }
  }
}

/// Notes this identifier if it is a variable that is declared here.
void parser::note_declaration(std::size_t i) {
  const token* after = next(i);
  if (!(state_.statement < token_index(i))) return;
  if (!is(after, ";") && !is(after, "=") && !is(after, "(") && !is(after, "[") && !is(after, "{") &&
      !is(after, ":") && !is(after, ","))
    return;
  const std::size_t first = state_.statement.value();
  constexpr std::size_t longest = 24;
  if (i - first > longest) return;
  const node& around = top();
  if (around.what != role::for_parens && around.bracket != '{') return;
  bool reference = false;
  bool constant = false;
  bool type = false;
  for (std::size_t j = first; j < i; ++j) {
    const token& t = at(j);
    if (t.kind == token_kind::identifier) {
      switch (t.name) {
        case word::static_:
        case word::extern_:
        case word::thread_local_:
          reference = true;
          continue;
        case word::const_:
        case word::constexpr_:
          constant = true;
          continue;
        case word::volatile_:
        case word::typename_:
        case word::struct_:
          continue;
        case word::none:
        case word::builtin_type_:
        case word::auto_:
        case word::tamer_:
          type = true;
          continue;
        default:
          return;
      }
    }
    if (t.is("<")) {
      const std::size_t close = skip_angles(j, i);
      if (close == j) return;
      j = close;
      continue;
    }
    if (t.is("&") || t.is("&&")) {
      reference = true;
    } else if (!t.is("::") && !t.is("*")) {
      return;
    }
  }
  if (!type || at(i - 1).is("::")) return;
  const std::string before = tokens_.spelling(at(first));
  if (before == "new" || before == "sizeof" || before == "delete") return;
  // tvars are variables of the function, and the head of a loop belongs to its body.
  const int block = around.what == role::vars         ? around.depth - 1
                    : around.what == role::for_parens ? around.depth + 1
                                                      : around.depth;
  names_.push_back({state_.names, of(at(i)), reference ? wait_index() : around.in_wait, reference,
                    constant, block});
  state_.names = last_of(names_);
}

/// From `<` to its `>`, if the tokens between look like template arguments; else gives `i`.
std::size_t parser::skip_angles(std::size_t i, std::size_t end) const noexcept {
  int angles = 0;
  int depth = 0;
  for (std::size_t j = i; j < end; ++j) {
    const token& t = at(j);
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if (t.is(")") || t.is("]") || t.is("}")) {
      if (--depth < 0) return i;
    }
    if (depth != 0) continue;
    if (t.is("<")) ++angles;
    if (t.is(">")) --angles;
    if (t.is(">>")) angles -= 2;
    if (angles <= 0) return j;
    if (t.is(";") || t.is("&&") || t.is("||")) return i;
  }
  return i;
}

void parser::tvars_word(std::size_t i) {
  const token& t = at(i);
  const node& around = top();
  if (!around.function) {
    if (around.bracket == '{' && state_.top != root && around.in != code::class_) {
      source::diagnostic& d =
          out_.error("T0302", place(t), "tvars in a function that is not tamed");
      d.hint = "declare the variables without tvars { }, or write `tamed` before the function";
    }
    return;
  }
  if (around.what != role::tamed_body) {
    source::diagnostic& d =
        out_.error("T0301", place(t), "tvars inside of a block of its function");
    d.notes.push_back({place(at(around.open)), "the block begins here"});
    d.hint =
        "put it at the top level of the function's body; here, declare the variables without it";
    return;
  }
  found_.has_tame = true;
  variables v;
  v.function = around.function;
  v.keyword = of(t);
  found_.vars.push_back(std::move(v));
  state_.now.next = control::vars;
}

/// Notes the variables of a tvars block that would declare functions: `T x(g());` and `T x();`.
void parser::close_vars(std::size_t i, const node& n) {
  variables& v = found_.at(n.vars);
  v.close = of(at(i));
  int depth = 0;
  std::size_t open = 0;
  std::size_t comma = 0;
  std::size_t no_angles = 0;  // no template arguments begin before this token
  const token* last = nullptr;
  for (std::size_t j = n.open + 1; j < i; ++j) {
    const token& t = at(j);
    if (t.kind == token_kind::directive) continue;
    if (depth == 0 && t.is("<") && last != nullptr && last->kind == token_kind::identifier &&
        j >= no_angles) {
      const std::size_t end = skip_angles(j, i);
      if (end == j) {
        while (no_angles < i && !(no_angles > j && at(no_angles).is(";"))) ++no_angles;
      } else {
        last = &at(end);
        j = end;
        continue;
      }
    }
    if (t.is("(") || t.is("[") || t.is("{")) {
      if (depth++ == 0) {
        open = j;
        comma = 0;
      }
    } else if (t.is(")") || t.is("]") || t.is("}")) {
      --depth;
      const token* after = next(j);
      const bool ends = j + 1 == i || is(after, ";") || is(after, ",");
      // A declarator's name comes before the parenthesis, and a type before the name.
      if (depth == 0 && t.is(")") && ends && open >= n.open + 3 &&
          at(open - 1).kind == token_kind::identifier) {
        const token& type = at(open - 2);
        const bool named = type.kind == token_kind::identifier || type.is(">") || type.is("*") ||
                           type.is("&") || type.is("&&") || type.is(",") || type.is(")") ||
                           type.is(">>");
        const std::size_t end = comma != 0 ? comma : j;
        if (!named) {
        } else if (open + 1 == j) {
          v.changes.push_back({initializer::change::empty, {at(open).begin, t.end}});
        } else if (at(end - 1).is(")") &&
                   (at(open + 1).kind == token_kind::identifier || at(open + 1).is("::"))) {
          v.changes.push_back({initializer::change::wrap, {at(open + 1).begin, at(end - 1).end}});
        }
      }
    } else if (t.is(",") && depth == 1 && comma == 0) {
      comma = j;
    }
    last = &t;
  }
}

}  // namespace heddle::tame
