// SPDX-License-Identifier: MIT
// Types, and what the checker knows about names: variables, functions, records, modules. Types are
// made once each, so equal types have equal addresses.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "draft/item.hh"
#include "source/diagnostic.hh"

namespace heddle::draft {

enum class kind : std::uint8_t {
  poison,  ///< type of an expression with an error: agrees with everything
  void_,
  none,  ///< type of `none` before an optional takes it
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  duration,
  error,
  text,   ///< text<N>
  view,   ///< borrowed bytes
  bytes,  ///< counted, immutable
  record,
  enumeration,
  array,
  optional,
  range,
  address,
  conn,
  listener,
  file,
  buffer,
  permit,  ///< one turn of a semaphore
  job,
  subscription,
  opaque,  ///< extern "C" type
  channel,
  broadcast,
  semaphore,
  rendezvous,
  event,   ///< event<T>: its trigger brings a value
  signal,  ///< event<>: its value is known to the rendezvous
  action,  ///< fn() -> T!: only a parameter is one
  udp,
  descriptor,
  process,
  pipe,
};

/// How a value is treated when a variable gets it or goes away.
enum class owning : std::uint8_t {
  value,     ///< copied
  counted,   ///< copied; each copy counts
  owned,     ///< moved; released once
  borrowed,  ///< a view
};

struct type {
  draft::kind kind = kind::poison;
  std::uint64_t count = 0;   ///< N in text<N>, [N]T
  const type* of = nullptr;  ///< T in [N]T, ?T, channel<T>, job<T>, fn() -> T, ...
  draft::record* record = nullptr;
  enumeration* values = nullptr;
  const opaque_item* opaque = nullptr;
  bool of_fallible = false;  ///< job<T>, fn() -> T: the result is T!
  std::string name;          ///< as it is written
  std::uint32_t number = 0;  ///< number of this type in its table
  draft::owning owning = owning::value;

  [[nodiscard]] bool is_integer() const noexcept { return kind >= kind::i8 && kind <= kind::u64; }
  [[nodiscard]] bool is_signed() const noexcept { return kind >= kind::i8 && kind <= kind::i64; }
  /// Bits of an integer.
  [[nodiscard]] unsigned bits() const noexcept;
  [[nodiscard]] bool is(draft::kind k) const noexcept { return kind == k; }
  [[nodiscard]] bool is_owned() const noexcept { return owning == owning::owned; }
  /// Something happens at the end of its variable.
  [[nodiscard]] bool needs_release() const noexcept {
    return owning == owning::owned || owning == owning::counted;
  }
  /// Held in C by a struct, which functions get by address.
  [[nodiscard]] bool by_address() const noexcept {
    return kind == kind::text || kind == kind::record || kind == kind::array ||
           kind == kind::optional;
  }
};

/// No value takes more bytes: variables lie on stacks and in frames.
inline constexpr std::uint64_t type_size_max = std::uint64_t{1} << 20;

/// Size and alignment that C gives a type; 64-bit targets. Records are finished before.
[[nodiscard]] std::uint32_t size_of(const type& t);
[[nodiscard]] std::uint32_t align_of(const type& t);
/// The size of a type that may be larger than type_size_max.
[[nodiscard]] std::uint64_t wide_size_of(const type& t);

/// The least and greatest value of an integer type.
[[nodiscard]] std::int64_t min_of(const type& t) noexcept;
[[nodiscard]] std::uint64_t max_of(const type& t) noexcept;

/// How a variable is declared.
enum class variable_role : std::uint8_t {
  local,
  parameter,
  error,  ///< e in `or e { }`
};

struct variable {
  std::string name;
  span at{};
  const draft::type* type = nullptr;
  bool is_var = false;  ///< may be changed
  variable_role role = variable_role::local;
  passing how = passing::borrow;  ///< how a parameter is passed
  bool waits = false;             ///< a call of the action may wait; set by find_waits()
  bool used = false;
  function* owner = nullptr;
  std::uint32_t number = 0;  ///< in its function

  [[nodiscard]] bool is_param() const noexcept { return role == variable_role::parameter; }
};

/// A call inside a function, for what follows from it.
struct call_site {
  function* callee = nullptr;
  expr* at = nullptr;
};

enum class function_form : std::uint8_t {
  plain,   ///< nothing in it waits: an ordinary C function
  merged,  ///< waits, and its code is part of its callers
  apart,   ///< waits in a frame of its own
  thread,  ///< spawned
  foreign  ///< C
};

struct function {
  function_item* decl = nullptr;
  module* home = nullptr;
  std::string name;
  std::string c_name;
  std::vector<variable*> params;
  std::vector<std::unique_ptr<variable>> variables;  ///< all of it, parameters first
  const type* result = nullptr;
  function_form form = function_form::plain;
  std::string why;  ///< why it is merged or apart
  bool waits = false;
  const expr* waits_at = nullptr;     ///< the operation or call that waits
  function* waits_through = nullptr;  ///< the callee, if a call waits
  bool may_fault = false;
  bool spawned = false;
  bool recursive = false;
  std::uint32_t size = 0;  ///< statements
  std::vector<call_site> calls;
  /// For each view, the variables that it may look into. They live as long as the view.
  std::unordered_map<const variable*, std::vector<variable*>> looks_into;

