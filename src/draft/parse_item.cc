// SPDX-License-Identifier: MIT
// Parses the declarations at the top of a file, and types.
#include <optional>
#include <utility>

#include "draft/parsing.hh"

namespace heddle::draft {

void parser::parse_item(file_tree& tree) {
  const token& first = now();
  if (is(word::k_module)) return parse_module(tree);
  if (is(word::k_use)) {
    take();
    use_line u;
    u.path = parse_path("the name of a module", u.at);
    tree.uses.push_back(std::move(u));
    return;
  }
  if (is(word::k_extern)) return parse_extern(tree);
  item_head head;
  head.is_pub = accept(word::k_pub);
  function_words words = is_name("apart")    ? function_words::apart_fn
                         : is_name("merged") ? function_words::merged_fn
                                             : function_words::fn;
  if (words != function_words::fn) {
    take();
    if (!is(word::k_fn)) fail("expected 'fn', found " + shown(now()));
  }
  if (is(word::k_const)) {
    keep(tree, first, parse_constant(head));
  } else if (is(word::k_record)) {
    keep(tree, first, parse_record(head));
  } else if (is(word::k_enum)) {
    keep(tree, first, parse_enum(head));
  } else if (is(word::k_fn) || is(word::k_thread) || is(word::k_main)) {
    function_item x;
    if (is(word::k_main)) {
      head.name = "main";
      head.name_at = span_of(now());
      if (head.is_pub) fail("'main' is not for other modules", "delete 'pub'");
      take();
      x = {head, function_words::main};
    } else {
      if (is(word::k_thread)) words = function_words::thread;
      x = named<function_item>(head, "a name");
      x.words = words;
    }
    parse_signature(x);
    function_item& kept = keep(tree, first, std::move(x));
    kept.body = parse_block();
  } else {
    fail("expected a declaration, found " + shown(now()),
         "a file holds: use, const, record, enum, extern, fn, thread, main");
  }
}

void parser::parse_module(file_tree& tree) {
  const token& first = take();
  span at;
  std::string name = parse_path("the module's name", at);
  if (!tree.module_name.empty()) {
    auto& d = report_.error("D0002", span_of(first).to(last_span()), "a file is one module");
    d.notes.push_back({tree.module_at, "it has this name already"});
    return;
  }
  tree.module_name = std::move(name);
  tree.module_at = at;
}

std::string parser::parse_path(const char* what, span& at) {
  at = span_of(now());
  std::string path(expect_name(what));
  while (accept(word::s_dot)) {
    path += '.';
    path += expect_name("a name after '.'");
  }
  at = at.to(last_span());
  return path;
}

constant_item parser::parse_constant(const item_head& head) {
  auto x = named<constant_item>(head, "the constant's name");
  if (accept(word::s_colon)) x.type = parse_type();
  expect(word::s_set, "before the value");
  x.value = parse_expr();
  return x;
}

record_item parser::parse_record(const item_head& head) {
  auto x = named<record_item>(head, "the record's name");
  parse_fields(x.fields, [this](record_field& f) {
    expect(word::s_colon, "after the field's name");
    f.type = parse_type();
  });
  return x;
}

enum_item parser::parse_enum(const item_head& head) {
  auto x = named<enum_item>(head, "the enum's name");
  if (accept(word::s_colon)) x.type = parse_type();
  parse_fields(x.values, [this](enumerator& v) {
    if (accept(word::s_set)) v.value = parse_expr();
  });
  return x;
}

void parser::parse_extern(file_tree& tree) {
  take();
  if (now().kind != token_kind::text)
    fail("expected the name of a C header, found " + shown(now()), "extern \"parse.h\" { ... }");
  item_head head;
  head.is_pub = true;
  head.header = decode_text(text_of(take()));
  expect(word::s_lbrace, "before what the header declares");
  skip_lines();
  while (!is(word::s_rbrace) && !at_end()) {
    const std::size_t before = at_;
    try {
      parse_extern_item(tree, head);
      end_of_line("after this declaration");
    } catch (recovery) {
      resynchronize();
      if (at_ == before) take();
    }
    skip_lines();
  }
  expect(word::s_rbrace, "at the end of 'extern'");
}

void parser::parse_extern_item(file_tree& tree, const item_head& head) {
  const token& first = now();
  if (is_name("type")) {
    auto x = named<opaque_item>(head, "the type's name");
    if (is_name("drop")) {
      take();
      x.drop = expect_name("the C function that frees it");
    }
    keep(tree, first, std::move(x));
  } else if (is(word::k_record)) {
    keep(tree, first, parse_record(head));
  } else if (is(word::k_enum)) {
    keep(tree, first, parse_enum(head));
  } else if (is(word::k_const)) {
    auto x = named<constant_item>(head, "the constant's name");
    expect(word::s_colon, "and the constant's type");
    x.type = parse_type();
    keep(tree, first, std::move(x));
  } else {
    const function_words words = is_name("blocking") ? function_words::blocking_fn
                                 : is_name("pure")   ? function_words::pure_fn
                                                     : function_words::fn;
    if (words != function_words::fn) take();
    if (!is(word::k_fn))
      fail("expected a declaration, found " + shown(now()),
           "extern holds: type, record, enum, const, fn, blocking fn, pure fn");
    auto x = named<function_item>(head, "the function's name");
    x.words = words;
    parse_signature(x);
    keep(tree, first, std::move(x));
  }
}

void parser::parse_signature(function_item& x) {
  expect(word::s_lparen, "before the parameters");
  while (!is(word::s_rparen)) {
    param p;
    p.at = span_of(now());
    if (accept(word::k_take)) p.how = passing::take;
    if (accept(word::k_var)) p.how = passing::change;
    p.name = expect_name("a parameter's name");
    expect(word::s_colon, "and the parameter's type");
    p.type = parse_type();
    p.at = p.at.to(last_span());
    if (accept(word::s_set)) p.fallback = parse_expr();
    x.params.push_back(std::move(p));
    if (!is(word::s_rparen)) expect(word::s_comma, "between parameters");
  }
  expect(word::s_rparen, "after the parameters");
  if (accept(word::s_arrow)) {
    x.result_at = span_of(now());
    if (!is(word::s_not)) x.result = parse_type();
    if (accept(word::s_not)) x.fallible = true;
    x.result_at = x.result_at.to(last_span());
  }
}

type_expr parser::parse_type() {
  const nested deeper(*this);
  type_expr t;
  t.at = span_of(now());
  if (accept(word::s_question)) {
    t.kind = type_expr::form::optional;
    t.inner.push_back(parse_type());
  } else if (accept(word::s_lbracket)) {
    t.kind = type_expr::form::array;
    if (now().kind != token_kind::integer)
      fail("expected the number of elements, found " + shown(now()));
    t.number = take().value;
    expect(word::s_rbracket, "after the number of elements");
    t.inner.push_back(parse_type());
  } else if (accept(word::k_fn)) {
    parse_action_type(t);
  } else {
    t.kind = type_expr::form::name;
    t.name = expect_name("a type");
    if (accept(word::s_dot)) {
      t.module = t.name;
      t.name = expect_name("a type");
    }
    t.has_arguments = is(word::s_lt);
    if (t.has_arguments) t.inner = parse_type_arguments();
  }
  t.at = t.at.to(last_span());
  return t;
}

void parser::parse_action_type(type_expr& t) {
  t.kind = type_expr::form::action;
  expect(word::s_lparen, "after 'fn'");
  if (!is(word::s_rparen))
    fail("an action has no parameters, found " + shown(now()),
         "what is between the braces of fn() { ... } sees the variables around it");
  take();
  if (!accept(word::s_arrow)) return;
  if (!is(word::s_not)) t.inner.push_back(parse_type());
  t.fallible = accept(word::s_not);
}

std::vector<type_expr> parser::parse_type_arguments() {
  std::vector<type_expr> list;
  expect(word::s_lt, "before the type's arguments");
  while (!is(word::s_gt)) {  // event<> has none
    if (now().kind == token_kind::integer) {
      type_expr n;
      n.kind = type_expr::form::number;
      n.at = span_of(now());
      n.number = take().value;
      list.push_back(std::move(n));
    } else {
      list.push_back(parse_type());
    }
    if (!accept(word::s_comma)) break;
  }
  close_angle();
  return list;
}

}  // namespace heddle::draft
