// SPDX-License-Identifier: MIT
// The tree as text: `--emit ast` and `--emit types`.
#include "draft/front.hh"
#include "heddle/base/text.hh"

namespace heddle::draft {
namespace {

std::string written(const type_expr& t) {
  switch (t.kind) {
    case type_expr::form::none:
      return "";
    case type_expr::form::number:
      return std::to_string(t.number);
    case type_expr::form::optional:
      return "?" + written(t.inner.at(0));
    case type_expr::form::array:
      return "[" + std::to_string(t.number) + "]" + written(t.inner.at(0));
    case type_expr::form::name:
      break;
  }
  std::string out = t.module.empty() ? "" : std::string(t.module) + ".";
  out += t.name;
  for (std::size_t i = 0; i != t.inner.size(); ++i)
    out += (i == 0 ? "<" : ", ") + written(t.inner[i]);
  return t.inner.empty() ? out : out + ">";
}

class printer {
 public:
  explicit printer(bool with_types) : types_(with_types) {}
  std::string out;

  void print(const file_tree& tree) {
    line("module " + tree.module_name);
    ++depth_;
    for (const use_line& u : tree.uses) line("use " + u.path);
    for (const auto& x : tree.items) print(*x);
    --depth_;
  }

 private:
  void line(const std::string& text) {
    out.append(2 * depth_, ' ');
    out += text;
    out += '\n';
  }

  void print(const item& x) {
    static constexpr const char* names[] = {"const",  "record", "enum", "fn",
                                            "thread", "main",   "type"};
    std::string head = x.is_extern ? "extern " : x.is_pub ? "pub " : "";
    if (x.blocking) head += "blocking ";
    if (x.pure) head += "pure ";
    if (x.apart) head += "apart ";
    if (x.merged) head += "merged ";
    head += names[static_cast<int>(x.kind)];
    if (x.kind != item_kind::main) (head += ' ') += x.name;
    for (const param& p : x.params) {
      head += &p == x.params.data() ? " (" : ", ";
      head += p.how == passing::take ? "take " : p.how == passing::change ? "var " : "";
      head += std::string(p.name) + ": " + written(p.type);
    }
    if (!x.params.empty()) head += ")";
    if (x.type)
      head += (x.kind == item_kind::constant || x.kind == item_kind::enumeration ? ": " : " -> ") +
              written(x.type);
    if (x.fallible) head += x.type ? "!" : " -> !";
    if (types_ && x.made_function != nullptr && !x.is_extern) {
      static constexpr const char* forms[] = {"plain", "merged", "apart", "thread", "foreign"};
      const function& f = *x.made_function;
      head += std::string("  [") + forms[static_cast<int>(f.form)] +
              (f.why.empty() ? "" : ": " + f.why) + "]";
    }
    line(head);
    ++depth_;
    for (const field& f : x.fields) {
      line(std::string(f.name) + (f.type ? ": " + written(f.type) : ""));
      if (f.value) nest(*f.value);
    }
    if (x.value) print(*x.value);
    print(x.body);
    --depth_;
  }

  void nest(const expr& e) {
    ++depth_;
    print(e);
    --depth_;
  }
  void print(const block& b) {
    for (const stmt_ptr& s : b.body) print(*s);
  }
  void nest(const block& b) {
    ++depth_;
    print(b);
    --depth_;
  }

  void print(const stmt& s) {
    static constexpr const char* names[] = {"bad",   "let",    "expression", "assign",   "if",
                                            "while", "loop",   "for",        "match",    "any",
                                            "wait",  "scope",  "nowait",     "shield",   "within",
                                            "defer", "return", "break",      "continue", "fail"};
    std::string head = names[static_cast<int>(s.kind)];
    if (s.kind == stmt_kind::let && s.is_var) head = "var";
    if (!s.name.empty()) head += " " + std::string(s.name);
    if (!s.second.empty()) head += ", " + std::string(s.second);
    if (s.op != word::none) head += " " + std::string(spelling(s.op));
    if (s.type) head += ": " + written(s.type);
    if (types_ && s.var != nullptr) head += "  :: " + s.var->type->name;
    line(head);
    if (s.a) nest(*s.a);
    if (s.b) nest(*s.b);
    nest(s.body);
    if (s.has_else) {
      line("else");
      nest(s.else_body);
    }
    ++depth_;
    for (const match_arm& a : s.arms) {
      line(a.otherwise ? "else =>" : "case");
      for (const expr_ptr& p : a.patterns) nest(*p);
      nest(a.body);
    }
    for (const any_arm& a : s.any_arms) {
      std::string text = a.kind == any_arm::form::after    ? "after"
                         : a.kind == any_arm::form::failed ? "else"
                                                           : "arm";
      if (!a.name.empty()) text += " " + std::string(a.name);
      line(text);
      if (a.what) nest(*a.what);
      nest(a.body);
    }
    --depth_;
  }

  void print(const expr& e) {
    static constexpr const char* names[] = {
        "bad",   "name",   "integer", "duration", "text",  "bool", "none", "list",  "call",
        "index", "member", "unary",   "binary",   "range", "try",  "move", "spawn", "or"};
    std::string head = names[static_cast<int>(e.kind)];
    if (!e.name.empty()) head += " " + std::string(e.name);
    if (e.op != word::none) head += " " + std::string(spelling(e.op));
    if (e.kind == expr_kind::integer || e.kind == expr_kind::duration)
      head += " " + std::to_string(e.value);
    if (e.kind == expr_kind::boolean) head += e.value != 0 ? " true" : " false";
    if (e.kind == expr_kind::text) {
      head += " \"";
      append_quotable_text(head, e.text_value);
      head += '"';
    }
    if (types_ && e.type != nullptr) {
      head += "  :: " + e.type->name;
      if (e.to != nullptr) head += " -> " + e.to->name;
      if (e.waits) head += "  [waits]";
    }
    line(head);
    if (e.a) nest(*e.a);
    if (e.b) nest(*e.b);
    ++depth_;
    for (const argument& a : e.args) {
      if (!a.name.empty()) line(std::string(a.name) + ":");
      if (a.value) print(*a.value);
    }
    --depth_;
    ++depth_;
    if (e.jump) print(*e.jump);
    if (e.handler) print(*e.handler);
    --depth_;
  }

  bool types_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string print_tree(const file_tree& tree, bool with_types) {
  printer p(with_types);
  p.print(tree);
  return std::move(p.out);
}

}  // namespace heddle::draft
