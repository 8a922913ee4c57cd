// SPDX-License-Identifier: MIT
// The shallow parser's main loop: the tokens that count, and the words of the dialect.
#include "tame/parser.hh"

namespace heddle::tame {

parser::parser(const source::source_file& file, const token_list& tokens, dialect language,
               source::diagnostics& out, analysis& found,
               const std::vector<scanned_include>& includes)
    : file_(file),
      tokens_(tokens),
      language_(language),
      out_(out),
      found_(found),
      includes_(includes) {}

void parser::run() {
  collect();
  std::vector<const token*> all = std::move(list_);
  parse(all, body::file, {});
}

/// Collects the tokens that count, without the regions that comments switch off.
void parser::collect() {
  bool off = false;
  for (const token& t : tokens_.all) {
    if (t.kind == token_kind::comment) {
      const std::string_view text = tokens_.text_of(t);
      if (t.open)
        out_.error("T0002", place(range{t.begin, std::min(t.end, t.begin + 2)}),
                   "this comment does not end");
      if (text.find("TAME_") == std::string_view::npos) continue;
      if (text.find("TAME_OFF") != std::string_view::npos) off = true;
      if (text.find("TAME_ON") != std::string_view::npos) off = false;
    } else if (t.significant() && !off) {
      list_.push_back(&t);
    }
  }
}

void parser::parse(const std::vector<const token*>& tokens, body what, function_index function) {
  list_ = tokens;
  body_ = what;
  nodes_.clear();
  node& all = nodes_.emplace_back();
  if (function) all.begin_code(code::tamed, function);
  state_ = {};
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (at(i).kind == token_kind::directive) {
      directive(i);
    } else if (branches_.empty() || !branches_.back().skipping) {
      step(i);
    }
  }
  end_of_tokens();
}

const token* parser::next(std::size_t i) const noexcept {
  for (++i; i < list_.size(); ++i)
    if (at(i).kind != token_kind::directive) return list_[i];
  return nullptr;
}

void parser::step(std::size_t i) {
  const token& t = at(i);
  if (!state_.statement) state_.statement = token_index(i);
  // `catch` and its like announce only the next bracket.
  announced& now = state_.now;
  if (now.lambda != lambda_stage::none) step_lambda(t);
  if (now.in_class != class_stage::none) step_class(t);
  if (now.next == control::wait) {
    if (!t.is("{") && !t.is("(") && !t.is("[") && !t.is(word::volatile_)) now.next = control::none;
  } else if (now.next != control::none && !t.is("(") && !t.is("{")) {
    now.next = control::none;
  }
  if (now.head) step_head(i);

  if (t.kind == token_kind::identifier) {
    step_identifier(i);
  } else if (t.kind == token_kind::punctuator) {
    step_punctuator(i);
  }
  state_.previous = token_index(i);
}

