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
  return out + ")" + result_text(f.result, f.fallible);
}

std::string describe(const function& f) {
  std::string out = signature_of(f);
  if (f.waits) out += "\n" + explain_wait(f);
  return out;
}

std::string describe(const variable& v) {
  return (v.is_param ? "parameter "
          : v.is_var ? "var "
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
    const span word = e.name_at ? e.name_at : e.at;
    switch (e.means) {
      case meaning::local:
        if (e.kind == expr_kind::name) add(e.var, word);
        return;
      case meaning::function:
        if (e.callee != nullptr && e.kind != expr_kind::call)
          add(word, describe(*e.callee), e.callee->decl->name_at);
        return;
      case meaning::operation:
        // The word lies in the callee of the call.
        if (e.op_info != nullptr)
          add(e.a && e.a->name_at ? e.a->name_at : word, describe(*e.op_info), {});
        return;
      case meaning::field:
        if (e.a && e.a->type != nullptr && e.a->type->is(kind::record)) {
          const record::part& p = e.a->type->record->parts.at(static_cast<std::size_t>(e.value));
          add(word, "field " + p.name + ": " + p.type->name, p.at);
        }
        return;
      default:
        if (e.type != nullptr && !e.type->is(kind::poison)) add(e.at, e.type->name, {});
    }
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
