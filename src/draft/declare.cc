// SPDX-License-Identifier: MIT
// Names at the top of modules: records, enums, constants, functions, and types as written.
#include <algorithm>

#include "draft/checker.hh"
#include "draft/parser.hh"

namespace heddle::draft {
namespace {

class declarer : public resolver {
 public:
  using resolver::resolver;

  void names() {
    for (const auto& x : module_.tree.items) add_name(*x);
    for (const auto& f : module_.functions) keep_apart(*f);
  }

  void types() {
    for (const auto& r : module_.records) resolve_record(*r);
    for (const auto& e : module_.enums) {
      e->base = e->decl->type ? resolve(e->decl->type) : types_.basic(kind::i32);
      if (!e->base->is_integer()) {
        if (!e->base->is(kind::poison))
          error("D0004", e->decl->type.at, "an enum is an integer, as i32");
        e->base = types_.basic(kind::i32);
      }
    }
  }

  void signatures() {
    for (const auto& f : module_.functions) {
      function_item& x = *f->decl;
      std::vector<std::string_view> seen;
      for (param& p : x.params) {
        auto v = std::make_unique<variable>();
        v->name = p.name;
        v->at = p.at;
        v->type = p.type.kind == type_expr::form::action ? resolve_action(p.type) : resolve(p.type);
        v->role = variable_role::parameter;
        v->how = p.how;
        v->is_var = p.how == passing::change;
        v->owner = f.get();
        v->number = static_cast<std::uint32_t>(f->variables.size());
        v->used = true;
        if (std::find(seen.begin(), seen.end(), p.name) != seen.end())
          error("D0005", p.at, "two parameters are called " + quoted(p.name));
        seen.push_back(p.name);
        check_param(*f, x, p, *v);
        p.var = v.get();
        f->params.push_back(v.get());
        f->variables.push_back(std::move(v));
      }
      f->result = resolve(x.result);
      if (f->result->owning == owning::borrowed)
        error("D0701", x.result_at, "a view cannot be a result").hint =
            "a view is borrowed from what it looks into; give bytes, or fill a buffer";
      if (x.is_extern()) check_extern(*f, x);
    }
  }

 private:
  /// C has more names of a function with a frame; a function of such a name gets another one.
  void keep_apart(function& f) const {
    if (f.decl->is_extern()) return;
    const std::string_view name = f.name;
    for (const std::string_view tail : {"_new", "_run", "_kind", "_waits", "_frame"}) {
      if (!name.ends_with(tail)) continue;
      const auto other = module_.names.find(name.substr(0, name.size() - tail.size()));
      if ((other != module_.names.end() && other->second.fn != nullptr) ||
          name.substr(0, name.size() - tail.size()) == "main")
        f.c_name += "_";
    }
  }

  void check_param(function& f, const function_item& x, const param& p, const variable& v) {
    const type& t = *v.type;
    if (t.is(kind::void_)) error("D0004", p.type.at, "a parameter has a value");
    if (x.is_extern()) return;
    if (t.is(kind::action)) return check_action_param(f, p);
    if ((f.is_thread() || f.is_main()) && p.how == passing::change)
      error("D0701", p.at, "a thread's parameters belong to it: 'var' would change another's")
          .hint = "give it a channel to answer";
    if (f.is_thread() && t.owning == owning::borrowed)
      error("D0701", p.at, "a view cannot be given to a thread").hint = "bytes can";
    if (f.is_main()) {
      if (!t.is_integer() && !t.is(kind::boolean) && !t.is(kind::text) && !t.is(kind::bytes) &&
          !t.is(kind::duration) && !t.is(kind::poison))
        error("D0004", p.type.at,
              "main's parameters come from the command line: integers, bool, "
              "duration, text, bytes");
    }
    if (p.how == passing::take && !t.needs_release() && !t.is(kind::poison))
      error("D0004", p.at, "'take' is for what is owned; a " + t.name + " is copied").hint =
          "delete 'take'";
  }

  void check_action_param(const function& f, const param& p) {
    if (f.is_thread() || f.is_main())
      error("D0703", p.at, "an action cannot be given to a thread").hint =
          "an action sees variables of the function that passes it, which may end before";
    else if (p.how != passing::borrow)
      error("D0703", p.at, "an action is only passed down, and has no owner").hint =
          p.how == passing::take ? "delete 'take'" : "delete 'var'";
    if (p.fallback) error("D0703", p.at, "an action has no default");
  }

