// SPDX-License-Identifier: MIT
// The options of libasync's conftab.h.
#define HEDDLE_ASYNC_INSIDE
#include "libasync/conftab.h"

#include <array>

#include "libasync/parseopt.h"

conftab& conftab::insert(const str& name, entry e) {
  all_.insert_or_assign(name, std::move(e));
  return *this;
}

namespace {

/// Says that the value of an option is wrong.
bool refuse_option(const str& place, const str& name, const strbuf& why, bool* failed) {
  warn << place << ": " << name << " " << why << "\n";
  *failed = true;
  return false;
}

int bool_of(const str& text) {
  constexpr std::array<const char*, 4> yes{"true", "1", "yes", "on"};
  constexpr std::array<const char*, 4> no{"false", "0", "no", "off"};
  for (const char* const each : yes)
    if (::strcasecmp(text.cstr(), each) == 0) return 1;
  for (const char* const each : no)
    if (::strcasecmp(text.cstr(), each) == 0) return 0;
  return -1;
}

}  // namespace

conftab::entry conftab::number_entry(const str& name, std::function<void(long long)> give,
                                     long long low, long long high) {
  return {[=](const vec<str>& words, const str& place, bool* failed) {
            long long v = 0;
            if (words.size() != 2 || !convertint(words[1].cstr(), &v))
              return refuse_option(place, name, strbuf() << "needs a whole number", failed);
            if (v < low || v > high)
              return refuse_option(
                  place, name,
                  strbuf() << "must be from " << low << " to " << high << ", and this is " << v,
                  failed);
            give(v);
            return true;
          },
          nullptr, nullptr, false, false};
}

conftab& conftab::add(const str& name, str* to) {
  return insert(name, {[=](const vec<str>& words, const str& place, bool* failed) {
                         if (words.size() != 2)
                           return refuse_option(place, name, strbuf() << "needs one text", failed);
                         *to = words[1];
                         return true;
                       },
                       nullptr, [to] { return *to; }, false, false});
}
conftab& conftab::add(const str& name, str* to, const str& value) {
  add(name, to);
  all_[name].apply_default = [to, value] { *to = value; };
  return *this;
}
conftab& conftab::add(const str& name, bool* to) {
  return insert(name, {[=](const vec<str>& words, const str& place, bool* failed) {
                         const int v = words.size() == 2 ? bool_of(words[1]) : -1;
                         if (v < 0)
                           return refuse_option(place, name, strbuf() << "needs true or false",
                                                failed);
                         *to = v == 1;
                         return true;
                       },
                       nullptr, [to] { return str(*to ? "true" : "false"); }, false, false});
}
conftab& conftab::add(const str& name, bool* to, bool value) {
  add(name, to);
  all_[name].apply_default = [to, value] { *to = value; };
  return *this;
}
conftab& conftab::ads(const str& name, cbs f) {
  return insert(name, {[=](const vec<str>& words, const str& place, bool* failed) {
                         if (words.size() != 2)
                           return refuse_option(place, name, strbuf() << "needs one text", failed);
                         f(words[1]);
                         return true;
                       },
                       nullptr, nullptr, false, false});
}
conftab& conftab::ignore(const str& name) {
  return insert(name, {[](const vec<str>&, const str&, bool*) { return true; }, nullptr, nullptr,
                       false, false});
}

bool conftab::match(const vec<str>& words, const str& file, int line, bool* failed) {
  const auto found = words.empty() ? all_.end() : all_.find(words[0]);
  if (found == all_.end()) return false;
  bool wrong = false;
  if (found->second.take(words, strbuf() << file << ":" << line, &wrong)) {
    found->second.set = true;
    found->second.by_default = false;
  }
  if (wrong) *failed = true;
  return true;
}

bool conftab::run(const str& file, unsigned flags, int fd, status_t* status) {
  bool failed = false;
  bool unknown = false;
  for (auto& [name, each] : all_) each.set = each.by_default = false;
  if (file) {
    parseargs lines(fd < 0 ? file : str(strbuf("/proc/self/fd/%d", fd)));
    vec<str> words;
    int line = 0;
    while (lines.getline(&words, &line)) {
      if (match(words, file, line, &failed)) continue;
      warn << file << ":" << line << ": there is no option " << words[0] << "\n";
      unknown = true;
    }
  }
  if ((flags & CONFTAB_APPLY_DEFAULTS) != 0) apply_defaults();
  if ((flags & CONFTAB_VERBOSE) != 0) report();
  if (status != nullptr) *status = failed ? ERROR : unknown ? UNKNOWN : OK;
  return !failed && !unknown;
}

void conftab::apply_defaults() {
  for (auto& [name, each] : all_) {
    if (each.set || !each.apply_default) continue;
    each.apply_default();
    each.set = each.by_default = true;
  }
}

void conftab::report() const {
  for (const auto& [name, each] : all_) {
    if (!each.show) continue;
    const str value = each.set ? each.show() : str("not set");
    warn << name << ": " << (value ? value : str("empty"))
         << (each.by_default ? " (by default)" : "") << "\n";
  }
}
