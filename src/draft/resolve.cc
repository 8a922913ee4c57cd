// SPDX-License-Identifier: MIT
// The meaning of names: types as they are written, symbols of a module, suggestions for a slip.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

std::string to_decimal(__int128 n) {
  if (n == 0) return "0";
  const bool negative = n < 0;
  std::string out;
  for (auto rest = negative ? -static_cast<unsigned __int128>(n)
                            : static_cast<unsigned __int128>(n);
       rest != 0; rest /= 10)
    out += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

symbol* resolver::find_symbol(std::string_view name) noexcept {
  const auto found = module_.names.find(name);
  if (found == module_.names.end()) return nullptr;
  found->second.used = true;
  return &found->second;
}

const type* resolver::resolve_word(std::string_view word, const type* of) {
  if (word.empty()) return types_.basic(kind::void_);
  if (word == "T") return of;
  if (const std::size_t dot = word.find('.'); dot != std::string_view::npos)
    return types_.find(word.substr(0, dot), word.substr(dot + 1));
  if (word == "range") return types_.basic(kind::range);
  if (word.starts_with('?')) return types_.optional(resolve_word(word.substr(1), of));
  if (word == "channel<T>") return types_.generic(kind::channel, of);
  if (word == "broadcast<T>") return types_.generic(kind::broadcast, of);
  if (word == "subscription<T>") return types_.generic(kind::subscription, of);
  if (word == "rendezvous<T>") return types_.generic(kind::rendezvous, of);
  if (word == "event<T>") return types_.generic(kind::event, of);
  if (word == "event<>") return types_.basic(kind::signal);
  const type* const t = types_.find(word);
  return t != nullptr ? t : poison();
}

void resolver::refuse_size(span at, std::uint64_t size) {
  error("D0004", at,
        "this takes " + std::to_string(size) + " bytes, more than the " +
            std::to_string(type_size_max) + " that a value may have")
      .hint = "a variable lies on a stack or in a frame; a buffer does not";
}

const type* resolver::resolve_action(const type_expr& t) {
  const type* const of = t.inner.empty() ? types_.basic(kind::void_) : resolve(t.inner[0]);
  if (of->is(kind::poison)) return of;
  if (of->owning == owning::borrowed) {
    error("D0701", t.inner[0].at, "a view cannot be a result").hint =
        "a view is borrowed from what it looks into; give bytes, or fill a buffer";
    return poison();
  }
  return types_.action(of, t.fallible);
}

const type* resolver::resolve(const type_expr& t) {
  switch (t.kind) {
    case type_expr::form::none:
      return types_.basic(kind::void_);
    case type_expr::form::number:
      error("D0004", t.at, "expected a type, found a number");
      return poison();
    case type_expr::form::optional: {
      const type* const of = resolve(t.inner.at(0));
      if (of->is(kind::poison)) return of;
      if (of->is(kind::optional) || of->owning == owning::borrowed) {
        error("D0004", t.at, "there is no optional " + of->name);
        return poison();
      }
      return types_.optional(of);
    }
    case type_expr::form::array: {
      const type* const of = resolve(t.inner.at(0));
      if (of->is(kind::poison)) return of;
      if (of->needs_release() || of->owning == owning::borrowed || of->is(kind::void_)) {
        error("D0004", t.inner[0].at, "an array holds plain values, and no " + of->name);
        return poison();
      }
      if (t.number == 0 || t.number > 65536) {
        error("D0004", t.at, "an array has 1 to 65536 elements");
        return poison();
      }
      const type* const made = types_.array(t.number, of);
      if (wide_size_of(*made) > type_size_max) {
        refuse_size(t.at, wide_size_of(*made));
        return poison();
      }
      return made;
    }
    case type_expr::form::action:
      error("D0703", t.at, "only the parameter of a function is an action").hint =
          "an action is passed down and never kept, returned or sent";
      return poison();
    case type_expr::form::name:
      break;
  }
  if (!t.module.empty()) {
    if (const type* const made = types_.find(t.module, t.name)) {
      const std::string word(t.module);
      if (!module_.uses_builtin(word))
        error("D0003", t.at, word + " is not used here").hint =
            "write 'use " + word + "' at the top";
      return made;
    }
    module* const m = module_.used(t.module);
    const auto found = m == nullptr ? decltype(m->names.end()){} : m->names.find(t.name);
    if (m != nullptr && found != m->names.end() && found->second.type != nullptr) {
      if (!found->second.decl->is_pub) {
        auto& d = error("D0003", t.at, quoted(t.name) + " is not public in " + quoted(m->name));
        d.notes.push_back({found->second.decl->name_at, "write 'pub' here"});
      }
      return found->second.type;
    }
    error("D0003", t.at,
          "there is no type " + quoted(std::string(t.module) + "." + std::string(t.name)));
    return poison();
  }
  const std::size_t arguments = t.inner.size();
  if (is_generic(t.name) || t.name == "subscription") {
    if (t.name == "event" && t.has_arguments && arguments == 0) return types_.basic(kind::signal);
    if (arguments != 1) {
      error("D0004", t.at, quoted(t.name) + " takes one argument").hint =
          t.name == "text" ? "write text<64>" : "write " + std::string(t.name) + "<int>";
      return poison();
    }
    if (t.name == "text") {
      if (t.inner[0].kind != type_expr::form::number || t.inner[0].number == 0 ||
          t.inner[0].number > 65536) {
        error("D0004", t.inner[0].at, "a text holds 1 to 65536 bytes: text<64>");
        return poison();
      }
      return types_.text(t.inner[0].number);
    }
    const type* const of = resolve(t.inner[0]);
    if (of->is(kind::poison)) return of;
    if (of->owning == owning::borrowed || (of->is(kind::void_) && t.name != "job")) {
      error("D0701", t.inner[0].at, "a " + std::string(t.name) + " cannot hold a " + of->name)
          .hint = "a view is borrowed; bytes can be kept";
      return poison();
    }
    const bool copies = t.name == "broadcast" || t.name == "subscription";
    if (copies && of->is_owned()) {
      error("D0901", t.inner[0].at, "a broadcast copies, and a " + of->name + " has one owner");
      return poison();
    }
    return types_.generic(t.name == "channel"        ? kind::channel
                          : t.name == "broadcast"    ? kind::broadcast
                          : t.name == "subscription" ? kind::subscription
                          : t.name == "rendezvous"   ? kind::rendezvous
                          : t.name == "event"        ? kind::event
                                                     : kind::job,
                          of, t.name == "job");
  }
  if (arguments != 0) {
    error("D0004", t.at, quoted(t.name) + " takes no arguments");
    return poison();
  }
  if (const symbol* s = find_symbol(t.name)) {
    if (s->type != nullptr) return s->type;
    auto& d = error("D0004", t.at, quoted(t.name) + " is not a type");
    d.notes.push_back({s->decl->name_at, "it is declared here"});
    return poison();
  }
  if (const type* found = types_.find(t.name)) return found;
  std::vector<std::string> known(type_words().begin(), type_words().end());
  for (const auto& [name, s] : module_.names)
    if (s.type != nullptr) known.emplace_back(name);
  auto& d = error("D0003", t.at, "there is no type " + quoted(t.name));
  if (const std::string best = nearest(t.name, known); !best.empty())
    d.hint = "did you mean " + quoted(best) + "?";
  return poison();
}

}  // namespace heddle::draft