void parser::step_identifier(std::size_t i) {
  const token& t = at(i);
  const bool member = is(previous(), ".") || is(previous(), "->");
  node& around = top();
  switch (t.name) {
    case word::tamed_:
      if (member || is(previous(), "::") || is(next(i), "::")) return;
      if (around.function && is(next(i), "{") && state_.now.lambda == lambda_stage::none)
        return tvars_word(i);
      if (state_.now.lambda != lambda_stage::none) {
        state_.now.lambda_keyword = token_index(i);
        return;
      }
      if (begins_function(i)) begin_head(i, false);
      return;
    case word::tvars_:
      if (!member && is(next(i), "{")) tvars_word(i);
      return;
    case word::twait_:
      if (!member && !is(previous(), "::")) twait_word(i);
      return;
    case word::make_event_:
    case word::mkevent_:
      if (!member) make_event_word(i);
      return;
    case word::return_:
      if (around.function) found_.at(around.function).returns.push_back(of(t));
      return;
    case word::catch_:
      state_.now.next = control::catch_;
      return;
    case word::switch_:
      state_.now.next = control::switch_;
      return;
    case word::for_:
      state_.now.next = control::for_;
      return;
    case word::while_:
      state_.now.next = control::while_;
      return;
    case word::do_:
      state_.now.next = control::loop;
      return;
    case word::default_return_:
      return default_return_word(i);
    case word::thread_local_:
      thread_local_head_ = true;
      return;
    case word::tamerpriv_:
      if (!member && is(next(i), "::"))
        out_.error("T0303", place(t), "tamerpriv is what tamer is made of inside, and not here")
            .hint =
            "use the names of namespace tamer: event::unblocker, at_trigger, result_pointer, "
            "destroy_guard";
      return;
    case word::class_:
    case word::struct_:
    case word::union_:
      if (is(previous(), word::enum_)) return;
      if (state_.now.in_class == class_stage::bases) return;  // struct S : B<class X>
      move_to(state_.now.in_class, class_stage::name);
      state_.now.class_angles = 0;
      state_.now.class_name = {};
      return;
    case word::case_:
    case word::default_:
      if (around.label_blocked && (t.is(word::case_) || is(next(i), ":"))) {
        source::diagnostic& d = out_.error(
            "T0205", place(t), "a label of a switch that begins outside of this twait body");
        const wait_point& w = found_.at(around.in_wait);
        d.notes.push_back({place(w.keyword), "the twait begins here"});
        d.hint = "put the whole switch into the twait body, or a twait into each case";
      }
      return;
    case word::break_:
    case word::continue_:
      if (around.in_wait)
        found_.replacements.push_back({replacement::kind::leaves_body, of(t), around.function});
      return;
    case word::closure_:
      if (language_ == dialect::tame && around.bracket == '(') {
        range r = of(t);
        if (is(previous(), ",")) {
          r.begin = previous()->begin;
        } else if (is(next(i), ",")) {
          r.end = next(i)->end;
        }
        found_.has_tame = true;
        found_.replacements.push_back({replacement::kind::closure, r});
        if (around.what != role::head_parens && state_.statement) {
          for (std::size_t j = state_.statement.value(); j < around.open; ++j) {
            if (at(j).is("(") || at(j).is("=")) break;
            if (at(j).is(word::void_))
              found_.replacements.push_back({replacement::kind::closure_result, of(at(j))});
          }
        }
      }
      return;
    case word::self_:
      if (language_ == dialect::tame && around.function && !member)
        found_.replacements.push_back({replacement::kind::self, of(t), around.function});
      return;
    case word::holdvar_:
      if (language_ == dialect::tame)
        found_.replacements.push_back({replacement::kind::holdvar, of(t)});
      return;
    case word::gather_:
      if (!told_translated_) {
        told_translated_ = true;
        out_.error("T0001", place(t), "this file is translated already").hint =
            "translate the source that it was made from";
      }
      return;
    default:
      break;
  }
  if (is(previous(), "::") && state_.previous > token_index(0)) {
    const token& space = at(state_.previous.value() - 1);
    if (space.is(word::tamer_)) found_.api.push_back({space.begin, t.end});
  }
  if (member || is(previous(), "::")) return;
  if (around.function) {
    note_declaration(i);
    use_of_name(i);
  }
  if (macros_->returning.empty() && macros_->waiting.empty() && macros_->tamed.empty()) return;
  const std::string name = tokens_.spelling(t);
  if (around.function && macros_->returning.contains(name))
    found_.replacements.push_back({replacement::kind::macro_use, of(t), around.function});
  if (around.function && macros_->waiting.contains(name)) {
    found_.at(around.function).note_wait();
    check_wait(t);
  }
  if (macros_->tamed.contains(name) && around.bracket == '{' && !state_.now.head &&
      !around.function)
    begin_head(i, true);
}

void parser::step_punctuator(std::size_t i) {
  const token& t = at(i);
  if (thread_local_head_) note_thread_local(i);
  switch (t.code) {
    case punct("{"):
      return open_brace(i);
    case punct("("):
      return open_paren(i);
    case punct("["):
      return open_bracket(i);
    case punct("}"):
      return close(i, '{');
    case punct(")"):
      return close(i, '(');
    case punct("]"):
      return close(i, '[');
    case punct(";"):
      if (top().bracket == '{') {
        state_.now = {};
        end_loop_names();
      }
      state_.statement = {};
      return;
    case punct(":"):
      if (top().bracket == '{') state_.statement = {};
      return;
    case punct(","):
      if (top().what == role::wait_arguments) top().commas.push_back(t.begin);
      return;
    default:
      return;
  }
}

void parser::end_of_tokens() {
  // The rest of an open branch is not known here, so nothing may be written.
  if (!branches_.empty() && (!found_.functions.empty() || !found_.waits.empty())) {
    source::diagnostic& d =
        out_.error("T0403", place(at(branches_.back().opened)), "this conditional has no #endif");
    d.hint = "end it with #endif";
  }
  branches_.clear();
  if (body_ != body::file) {
    if (state_.top != root) body_ = body::unbalanced_macro;
    return;
  }
  for (node_index up = state_.top; up != root; up = at(up).parent) {
    const node& n = at(up);
    if (n.what != role::tamed_body && n.what != role::wait_body) continue;
    const bool body = n.what == role::tamed_body;
    source::diagnostic& d = out_.error("T0111", place(at(n.open)),
                                       body ? "the body of this tamed function does not end"
                                            : "the body of this twait does not end");
    const function_index f = n.enclosing;
    if (f && !found_.at(f).name.empty())
      d.notes.push_back({place(found_.at(f).name), "in this function"});
    break;
  }
}

analysis analyze(const source::source_file& file, const token_list& tokens, dialect language,
                 source::diagnostics& out, const std::vector<scanned_include>& includes) {
  analysis found;
  parser(file, tokens, language, out, found, includes).run();
  return found;
}

}  // namespace heddle::tame