  void check_extern(function& f, const function_item& x) {
    if (x.fallible)
      error("D1301", x.result_at, "a C function has no '!'").hint =
          "give an integer, and 'fail' in Draft";
    const auto fits = [](const type& t, bool param) {
      switch (t.kind) {
        case kind::poison:
        case kind::void_:
        case kind::boolean:
        case kind::duration:
        case kind::error:
        case kind::enumeration:
        case kind::opaque:
          return true;
        case kind::record:
          return param && t.record->decl->is_extern();
        case kind::view:
        case kind::buffer:
        case kind::text:
          return param;
        default:
          return t.is_integer();
      }
    };
    for (const param& p : x.params) {
      if (!fits(*p.var->type, true))
        error("D1301", p.type.at, "C cannot be given a " + p.var->type->name).hint =
            "integers, bool, view, buffer, text, extern records, enums and types";
      if (x.is_blocking() && (p.var->type->is(kind::view) || p.var->type->is(kind::buffer) ||
                              p.how == passing::change))
        error("D1301", p.at, "a blocking function runs in another thread and gets copies only")
            .hint = "text<N> is copied";
      if (p.fallback) error("D1301", p.at, "a C parameter has no default");
    }
    if (!fits(*f.result, false)) error("D1301", x.result_at, "C cannot give a " + f.result->name);
  }

  /// Adds a declaration to the module's known declarations, with its name in C.
  template <class Known>
  Known& know(std::vector<std::unique_ptr<Known>>& all, auto& x) const {
    Known& k = *all.emplace_back(std::make_unique<Known>());
    k.decl = &x;
    k.home = &module_;
    k.c_name = (x.is_extern() ? "" : module_.c_name + "_") + std::string(x.name);
    return k;
  }

  symbol symbol_of(function_item& x) {
    function& f = know(module_.functions, x);
    f.name = x.name;
    if (x.is_extern()) f.form = function_form::foreign;
    x.made = &f;
    return {.decl = &x, .fn = &f};
  }
  symbol symbol_of(record_item& x) {
    record& r = know(module_.records, x);
    type* const t = types_.make(kind::record, std::string(x.name));
    t->record = x.made = &r;
    r.type = t;
    mutable_types_.emplace_back(&r, t);
    return {.decl = &x, .type = t};
  }
  symbol symbol_of(enum_item& x) {
    enumeration& e = know(module_.enums, x);
    type* const t = types_.make(kind::enumeration, std::string(x.name));
    t->values = x.made = &e;
    e.type = t;
    return {.decl = &x, .type = t};
  }
  symbol symbol_of(opaque_item& x) {
    type* const t = types_.make(kind::opaque, std::string(x.name));
    t->opaque = &x;
    t->owning = x.drop.empty() ? owning::value : owning::owned;
    return {.decl = &x, .type = t};
  }
  symbol symbol_of(constant_item& x) { return {.decl = &x, .value = &know(module_.constants, x)}; }

  void add_name(item& made) {
    const item_head& x = made.head();
    const function_item* const f = made.get<function_item>();
    const bool is_main = f != nullptr && f->words == function_words::main;
    if (is_main && main_ != nullptr) {
      auto& d = error("D0005", x.name_at, "there are two mains");
      d.notes.push_back({main_->name_at, "the first"});
      return;
    }
    if (is_main) main_ = &x;
    const symbol s = std::visit([this](auto& kind) { return symbol_of(kind); }, made.how);
    const auto words = type_words();
    if (std::find(words.begin(), words.end(), x.name) != words.end())
      error("D0005", x.name_at, quoted(x.name) + " is the name of a built-in type");
    if (is_main) return;
    const auto [where, fresh] = module_.names.emplace(x.name, s);
    if (fresh) return;
    auto& d = error("D0005", x.name_at, quoted(x.name) + " is declared twice");
    d.notes.push_back({where->second.decl->name_at, "the first time"});
  }

