// SPDX-License-Identifier: MIT
// The tree as text: `--emit ast` and `--emit types`.
#include "draft/front.hh"
#include "draft/walk.hh"
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

  static std::string head_of(const expr& e) {
    return by_kind(
        e, [](const bad_expr&) -> std::string { return "bad"; },
        [](const name_expr& x) { return "name " + std::string(x.name); },
        [](const integer_expr& x) { return "integer " + std::to_string(x.value); },
        [](const duration_expr& x) { return "duration " + std::to_string(x.value); },
        [](const boolean_expr& x) -> std::string { return x.value ? "bool true" : "bool false"; },
        [](const text_expr& x) {
          std::string head = "text \"";
          append_quotable_text(head, x.bytes);
          return head + '"';
        },
        [](const none_expr&) -> std::string { return "none"; },
        [](const list_expr&) -> std::string { return "list"; },
        [](const call_expr&) -> std::string { return "call"; },
        [](const index_expr&) -> std::string { return "index"; },
        [](const member_expr& x) { return "member " + std::string(x.name); },
        [](const unary_expr& x) { return "unary " + std::string(spelling(x.op)); },
        [](const binary_expr& x) { return "binary " + std::string(spelling(x.op)); },
        [](const range_expr&) -> std::string { return "range"; },
        [](const try_expr&) -> std::string { return "try"; },
        [](const move_expr&) -> std::string { return "move"; },
        [](const spawn_expr&) -> std::string { return "spawn"; },
        [](const or_expr& x) {
          return x.name.empty() ? std::string("or") : "or " + std::string(x.name);
        });
  }

  void print(const expr& e) {
    std::string head = head_of(e);
    if (types_ && e.type != nullptr) {
      head += "  :: " + e.type->name;
      if (e.to != nullptr) head += " -> " + e.to->name;
      if (e.waits) head += "  [waits]";
    }
    line(head);
    ++depth_;
    if (const call_expr* const x = e.get<call_expr>()) {
      print(*x->called);
      for (const argument& a : x->args) {
        if (!a.name.empty()) line(std::string(a.name) + ":");
        if (a.value) print(*a.value);
      }
    } else {
      each_part(e, [&](const auto& part) { print(part); });
    }
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
