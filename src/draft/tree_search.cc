// SPDX-License-Identifier: MIT
// Finds the name at a place and describes it.
#include "draft/tree_search.hh"

#include "draft/front.hh"
#include "draft/operations.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

bool lies_in(std::uint32_t offset, span s) noexcept {
  return s && s.begin <= offset && offset <= s.end;
}

std::string result_text(const type* t, bool fallible) {
  const bool none = t == nullptr || t->is(kind::void_);
  if (none && !fallible) return {};
  return std::string(" -> ") + (none ? "" : t->name) + (fallible ? "!" : "");
}

std::string signature_of(const function& f) {
  std::string out = f.is_main() ? "main" : (f.is_thread() ? "thread " : "fn ") + f.name;
  out += "(";
  for (const variable* v : f.params) {
    if (v != f.params.front()) out += ", ";
    if (v->how == passing::change) out += "var ";
    if (v->how == passing::take) out += "take ";
    out += v->name + ": " + (v->type != nullptr ? v->type->name : "?");
  }
  return out + ")" + result_text(f.result, f.fallible());
}

std::string describe(const function& f) {
  std::string out = signature_of(f);
  if (f.waits) out += "\n" + explain_wait(f);
  return out;
}

std::string describe(const variable& v) {
  return (v.is_param() ? "parameter "
          : v.is_var   ? "var "
                       : "let ") +
         v.name + (v.type != nullptr ? ": " + v.type->name : "");
}

std::string describe(const operation& op) {
  std::string out = op.full_name();
  if (!op.property) out += "(" + std::string(op.params) + ")";
  if (!op.result.empty() || op.fallible)
    out += " -> " + std::string(op.result) + (op.fallible ? "!" : "");
  return out + (op.waits ? "\nwaits. " : "\n") + std::string(op.help);
}

class search {
 public:
  explicit search(std::uint32_t offset) : offset_(offset) {}

  std::optional<found_name> best;

  void add(span at, std::string description, span declared) {
    if (!lies_in(offset_, at) || (best && best->at.size() <= at.size())) return;
    best = found_name{at, std::move(description), declared};
  }

  void add(const variable* v, span at) {
    if (v != nullptr) add(at, describe(*v), v->at);
  }

  void look_at(const expr& e) {
    const name_expr* const name = e.get<name_expr>();
    const member_expr* const member = e.get<member_expr>();
    const call_expr* const call = e.get<call_expr>();
    if (name != nullptr && name->var != nullptr) return add(name->var, e.at);
    if (member != nullptr && e.means == meaning::operation)
      return add(member->name_at, describe(*member->op), {});
    if (member != nullptr && e.means == meaning::field) {
      const record::part& p = member->of->type->record->parts.at(member->field);
      return add(member->name_at, "field " + p.name + ": " + p.type->name, p.at);
    }
    if (call != nullptr && (call->callee != nullptr || call->op != nullptr)) {
      const member_expr* const of = call->called->get<member_expr>();
      const span word = of != nullptr ? of->name_at : call->called->at;
      if (call->callee != nullptr)
        add(word, describe(*call->callee), call->callee->decl->name_at);
      else
        add(word, describe(*call->op), {});
      return;
    }
    if (e.type != nullptr && !e.type->is(kind::poison)) add(e.at, e.type->name, {});
  }

 private:
  std::uint32_t offset_;
};

}  // namespace

std::optional<found_name> find_at(const module& m, std::uint32_t offset) {
  search s(offset);
  for (const auto& f : m.functions) {
    s.add(f->decl->name_at, describe(*f), f->decl->name_at);
    for (const auto& v : f->variables) s.add(v.get(), v->at);
    walk(f->decl->body, [&](const expr& e) { s.look_at(e); }, [](const stmt&) {});
  }
  return std::move(s.best);
}

}  // namespace heddle::draft
