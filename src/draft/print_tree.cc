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
    case type_expr::form::action: {
      const std::string result = t.inner.empty() ? "" : written(t.inner[0]);
      const bool gives = !result.empty() || t.fallible;
      return "fn()" + std::string(gives ? " -> " : "") + result + (t.fallible ? "!" : "");
    }
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
    const std::string before = x.head().is_extern() ? "extern " : x.head().is_pub ? "pub " : "";
    const auto head = [&](const char* word, const item_head& h) {
      return before + word + " " + std::string(h.name);
    };
    const auto typed = [](const char* mark, const type_expr& t) {
      return t ? mark + written(t) : std::string();
    };
    by_kind(
        x,
        [&](const constant_item& c) {
          line(head("const", c) + typed(": ", c.type));
          if (c.value) nest(*c.value);
        },
        [&](const record_item& r) {
          line(head("record", r));
          ++depth_;
          for (const record_field& f : r.fields) line(std::string(f.name) + ": " + written(f.type));
          --depth_;
        },
        [&](const enum_item& e) {
          line(head("enum", e) + typed(": ", e.type));
          ++depth_;
          for (const enumerator& v : e.values) {
            line(std::string(v.name));
            if (v.value) nest(*v.value);
          }
          --depth_;
        },
        [&](const function_item& f) {
          line(before + head_of(f));
          nest(f.body);
        },
        [&](const opaque_item& o) { line(head("type", o)); });
  }

  std::string head_of(const function_item& x) const {
    static constexpr const char* words[] = {"fn",   "apart fn",    "merged fn", "thread",
                                            "main", "blocking fn", "pure fn"};
    std::string head = words[static_cast<int>(x.words)];
    if (x.words != function_words::main) (head += ' ') += x.name;
    for (const param& p : x.params) {
      head += &p == x.params.data() ? " (" : ", ";
      head += p.how == passing::take ? "take " : p.how == passing::change ? "var " : "";
      head += std::string(p.name) + ": " + written(p.type);
    }
    if (!x.params.empty()) head += ")";
    if (x.result) head += " -> " + written(x.result);
    if (x.fallible) head += x.result ? "!" : " -> !";
    if (types_ && x.made != nullptr && !x.is_extern()) {
      static constexpr const char* forms[] = {"plain", "merged", "apart", "thread", "foreign"};
      head += std::string("  [") + forms[static_cast<int>(x.made->form)] +
              (x.made->why.empty() ? "" : ": " + x.made->why) + "]";
    }
    return head;
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

  static std::string head_of(const stmt& s) {
    const auto with = [](std::string head, std::string_view name) {
      return name.empty() ? head : head + " " + std::string(name);
    };
    return by_kind(
        s, [](const bad_stmt&) -> std::string { return "bad"; },
        [&](const let_stmt& x) {
          return with(x.is_var ? "var" : "let", x.name) + (x.type ? ": " + written(x.type) : "");
        },
        [](const expression_stmt&) -> std::string { return "expression"; },
        [&](const assign_stmt& x) { return with("assign", spelling(x.op)); },
        [&](const if_stmt& x) { return with("if", x.when.name); },
        [&](const while_stmt& x) { return with("while", x.when.name); },
        [](const loop_stmt&) -> std::string { return "loop"; },
        [&](const for_stmt& x) {
          const std::string head = with("for", x.name);
          return x.second.empty() ? head : with(head + ",", x.second);
        },
        [](const match_stmt&) -> std::string { return "match"; },
        [](const any_stmt&) -> std::string { return "any"; },
        [](const wait_stmt&) -> std::string { return "wait"; },
        [](const scope_stmt&) -> std::string { return "scope"; },
        [](const nowait_stmt&) -> std::string { return "nowait"; },
        [](const shield_stmt&) -> std::string { return "shield"; },
        [](const within_stmt&) -> std::string { return "within"; },
        [](const defer_stmt&) -> std::string { return "defer"; },
        [](const return_stmt&) -> std::string { return "return"; },
        [](const break_stmt&) -> std::string { return "break"; },
        [](const continue_stmt&) -> std::string { return "continue"; },
        [](const fail_stmt&) -> std::string { return "fail"; });
  }
  /// The variable that the statement declares for its own block, or for what follows.
  static const variable* declared(const stmt& s) {
    const let_stmt* const l = s.get<let_stmt>();
    const if_stmt* const i = s.get<if_stmt>();
    const while_stmt* const w = s.get<while_stmt>();
    const for_stmt* const f = s.get<for_stmt>();
    return l != nullptr   ? l->var
           : i != nullptr ? i->when.var
           : w != nullptr ? w->when.var
           : f != nullptr ? f->var
                          : nullptr;
  }

  void print(const stmt& s) {
    const variable* const v = types_ ? declared(s) : nullptr;
    line(head_of(s) + (v != nullptr ? "  :: " + v->type->name : ""));
    if (const match_stmt* const m = s.get<match_stmt>()) {
      nest(*m->value);
      ++depth_;
      for (const match_arm& a : m->arms) {
        line(a.otherwise ? "else =>" : "case");
        for (const expr_ptr& p : a.patterns) nest(*p);
        nest(a.body);
      }
      --depth_;
    } else if (const any_stmt* const x = s.get<any_stmt>()) {
      ++depth_;
      for (const any_arm& a : x->arms) {
        std::string text = a.kind == any_arm::form::after    ? "after"
                           : a.kind == any_arm::form::failed ? "else"
                                                             : "arm";
        if (!a.name.empty()) text += " " + std::string(a.name);
        line(text);
        if (a.what) nest(*a.what);
        nest(a.body);
      }
      --depth_;
    } else {
      const if_stmt* const i = s.get<if_stmt>();
      const auto is_else = [&](const void* part) {
        return i != nullptr && i->otherwise && part == &*i->otherwise;
      };
      each_part(s, [&](const auto& part) {
        if (is_else(&part)) line("else");
        nest(part);
      });
    }
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
        },
        [](const action_expr&) -> std::string { return "fn"; });
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
