// SPDX-License-Identifier: MIT
// The C++ file: its includes, a namespace for each module, and main(). A function that waits is
// a task, any other an ordinary function; an error is an exception, so `try` needs no code.
#include "draft/emit_cc.hh"

#include <algorithm>
#include <utility>

#include "draft/c_names.hh"
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/operations.hh"
#include "draft/walk.hh"

namespace heddle::draft {

void cc_emitter::collect_names() {
  std::set<std::string, std::less<>> types;
  for (const auto& m : program_.modules) {
    source::diagnostics unused;
    for (const token& t : lex(*m->file, unused).tokens)
      if (t.kind == token_kind::name)
        names_.emplace(m->file->text().substr(t.begin, t.end - t.begin));
    for (const auto& r : m->records) types.emplace(r->decl->name);
    for (const auto& e : m->enums) types.emplace(e->decl->name);
  }
  // A field with the name of a type hides that in its struct.
  for (const auto& m : program_.modules)
    for (const auto& r : m->records)
      for (const record::part& p : r->parts)
        if (types.contains(p.name)) fields_.insert(p.name);
  const std::vector<std::string> words(names_.begin(), names_.end());
  for (const std::string& name : words)
    if (is_cc_word(name)) safe_[name] = fresh(name + "_");
  safe_["main"] = fresh("start");
}

void cc_emitter::stop(span at, const std::string& what) {
  report_.error("D0009", at, "--emit cc does not write " + what).hint =
      "--emit c compiles the whole language";
  throw not_in_cc{};
}

std::string cc_emitter::fresh(const std::string& base) {
  std::string name = base;
  for (int n = 2; !names_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  made_.push_back(name);
  return name;
}

void cc_emitter::forget_names(std::size_t mark) {
  for (; made_.size() > mark; made_.pop_back()) names_.erase(made_.back());
}

std::string cc_emitter::heading() {
  std::string out = "// Made from " + program_.main_module->file->path() +
                    " by heddle draft --emit cc; it is yours from now on.\n"
                    "#include <array>\n#include <chrono>\n#include <cstdint>\n#include <optional>\n"
                    "#include <string_view>\n#include <utility>\n\n#include \"heddle/draft.hh\"\n";
  std::set<std::string> headers;
  for (const auto& m : program_.modules)
    for (const auto& x : m->tree.items)
      if (x->head().header) headers.insert(*x->head().header);
  if (!headers.empty()) {
    out += "\nextern \"C\" {\n";
    for (const std::string& h : headers) out += "#include " + c_text(h) + "\n";
    out += "}\n";
  }
  return out + "\nnamespace draft = heddle::from_draft;\nusing namespace std::chrono_literals;\n";
}

void cc_emitter::emit_declarations(const module& m) {
  const auto emit_constants = [&](bool of_enums) {
    for (const auto& c : m.constants) {
      if (c->foreign() || c->type->is(kind::enumeration) != of_enums) continue;
      out_.blank();
      const std::string name = safe(std::string(c->decl->name));
      if (c->is_number())
        line("constexpr " + type_text(*c->type, c->decl->at) + " " + name + " = " +
             constant_text(*c->type, c->number(), c->decl->at).alone() + ";");
      else
        line("constexpr std::string_view " + name + "(" + c_text(c->text) + ", " +
             std::to_string(c->text.size()) + ");");
    }
  };
  emit_constants(false);
  // The enums of C are numbers there; here they are types of their own.
  for (const auto& e : m.enums) emit_enum(*e);
  emit_constants(true);
  std::set<const record*> done;
  for (const auto& r : m.records) emit_record(*r, done);
  // Functions that are called before they are defined.
  std::set<const function*> defined, declared;
  bool first = true;
  for (const auto& f : m.functions) {
    if (f->decl->is_extern()) continue;
    defined.insert(f.get());
    walk(
        f->decl->body,
        [&](const expr& e) {
          const call_expr* const call = e.get<call_expr>();
          const function* const g = call != nullptr ? call->callee : nullptr;
          if (g == nullptr || g->home != &m || g->decl->is_extern() || defined.contains(g)) return;
          if (!declared.insert(g).second) return;
          if (std::exchange(first, false)) out_.blank();
          module_ = &m;
          line(head_of(*g) + ";");
        },
        [](const stmt&) {});
  }
}

void cc_emitter::emit_module(const module& m) {
  module_ = &m;
  out_.take_comments(*m.file);
  out_.blank();
  line("namespace " + space_of(m) + " {");
  line("");
  emit_declarations(m);
  std::uint32_t end = m.tree.module_at.end;
  for (const auto& x : m.tree.items) {
    const function_item* const f = x->get<function_item>();
    if (f != nullptr && f->made != nullptr && !f->is_extern()) {
      out_.blank();
      out_.seek_comments(end);
      out_.comments_before(f->at.begin);
      emit_function(*f->made);
    }
    end = std::max(x->head().at.end, f != nullptr ? f->body.at.end : 0);
  }
  out_.blank();
  line("}  // namespace " + space_of(m));
}

void cc_emitter::emit_function(const function& f) {
  function_ = &f;
  result_ = f.result;
  const std::size_t names = made_.size();
  texts_.clear();
  moved_.clear();
  places_.assign(1, place{});
  turns_ = jobs_ = waits_ = "";
  walk(
      f.decl->body,
      [&](const expr& e) {
        if (const name_expr* const n = e.get<name_expr>(); n != nullptr && n->moves)
          moved_.insert(n->var);
        if (const move_expr* const m = e.get<move_expr>()) moved_.insert(place_root(*m->of));
        if (const call_expr* const c = e.get<call_expr>();
            c != nullptr && c->op != nullptr && c->op->consumes)
          moved_.insert(place_root(*c->receiver()));
      },
      [](const stmt&) {});
  out_.open(head_of(f));
  const std::size_t from = out_.size();
  if (f.recursive && !f.waits) line("const draft::nesting " + fresh("deeper") + ";");
  emit_block(f.decl->body);
  end_coroutine(from);
  out_.close();
  forget_names(names);
}

void cc_emitter::end_coroutine(std::size_t from) {
  if (!places_.back().is_task(*function_)) return;
  out_.drop_last("co_return;", from);
  if (out_.text().find("co_", from) == std::string::npos) line("co_return;");
}

void cc_emitter::emit_main(const function& f) {
  std::string list;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const variable& v = *f.params[i];
    const expr* const otherwise = f.decl->params[i].fallback.get();
    list += ", draft::parameter<" + type_text(*v.type, v.at) + ">(" + c_text(v.name);
    if (otherwise != nullptr)
      list +=
          ", " + (otherwise->is_constant ? constant_text(*v.type, otherwise->number, v.at).alone()
                                         : c_text(bytes_of(*otherwise)));
    list += ")";
  }
  module_ = nullptr;
  out_.blank();
  out_.open("int main(int argc, char** argv)");
  line("return draft::run(argc, argv, " + function_text(f) + list + ");");
  out_.close();
}

std::string cc_emitter::run() {
  const function* main = nullptr;
  for (const auto& f : program_.main_module->functions)
    if (f->is_main()) main = f.get();
  if (main == nullptr) {
    report_.error("D0009", {}, "--emit cc wants a module with main");
    return {};
  }
  collect_names();
  out_.take_comments(*program_.main_module->file);
  out_.comments_before(program_.main_module->tree.module_at.begin);
  const std::string top = out_.text();
  try {
    for (const auto& m : program_.modules) emit_module(*m);
    emit_main(*main);
  } catch (const not_in_cc&) {
    return {};
  }
  return top + heading() + out_.text().substr(top.size());
}

std::string emit_cc(const program& p, source::diagnostics& report) {
  return cc_emitter(p, report).run();
}

}  // namespace heddle::draft
