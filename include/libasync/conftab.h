/* SPDX-License-Identifier: MIT
 * libasync's conftab: options of a configuration file by name. A line of the file is a name and its
 * value; a value may be a number with bounds, a text, a bool, or be given to a function.
 */
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "callback.h"
#include "vec.h"

/// Flags of conftab::run().
enum : unsigned { CONFTAB_VERBOSE = 1, CONFTAB_APPLY_DEFAULTS = 2 };

/// Owns: nothing but the names; the variables must outlive it.
class conftab {
 public:
  enum status_t { OK = 0, ERROR = 1, UNKNOWN = 2 };

  /// A number from `low` to `high`.
  template <std::integral Number, class Bound>
    requires(!std::same_as<Number, bool>)
  conftab& add(const str& name, Number* to, Bound low, Bound high) {
    return add_number(name, to, low, high, false, 0);
  }
  template <std::integral Number, class Bound, class Default>
    requires(!std::same_as<Number, bool>)
  conftab& add(const str& name, Number* to, Bound low, Bound high, Default value) {
    return add_number(name, to, low, high, true, value);
  }
  conftab& add(const str& name, str* to);
  conftab& add(const str& name, str* to, const str& value);
  conftab& add(const str& name, str* to, const char* value) { return add(name, to, str(value)); }
  /// True, 1, yes and on, or false, 0, no and off.
  conftab& add(const str& name, bool* to);
  conftab& add(const str& name, bool* to, bool value);
  /// Calls f(words of the line, "file:line", &failed).
  template <class F>
    requires std::invocable<F&, vec<str>, str, bool*>
  conftab& add(const str& name, F f) {
    return insert(name, {[f](const vec<str>& words, const str& place, bool* failed) mutable {
                           f(words, place, failed);
                           return !*failed;
                         },
                         nullptr, nullptr, false, false});
  }
  /// Calls f(value).
  conftab& ads(const str& name, cbs f);
  /// Takes lines of this name, and does nothing.
  conftab& ignore(const str& name);

  /// Takes the words of a line. False if its name is unknown; *failed is set if its value is wrong,
  /// which is then said on standard error.
  [[nodiscard]] bool match(const vec<str>& words, const str& file, int line, bool* failed);
  /// Takes all lines of a file, and says on standard error what is wrong. A null file is empty. If
  /// `fd` is given, the file is read from it.
  [[nodiscard]] bool run(const str& file, unsigned flags = 0, int fd = -1,
                         status_t* status = nullptr);
  void apply_defaults();
  /// Writes all values to standard error.
  void report() const;

 private:
  struct entry {
    std::function<bool(const vec<str>&, const str& place, bool* failed)> take;
    std::function<void()> apply_default;
    std::function<str()> show;
    bool set;
    bool by_default;
  };
  conftab& insert(const str& name, entry e);
  template <class Number>
  conftab& add_number(const str& name, Number* to, long long low, long long high, bool has_default,
                      long long value) {
    auto give = [to](long long v) { *to = static_cast<Number>(v); };
    entry e = number_entry(name, std::move(give), low, high);
    if (has_default) e.apply_default = [to, value] { *to = static_cast<Number>(value); };
    e.show = [to] { return str(strbuf() << *to); };
    return insert(name, std::move(e));
  }
  static entry number_entry(const str& name, std::function<void(long long)> give, long long low,
                            long long high);
  std::map<str, entry> all_;
};
