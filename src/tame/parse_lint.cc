// SPDX-License-Identifier: MIT
// Checks that need to know where names are declared: arrays of a variable size, which are refused,
// and lints, which a port reports. The checks pass over names whose declaration was not seen.
#include "tame/parser.hh"

namespace heddle::tame {
namespace {

/// The names that a search for one looks at. The limit keeps the time linear.
constexpr std::size_t names_max = 64;

}  // namespace

const declared_name* parser::declared(std::string_view name) const noexcept {
  name_index n = state_.names;
  for (std::size_t seen = 0; n && seen < names_max; ++seen) {
    const declared_name& known = at(n);
    if (file_.text().substr(known.where.begin, known.where.end - known.where.begin) == name)
      return &known;
    n = known.before;
  }
  return nullptr;
}

void parser::note_parameters(function_index f) {
  for (const parameter& p : found_.at(f).parameters) {
    if (p.name.empty()) continue;
    const std::string type = text_of(file_, {p.whole.begin, p.name.begin});
    const bool constant = type.find("const ") != std::string::npos;
    names_.push_back({state_.names, p.name, {}, p.borrowed, constant, top().depth});
    state_.names = last_of(names_);
  }
}

/// Checks a word in a tamed function that is no member: macros may make events, and after a wait
/// the object of a reference parameter may be gone.
void parser::use_of_name(std::size_t i) {
  const token& t = at(i);
  const node& around = top();
  const std::string_view name = tokens_.text_of(t);
  if (around.in_wait) {
    wait_point& w = found_.at(around.in_wait);
    const bool call = is(next(i), "(");
    constexpr std::string_view capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const bool macro = name.size() > 1 && name.find_first_not_of(capitals) == name.npos;
    w.calls = w.calls || (call && t.name == word::none);
    w.makes_events = w.makes_events || (macro && call) || name == "tfork" ||
                     (!macros_->waiting.empty() && macros_->waiting.contains(tokens_.spelling(t)));
  }

  if (is(previous(), "&") && !thread_locals_.empty() &&
      thread_locals_.contains(std::string(name)) && state_.previous > token_index(0)) {
    const token& before = at(state_.previous.value() - 1);
    if (before.is("=") || before.is("(") || before.is(",") || before.is("{"))
      found_.lints.push_back({"T0506",
                              of(t),
                              "the address of a thread_local variable, which another worker would "
                              "not have after a wait",
                              {},
                              nullptr,
                              "take the address again after each wait"});
  }

  function& f = found_.at(around.function);
  if (f.wait != function::waiting::waited || f.parameters.empty() ||
      f.parameters.size() > names_max)
    return;
  const declared_name* const known = declared(name);
  if (known == nullptr || !known->lasting) return;
  for (parameter& p : f.parameters) {
    if (p.name.begin != known->where.begin || !p.borrowed) continue;
    p.borrowed = false;  // reported once
    const std::string type = text_of(file_, {p.whole.begin, p.name.begin});
    if (type.find("rendezvous") != std::string::npos) return;  // the caller keeps it by design
    found_.lints.push_back({"T0501", of(t),
                            "what this parameter refers to may be gone: a wait came before", p.name,
                            "it is the caller's, who goes on while this function waits",
                            "take it by value, or say who keeps it"});
    return;
  }
}

/// Notes the name of `thread_local T name`, at the token behind it.
void parser::note_thread_local(std::size_t i) {
  const token& t = at(i);
  if (!t.is(";") && !t.is("=") && !t.is("{") && !t.is("[")) return;
  thread_local_head_ = false;
  const token* const name = previous();
  if (name != nullptr && name->kind == token_kind::identifier)
    thread_locals_.insert(tokens_.spelling(*name));
}

/// Notes the array of `T name[size]`, at its bracket, if its size is a variable.
void parser::begin_array(std::size_t i) {
  if (i + 2 >= list_.size() || !at(i + 2).is("]") || at(i + 1).kind != token_kind::identifier)
    return;
  const declared_name* const array = declared(tokens_.text_of(at(i - 1)));
  // note_declaration() has seen the name a moment ago if this is where it is declared.
  if (array == nullptr || array->where.begin != at(i - 1).begin) return;
  const declared_name* const size = declared(tokens_.text_of(at(i + 1)));
  if (size == nullptr || size->constant) return;
  arrays_.push_back({top().function, of(at(i - 1)), of(at(i + 1)), size->where});
}

void parser::report_arrays(function_index f) {
  const bool waits = found_.at(resolve(f)).waits();
  while (!arrays_.empty() && arrays_.back().function == f) {
    const sized_array a = arrays_.back();
    arrays_.pop_back();
    if (!waits) continue;
    source::diagnostic& d =
        out_.error("T0208", place(a.name), "an array of a variable size in a function that waits");
    d.notes.push_back({place(a.declared), "its size is this variable"});
    d.hint =
        "make it a std::vector, or its size a constant: the function's variables outlive its "
        "stack";
  }
}

/// Reports fun_event([&] ...). `n` is the lambda's bracket, and `i` closes it.
void parser::lint_lambda(std::size_t i, const node& n) {
  if (n.open + 1 >= i || !at(n.open + 1).is("&")) return;
  if (!at(n.open + 2).is("]") && !at(n.open + 2).is(",")) return;
  if (n.open < 2 || !at(n.open - 1).is("(")) return;
  constexpr std::size_t arguments_max = 16;  // tokens of fun_event<T, U>
  for (std::size_t k = n.open - 2, seen = 0; seen < arguments_max && k > 0; --k, ++seen) {
    const std::string_view name = tokens_.text_of(at(k));
    if (name == "fun_event" || name == "function_event") {
      found_.lints.push_back(
          {"T0503",
           {at(n.open).begin, at(i).end},
           "an event keeps this lambda, which refers to the function's variables",
           of(at(k)),
           "the event may fire when they have gone",
           "capture what it needs by value"});
      return;
    }
    if (at(k).kind != token_kind::identifier && !at(k).is("<") && !at(k).is(">") &&
        !at(k).is(",") && !at(k).is("::") && !at(k).is(">>"))
      return;
    if (seen == 0 && !at(k).is(">")) return;
  }
}

/// Checks a make_event outside of a twait body: slots must not end before their rendezvous. Notes
/// the first one in a loop, for end_loop().
void parser::lint_life(std::size_t i) {
  if (top().loop_at && is(previous(), "=")) {
    node& loop = at(top().loop_at);
    if (!loop.made_in_loop) loop.made_in_loop = token_index(i);
  }
  if (!is(next(i), "(") || is(previous(), ".") || is(previous(), "->")) return;
  const declared_name* home = nullptr;
  constexpr std::size_t looked_at = 24;
  for (std::size_t j = i + 2; j < list_.size() && j < i + looked_at; j += 2) {
    const token& t = at(j);
    if (t.kind != token_kind::identifier || j + 1 >= list_.size()) return;
    if (!at(j + 1).is(",") && !at(j + 1).is(")")) return;
    const declared_name* const known = declared(tokens_.text_of(t));
    if (j == i + 2) {
      if (known == nullptr || known->lasting) return;
      home = known;
    } else if (known != nullptr && !known->lasting && known->block > home->block) {
      found_.lints.push_back({"T0504", of(t), "this variable ends before the rendezvous does",
                              home->where, "the rendezvous of the event",
                              "declare it where the rendezvous is declared"});
    }
    if (at(j + 1).is(")")) return;
  }
}

/// Reports a loop that makes an event in each turn and never waits.
void parser::end_loop(std::size_t i, const node& n) {
  if (found_.waits.size() != n.waits) return;
  const std::size_t made = n.made_in_loop.value();
  if (made < 2) return;
  constexpr std::size_t tokens_max = 256;  // tokens of the rest of the loop
  if (i - made > tokens_max) return;
  for (std::size_t j = made + 1; j < i; ++j)
    if (tokens_.text_of(at(j)) == tokens_.text_of(at(made - 2))) return;  // kept, or fired
  found_.lints.push_back({"T0505", of(at(made)),
                          "each turn of this loop drops the event of the turn before",
                          of(at(n.open)), "the loop, in which nothing waits",
                          "keep the events in a container, or wait in the loop"});
}

}  // namespace heddle::tame