  void resolve_record(record& r) {
    if (r.resolved || r.resolving) return;
    r.resolving = true;
    for (const record_field& f : r.decl->fields) {
      const type* t = resolve(f.type);
      if (t->is_owned() || t->owning == owning::borrowed) {
        error(t->is_owned() ? "D0901" : "D0701", f.type.at,
              "a record is a value and cannot hold a " + t->name)
            .hint = t->is_owned() ? "records are copied; a " + t->name + " has one owner"
                                  : "a view is borrowed; bytes can be kept";
        t = poison();
      }
      if (t->is(kind::void_)) t = poison();
      for (const record::part& other : r.parts) {
        if (other.name != f.name) continue;
        auto& d = error("D0005", f.at, "two fields are called " + quoted(f.name));
        d.notes.push_back({other.at, "the first"});
      }
      r.parts.push_back({std::string(f.name), t, f.at});
    }
    if (r.parts.empty()) error("D0004", r.decl->name_at, "a record has at least one field");
    r.resolving = false;
    r.resolved = true;
  }

  std::vector<std::pair<record*, type*>> mutable_types_;
  const item_head* main_ = nullptr;

 public:
  /// A record with a counted part is counted; one that contains itself has no size.
  void finish_records() {
    for (const auto& [r, t] : mutable_types_) finish_record(*r);
  }

 private:
  static record* record_in(const type* t) {
    while (t != nullptr && (t->is(kind::array) || t->is(kind::optional))) t = t->of;
    return t != nullptr && t->is(kind::record) ? t->record : nullptr;
  }
  static bool holds_array(const type& t) {
    const type* at = &t;
    while (at->is(kind::optional)) at = at->of;
    return at->is(kind::array);
  }

  /// The records inside first: each is looked at once. Its own stack, since a chain of records has
  /// any length.
  void finish_record(record& root) {
    struct visit {
      record* r;
      std::size_t part = 0;
    };
    std::vector<visit> path;
    const auto enter = [&](record& r) {
      if (r.finished) return;
      r.resolving = true;
      path.push_back({&r});
    };
    enter(root);
    while (!path.empty()) {
      visit& v = path.back();
      record& r = *v.r;
      if (v.part == r.parts.size()) {
        close(r);
        path.pop_back();
        continue;
      }
      record::part& p = r.parts[v.part++];
      record* const inner = record_in(p.type);
      if (inner == nullptr) continue;
      if (!inner->resolving) {
        enter(*inner);
        continue;
      }
      std::size_t first = path.size() - 1;
      while (path[first].r != inner) --first;
      error("D1002", inner->decl->name_at,
            "the record " + quoted(inner->decl->name) + " contains itself")
          .hint = "a record is a value; hold a number that names the other one";
      for (std::size_t i = first; i != path.size(); ++i)
        for (record::part& each : path[i].r->parts)
          if (record_in(each.type) != nullptr) each.type = poison();
    }
  }

  /// All that is in it is known.
  void close(record& r) {
    r.resolving = false;
    r.finished = true;
    std::uint64_t size = 0;
    std::uint32_t align = 1, depth = 0;
    for (record::part& p : r.parts) {
      if (const record* const inner = record_in(p.type)) {
        depth = std::max(depth, inner->depth);
        // The fields' types were made before it was known what the inner record holds.
        if (inner->type->needs_release() && holds_array(*p.type)) {
          error("D0004", p.at, "an array holds plain values, and no " + inner->type->name);
          p.type = poison();
        }
        types_.settle(*p.type);
      }
      if (p.type->owning == owning::counted) types_.set_counted(*r.type);
      const std::uint32_t to = align_of(*p.type);
      align = std::max(align, to);
      size = (size + to - 1) / to * to + wide_size_of(*p.type);
      if (size > type_size_max) {
        refuse_size(p.at, size);
        p.type = poison();
        size = 0;
      }
    }
    r.depth = depth + 1;
    r.align = align;
    r.size = static_cast<std::uint32_t>((size + align - 1) / align * align);
    if (r.depth > nesting_max) {
      if (r.depth == nesting_max + 1)
        error("D0007", r.decl->name_at, "these records are too deep inside of each other").hint =
            "put the fields of the inner ones into the outer ones";
      for (record::part& p : r.parts)
        if (record_in(p.type) != nullptr) p.type = poison();
    }
  }
};

}  // namespace

void declare(program& p, source::diagnostics& report) {
  std::vector<declarer> all;
  all.reserve(p.modules.size());
  for (const auto& m : p.modules) all.emplace_back(p, *m, report);
  for (declarer& d : all) d.names();
  for (declarer& d : all) d.types();
  for (declarer& d : all) d.finish_records();
  for (declarer& d : all) d.signatures();
}

}  // namespace heddle::draft