  [[nodiscard]] bool fallible() const noexcept { return decl->fallible; }
  /// Whether a parameter is an action: each call then expands the function's code.
  [[nodiscard]] bool takes_action() const noexcept;
  [[nodiscard]] bool is_thread() const noexcept { return decl->words == function_words::thread; }
  [[nodiscard]] bool is_main() const noexcept { return decl->words == function_words::main; }
  /// Whether the frame copies its arguments: a job may outlive the variable of an argument.
  [[nodiscard]] bool copies_values() const noexcept { return is_thread() || is_main() || spawned; }
};

struct record {
  record_item* decl = nullptr;
  module* home = nullptr;
  const draft::type* type = nullptr;
  std::string c_name;
  struct part {
    std::string name;
    const draft::type* type = nullptr;
    span at{};
  };
  std::vector<part> parts;
  bool resolved = false;
  bool resolving = false;
  // Set when the records in it are known.
  bool finished = false;
  std::uint32_t depth = 0;  ///< levels of records inside of each other
  std::uint32_t size = 0;
  std::uint32_t align = 1;
};

struct enumeration {
  enum_item* decl = nullptr;
  module* home = nullptr;
  const draft::type* type = nullptr;
  const draft::type* base = nullptr;
  std::string c_name;
  struct value {
    std::string name;
    std::int64_t number = 0;
    span at{};
  };
  std::vector<value> values;
};

class type_table {
 public:
  type_table();
  type_table(const type_table&) = delete;
  type_table& operator=(const type_table&) = delete;

  [[nodiscard]] const type* basic(kind k) const noexcept {
    return basic_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] const type* text(std::uint64_t count);
  [[nodiscard]] const type* array(std::uint64_t count, const type* of);
  [[nodiscard]] const type* optional(const type* of);
  /// channel, broadcast, event, job, subscription of something; `fallible` only of a job.
  [[nodiscard]] const type* generic(kind k, const type* of, bool fallible = false);
  /// The built-in enum `mode` and the built-in record `net.packet`.
  [[nodiscard]] const type* mode() const noexcept { return mode_; }
  [[nodiscard]] const type* packet() const noexcept { return packet_; }
  /// The type `net.addr`, `os.process`, ... of a built-in module, or null.
  [[nodiscard]] const type* find(std::string_view module, std::string_view name) const noexcept;
  /// fn() -> of, with `!` if it is fallible.
  [[nodiscard]] const type* action(const type* of, bool fallible);
  [[nodiscard]] type* make(kind k, std::string name);
  /// Optionals are owned as their values are, which is known only when their record is.
  void settle(const type& t) noexcept;
  /// Whether a record holds something that is counted.
  void set_counted(const type& t) noexcept;
  /// The basic type of this name, or null.
  [[nodiscard]] const type* find(std::string_view name) const noexcept;

 private:
  const type* make_mode();
  const type* make_packet();

  std::deque<type> all_;
  const type* basic_[64] = {};
  std::unordered_map<std::string, const type*> made_;
  std::unordered_map<std::string_view, const type*> names_;
  enum_item mode_item_;
  enumeration mode_values_;
  record_item packet_item_;
  record packet_parts_;
  const type* mode_ = nullptr;
  const type* packet_ = nullptr;
};

struct constant {
  constant_item* decl = nullptr;
  module* home = nullptr;
  const draft::type* type = nullptr;
  std::uint64_t value = 0;
  std::string text;
  bool resolved = false;
  bool resolving = false;
  std::string c_name;

  [[nodiscard]] bool foreign() const noexcept { return decl->is_extern(); }
  [[nodiscard]] bool is_number() const noexcept;
  /// The value, with the sign of the type.
  [[nodiscard]] __int128 number() const noexcept;
};

/// The bytes of a text literal or of a constant, or nothing.
[[nodiscard]] const std::string& bytes_of(const expr& e) noexcept;

/// The meaning of a name at the top of a module.
struct symbol {
  const item_head* decl = nullptr;
  function* fn = nullptr;
  const draft::type* type = nullptr;  ///< record, enum, extern type
  constant* value = nullptr;
  bool used = false;
};

struct module {
  std::string name;    ///< a.b
  std::string c_name;  ///< a_b
  const source::source_file* file = nullptr;
  file_tree tree;
  std::unordered_map<std::string_view, symbol> names;
  std::vector<std::pair<std::string, module*>> uses;  ///< built-in modules have a null pointer
  std::vector<std::unique_ptr<function>> functions;
  std::vector<std::unique_ptr<record>> records;
  std::vector<std::unique_ptr<enumeration>> enums;
  std::vector<std::unique_ptr<constant>> constants;
  bool loading = false;

  [[nodiscard]] bool uses_builtin(std::string_view builtin) const noexcept;
  [[nodiscard]] module* used(std::string_view short_name) const noexcept;
};

/// Everything of one run of the compiler.
struct program {
  std::deque<source::source_file> files;
  std::vector<std::unique_ptr<module>> modules;  ///< used modules before their users
  module* main_module = nullptr;                 ///< the file that was asked for
  type_table types;
  std::map<std::string, std::uint32_t, std::less<>> errors;  ///< error.NAME and its code
  std::uint32_t constants_depth = 0;                         ///< constants that are being computed
};

/// The code of error.NAME: that of the system where there is one, else from 4096 on, from the name
/// alone, so that all modules agree on it.
[[nodiscard]] std::uint32_t error_code(std::string_view name) noexcept;

}  // namespace heddle::draft
