// SPDX-License-Identifier: MIT
// The table of types, and the codes of errors.
#include "draft/types.hh"

#include <algorithm>

#include "heddle/base/error_names.hh"

namespace heddle::draft {
namespace {

/// Records of two modules may have one name, so the type itself is a part of the key.
std::string key_of(const std::string& name, const type* of) {
  return name + "@" + std::to_string(reinterpret_cast<std::uintptr_t>(of));
}

}  // namespace

unsigned type::bits() const noexcept {
  switch (kind) {
    case kind::i8:
    case kind::u8:
      return 8;
    case kind::i16:
    case kind::u16:
      return 16;
    case kind::i32:
    case kind::u32:
      return 32;
    default:
      return 64;
  }
}

std::int64_t min_of(const type& t) noexcept {
  return t.is_signed() ? static_cast<std::int64_t>(~std::uint64_t{0} << (t.bits() - 1)) : 0;
}
std::uint64_t max_of(const type& t) noexcept {
  const unsigned bits = t.bits() - (t.is_signed() ? 1 : 0);
  return ~std::uint64_t{0} >> (64 - bits);
}

type_table::type_table() {
  struct row {
    kind k;
    const char* name;
    draft::owning owning;
  };
  static constexpr row rows[] = {
      {kind::poison, "?", owning::value},
      {kind::void_, "void", owning::value},
      {kind::none, "none", owning::value},
      {kind::boolean, "bool", owning::value},
      {kind::i8, "i8", owning::value},
      {kind::i16, "i16", owning::value},
      {kind::i32, "i32", owning::value},
      {kind::i64, "int", owning::value},
      {kind::u8, "byte", owning::value},
      {kind::u16, "u16", owning::value},
      {kind::u32, "u32", owning::value},
      {kind::u64, "u64", owning::value},
      {kind::duration, "duration", owning::value},
      {kind::error, "error", owning::value},
      {kind::view, "view", owning::borrowed},
      {kind::bytes, "bytes", owning::counted},
      {kind::range, "a range", owning::value},
      {kind::address, "net.addr", owning::value},
      {kind::conn, "conn", owning::owned},
      {kind::listener, "listener", owning::owned},
      {kind::file, "file", owning::owned},
      {kind::buffer, "buffer", owning::owned},
      {kind::permit, "permit", owning::owned},
      {kind::udp, "net.udp", owning::owned},
      {kind::descriptor, "os.descriptor", owning::owned},
      {kind::process, "os.process", owning::owned},
      {kind::pipe, "os.pipe", owning::owned},
      {kind::semaphore, "semaphore", owning::counted},
      {kind::signal, "event<>", owning::counted},
  };
  for (const row& r : rows) {
    type* const t = make(r.k, r.name);
    t->owning = r.owning;
    basic_[static_cast<std::size_t>(r.k)] = t;
    const bool dotted = std::string_view(r.name).find('.') != std::string_view::npos;
    if (r.k != kind::poison && r.k != kind::none && r.k != kind::range && !dotted)
      names_.emplace(r.name, t);
  }
  names_.emplace("i64", basic(kind::i64));
  names_.emplace("u8", basic(kind::u8));
  mode_ = make_mode();
  names_.emplace("mode", mode_);
  packet_ = make_packet();
}

const type* type_table::find(std::string_view module, std::string_view name) const noexcept {
  if (module == "net" && name == "packet") return packet_;
  for (const kind k : {kind::address, kind::udp, kind::descriptor, kind::process, kind::pipe}) {
    const std::string& whole = basic(k)->name;  // module.name
    if (whole.starts_with(module) && whole.substr(module.size()) == "." + std::string(name))
      return basic(k);
  }
  return nullptr;
}

type* type_table::make(kind k, std::string name) {
  type& t = all_.emplace_back();
  t.number = static_cast<std::uint32_t>(all_.size() - 1);
  t.kind = k;
  t.name = std::move(name);
  return &t;
}

const type* type_table::find(std::string_view name) const noexcept {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

const type* type_table::text(std::uint64_t count) {
  std::string name = "text<" + std::to_string(count) + ">";
  const type*& slot = made_[name];
  if (slot == nullptr) {
    type* const t = make(kind::text, std::move(name));
    t->count = count;
    slot = t;
  }
  return slot;
}

const type* type_table::array(std::uint64_t count, const type* of) {
  std::string name = "[" + std::to_string(count) + "]" + of->name;
  const type*& slot = made_[key_of(name, of)];
  if (slot == nullptr) {
    type* const t = make(kind::array, std::move(name));
    t->count = count;
    t->of = of;
    t->owning = of->owning;
    slot = t;
  }
  return slot;
}

const type* type_table::optional(const type* of) {
  std::string name = "?" + of->name;
  const type*& slot = made_[key_of(name, of)];
  if (slot == nullptr) {
    type* const t = make(kind::optional, std::move(name));
    t->of = of;
    t->owning = of->owning;
    slot = t;
  }
  return slot;
}

const type* type_table::generic(kind k, const type* of, bool fallible) {
  const char* word = "";
  draft::owning how = owning::counted;
  switch (k) {
    case kind::channel:
      word = "channel";
      break;
    case kind::broadcast:
      word = "broadcast";
      break;
    case kind::event:
      word = "event";
      break;
    case kind::rendezvous:
      word = "rendezvous";
      break;
    case kind::subscription:
      word = "subscription";
      how = owning::owned;
      break;
    default:
      word = "job";
      how = owning::owned;
  }
  std::string name = std::string(word) + "<" + of->name + (fallible ? "!>" : ">");
  const type*& slot = made_[key_of(name, of)];
  if (slot == nullptr) {
    type* const t = make(k, std::move(name));
    t->of = of;
    t->owning = how;
    t->of_fallible = fallible;
    slot = t;
  }
  return slot;
}

const type* type_table::action(const type* of, bool fallible) {
  std::string name = "fn()";
  if (!of->is(kind::void_)) name += " -> " + of->name;
  if (fallible) name += of->is(kind::void_) ? " -> !" : "!";
  const type*& slot = made_[key_of(name, of)];
  if (slot == nullptr) {
    type* const t = make(kind::action, std::move(name));
    t->of = of;
    t->of_fallible = fallible;
    slot = t;
  }
  return slot;
}

void type_table::settle(const type& t) noexcept {
  if (!t.is(kind::optional)) return;
  settle(*t.of);
  all_[t.number].owning = t.of->owning;
}

void type_table::set_counted(const type& t) noexcept { all_[t.number].owning = owning::counted; }

bool function::takes_action() const noexcept {
  return std::any_of(params.begin(), params.end(),
                     [](const variable* v) { return v->type->is(kind::action); });
}

bool module::uses_builtin(std::string_view builtin) const noexcept {
  for (const auto& [path, m] : uses)
    if (m == nullptr && path == builtin) return true;
  return false;
}

module* module::used(std::string_view short_name) const noexcept {
  for (const auto& [path, m] : uses) {
    if (m == nullptr) continue;
    const std::size_t dot = path.rfind('.');
    if (std::string_view(path).substr(dot == std::string::npos ? 0 : dot + 1) == short_name)
      return m;
  }
  return nullptr;
}

std::uint32_t error_code(std::string_view name) noexcept {
  return static_cast<std::uint32_t>(error_code_of(name));
}

}  // namespace heddle::draft
