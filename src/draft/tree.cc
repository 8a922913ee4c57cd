// SPDX-License-Identifier: MIT
// Makes expressions and statements, and answers what passes ask of one.
#include "draft/tree.hh"

#include "draft/types.hh"

namespace heddle::draft {

expr_ptr make_expr(span at, expr::kinds how) {
  return std::make_unique<expr>(expr{{std::move(how)}, at});
}

stmt_ptr make_stmt(span at, stmt::kinds how) {
  return std::make_unique<stmt>(stmt{{std::move(how)}, at});
}

word assign_stmt::computes() const noexcept {
  switch (op) {
    case word::s_add_set:
      return word::s_add;
    case word::s_sub_set:
      return word::s_sub;
    case word::s_mul_set:
      return word::s_mul;
    case word::s_div_set:
      return word::s_div;
    default:
      return word::none;
  }
}

const expr* call_expr::receiver() const noexcept {
  const member_expr* const m = op != nullptr ? called->get<member_expr>() : nullptr;
  return m != nullptr && m->of->means != meaning::namespace_ ? m->of.get() : nullptr;
}

variable* call_expr::action() const noexcept {
  variable* const v = called->local();
  return v != nullptr && v->type->is(kind::action) ? v : nullptr;
}

variable* place_root(const expr& e) noexcept {
  const expr* at = &e;
  for (;;) {
    const member_expr* const m = at->get<member_expr>();
    const index_expr* const i = at->get<index_expr>();
    if (i != nullptr)
      at = i->of.get();
    else if (m != nullptr && at->means == meaning::field)
      at = m->of.get();
    else
      return at->local();
  }
}

bool may_fault(word op) noexcept {
  return op == word::s_add || op == word::s_sub || op == word::s_mul || op == word::s_div ||
         op == word::s_mod || op == word::s_shl || op == word::s_shr;
}

bool constant::is_number() const noexcept {
  return !foreign() && !type->is(kind::view) && !type->is(kind::poison);
}

__int128 constant::number() const noexcept {
  const draft::type& t = type->is(kind::enumeration) ? *type->values->base : *type;
  if (t.is_signed() || t.is(kind::duration)) return static_cast<std::int64_t>(value);
  return value;
}

const std::string& bytes_of(const expr& e) noexcept {
  static const std::string nothing;
  if (const text_expr* const t = e.get<text_expr>()) return t->bytes;
  const name_expr* const n = e.get<name_expr>();
  const member_expr* const m = e.get<member_expr>();
  const constant* const c = n != nullptr ? n->value : m != nullptr ? m->value : nullptr;
  return c == nullptr ? nothing : c->foreign() ? c->c_name : c->text;
}

}  // namespace heddle::draft
