// SPDX-License-Identifier: MIT
// Conditionals and macros. Conditions are never evaluated: every branch is read, and all of them
// must end in the same state where tamed code is concerned. Only `#if 0` is passed over.
#include <algorithm>

#include "tame/parser.hh"

namespace heddle::tame {
namespace {

const token* significant(const token_list& tokens, const token& directive, std::uint32_t& at) {
  while (at < directive.count) {
    const token& t = tokens.inside[directive.first + at++];
    if (t.significant()) return &t;
  }
  return nullptr;
}

}  // namespace

void parser::directive(std::size_t i) {
  const token& t = at(i);
  std::uint32_t k = 0;
  significant(tokens_, t, k);  // #
  const token* name = significant(tokens_, t, k);
  if (name == nullptr || name->kind != token_kind::identifier) return;
  const bool skipping = !branches_.empty() && branches_.back().skipping;
  switch (name->name) {
    case word::if_: {
      const token* condition = significant(tokens_, t, k);
      const bool never =
          condition != nullptr && significant(tokens_, t, k) == nullptr &&
          (tokens_.text_of(*condition) == "0" || tokens_.text_of(*condition) == "false");
      return begin_branches(i, never);
    }
    case word::ifdef_:
    case word::ifndef_:
      return begin_branches(i, false);
    case word::elif_:
      return next_branch(i, false, false);
    case word::else_:
      return next_branch(i, true, false);
    case word::endif_:
      return end_branches(i);
    case word::include_:
      if (branches_.empty() || (branches_.size() == 1 && state_.top == root && !skipping))
        found_.after_includes = t.end;
      if (tokens_.text_of(t).find("heddle/core/twait.hh") != std::string_view::npos) ported_ = true;
      if (!skipping) include(t);
      return;
    case word::define_:
      if (!skipping) define(t);
      return;
    case word::undef_:
      if (!skipping) undefine(t);
      return;
    default:
      return;
  }
}

/// Takes over the macros of a header, if headers are read.
void parser::include(const token& t) {
  while (next_include_ < includes_.size() && includes_[next_include_].directive < t.begin)
    ++next_include_;
  if (next_include_ == includes_.size() || includes_[next_include_].directive != t.begin) return;
  for (const header_macro& m : includes_[next_include_].macros) macros_->returning.insert(m.name);
}

void parser::begin_branches(std::size_t i, bool never) {
  branch b;
  b.before = state_;
  pinned_ = nodes_.size();
  b.opened = i;
  b.dead = !branches_.empty() && branches_.back().skipping;
  b.skipping = b.dead || never;
  branches_.push_back(std::move(b));
}

void parser::next_branch(std::size_t i, bool is_else, bool never) {
  if (branches_.empty()) return;
  branch& b = branches_.back();
  if (b.dead) return;
  if (!b.skipping) end_branch(i, state_);
  b.has_else = b.has_else || is_else;
  b.skipping = never;
  state_ = b.before;
}

void parser::end_branches(std::size_t i) {
  if (branches_.empty()) return;
  branch& b = branches_.back();
  if (b.dead) {
    branches_.pop_back();
    return;
  }
  if (!b.skipping) end_branch(i, state_);
  if (!b.has_else) end_branch(i, b.before);
  if (b.result) state_ = *b.result;
  branches_.pop_back();
  if (branches_.empty()) pinned_ = 0;
}

void parser::end_branch(std::size_t i, const parser_state& last) {
  branch& b = branches_.back();
  if (!b.result) {
    b.result = last;
    pinned_ = nodes_.size();
    return;
  }
  const bool tame = about_tame(*b.result) || about_tame(last);
  if (alike(*b.result, last) || !tame) return;
  source::diagnostic& d =
      out_.error("T0401", place(at(b.opened)), "the branches of this conditional end differently");
  d.notes.push_back({place(at(i)), "one branch " + open_brackets(*b.result, last) +
                                       ", and another " + open_brackets(last, *b.result)});
  d.hint =
      "let each branch open and close the same brackets: repeat a whole statement in each, or "
      "make the part that differs a function or a macro";
}

/// Whether a tamed function is open or begins in this state.
bool parser::about_tame(const parser_state& s) const noexcept {
  return s.now.head || at(s.top).enclosing;
}

std::string parser::open_brackets(const parser_state& s, const parser_state& than) const {
  std::string out;
  node_index up = s.top;
  node_index other = than.top;
  std::size_t shown = 0;
  while (up != root && up != other && shown < 4) {
    const node& n = at(up);
    while (other > up) other = at(other).parent;
    if (other == up) break;
    out += (shown == 0 ? "leaves `" : ", `") + std::string(1, n.bracket) + "` of line " +
           std::to_string(file_.line_of(at(n.open).begin)) + " open";
    up = n.parent;
    ++shown;
  }
  if (!out.empty()) return out;
  return s.now.head ? "leaves a function's head unfinished" : "leaves nothing more open";
}

function_index parser::resolve(function_index f) const {
  while (f && found_.at(f).same_as) f = found_.at(f).same_as;
  return f;
}

/// Joins two heads of one body, which share all that is found in it. False: they differ.
bool parser::unify(function_index a, function_index b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return true;
  if (!a || !b) return false;
  function& first = found_.at(a);
  function& second = found_.at(b);
  if (second.waits()) first.note_wait();
  second.same_as = a;
  return true;
}

bool parser::alike(const parser_state& a, const parser_state& b) {
  if (a.now.head.operator bool() != b.now.head.operator bool()) return false;
  if (a.now.head) {
    const bool named = a.now.stage != head_stage::type;
    if (named != (b.now.stage != head_stage::type) || !unify(a.now.head, b.now.head)) return false;
  }
  const bool lambda = a.now.lambda != lambda_stage::none;
  if (a.now.next != b.now.next || lambda != (b.now.lambda != lambda_stage::none)) return false;
  node_index x = a.top;
  node_index y = b.top;
  if (at(x).depth != at(y).depth) return false;
  while (x != y) {
    if (x == root || y == root) return false;
    const node& n = at(x);
    const node& m = at(y);
    if (n.bracket != m.bracket || n.what != m.what) return false;
    if (n.what == role::wait_body || n.what == role::wait_arguments || n.what == role::vars ||
        n.what == role::description)
      return false;  // each branch opened its own one, but only one would be closed
    if (!unify(n.function, m.function)) return false;
    x = n.parent;
    y = m.parent;
  }
  return true;
}

void parser::define(const token& t) {
  std::uint32_t k = 0;
  significant(tokens_, t, k);
  significant(tokens_, t, k);
  const token* name = significant(tokens_, t, k);
  if (name == nullptr || name->kind != token_kind::identifier) return;
  const std::string text = tokens_.spelling(*name);
  // Parameters follow without a space.
  if (k < t.count && tokens_.inside[t.first + k].is("(")) {
    while (k < t.count && !tokens_.inside[t.first + k].is(")")) ++k;
    ++k;
  }
  std::vector<const token*> parts;
  while (const token* part = significant(tokens_, t, k)) parts.push_back(part);

  bool waits = false;
  bool tame = false;
  twin_macro twin;
  twin.name = of(*name);
  twin.begin = t.begin;
  twin.end = t.end;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    const token& part = *parts[j];
    if (part.kind != token_kind::identifier) continue;
    const bool member =
        j > 0 && (parts[j - 1]->is(".") || parts[j - 1]->is("->") || parts[j - 1]->is("::"));
    if (member) continue;
    const token* after = j + 1 < parts.size() ? parts[j + 1] : nullptr;
    if (part.is(word::twait_))
      waits =
          waits || is(after, "{") || is(after, "(") || is(after, "[") || is(after, word::volatile_);
    if (part.is(word::tamed_) && after != nullptr && after->kind == token_kind::identifier) {
      tame = true;
      function f;
      f.keyword = of(part);
      f.before = function::result_word::of_macro;
      if (after->is(word::void_)) f.result = of(*after);
      found_.functions.push_back(std::move(f));
      found_.has_tame = true;
    }
    if (part.name == word::none && macros_->waiting.contains(tokens_.spelling(part))) waits = true;
    if (part.is(word::return_)) twin.returns.push_back(of(part));
    if (part.name == word::none && macros_->returning.contains(tokens_.spelling(part)))
      twin.uses.push_back(of(part));
  }
  // A lambda in a macro returns from itself.
  const bool has_lambda =
      std::any_of(parts.begin(), parts.end(), [](const token* part) { return part->is("["); });
  if (!waits && has_lambda && (!twin.returns.empty() || !twin.uses.empty())) {
    analysis own;
    own.functions.emplace_back().what = function::form::definition;
    source::diagnostics unsaid;
    parser inside(file_, tokens_, language_, unsaid, own);
    inside.macros_ = macros_;
    inside.parse(parts, body::macro, function_index(0));
    twin.returns = own.functions.front().returns;
    twin.uses.clear();
    for (const replacement& r : own.replacements)
      if (r.what == replacement::kind::macro_use && r.function == function_index(0))
        twin.uses.push_back(r.where);
  }
  if (tame) macros_->tamed.insert(text);
  if (waits) {
    // Parse the macro's body as that of a tamed function, which it will be part of.
    function f;
    f.what = function::form::definition;
    f.before = function::result_word::of_macro;
    found_.functions.push_back(std::move(f));
    parser inside(file_, tokens_, language_, out_, found_);
    inside.macros_ = macros_;
    inside.parse(parts, body::macro, last_of(found_.functions));
    if (inside.body_ == body::unbalanced_macro) {
      source::diagnostic& d = out_.error(
          "T0402", place(*name), "this macro has a twait in it and does not close what it opens");
      d.hint = "let the macro hold whole statements, or write the twait where it is used";
    }
    macros_->waiting.insert(text);
  } else if (!twin.returns.empty() || !twin.uses.empty()) {
    macros_->returning.insert(text);
    found_.twins.push_back(std::move(twin));
  }
}

void parser::undefine(const token& t) {
  std::uint32_t k = 0;
  significant(tokens_, t, k);
  significant(tokens_, t, k);
  const token* name = significant(tokens_, t, k);
  if (name == nullptr || name->kind != token_kind::identifier) return;
  const std::string text = tokens_.spelling(*name);
  macros_->waiting.erase(text);
  macros_->tamed.erase(text);
  if (macros_->returning.erase(text) == 0) return;
  twin_macro twin;
  twin.name = of(*name);
  twin.begin = t.begin;
  twin.end = t.end;
  twin.undefined = true;
  found_.twins.push_back(std::move(twin));
}

}  // namespace heddle::tame
