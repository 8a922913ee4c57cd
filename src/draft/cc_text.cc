// SPDX-License-Identifier: MIT
// Brackets, members, durations and words of C++.
#include "draft/cc_text.hh"

#include <set>
#include <string_view>

#include "draft/c_names.hh"

namespace heddle::draft {
cc_expr cc_prefix(const std::string& op, const cc_expr& e) {
  return cc_expr(op + e.beside(), cc_rank::prefix);
}

cc_expr cc_infix(const cc_expr& a, const std::string& op, const cc_expr& b) {
  const bool both = op == "&&", either = op == "||";
  const cc_rank rank = both ? cc_rank::both : either ? cc_rank::either : cc_rank::infix;
  const auto side = [&](const cc_expr& e) {
    // In a row of && or || there are no brackets, around a comparison there are none either.
    if (rank != cc_rank::infix) return e.beside(e.rank() == rank ? rank : cc_rank::infix);
    return e.beside();
  };
  return cc_expr(side(a) + " " + op + " " + side(b), rank);
}

cc_expr cc_call(const std::string& fn, const std::vector<cc_expr>& arguments, std::size_t first) {
  std::string out = fn + "(";
  for (std::size_t i = first; i < arguments.size(); ++i)
    out += (i == first ? "" : ", ") + arguments[i].alone();
  return cc_expr(out + ")");
}

cc_expr cc_member(const cc_expr& e, const std::string& name) {
  if (e.rank() == cc_rank::prefix && e.alone().starts_with('*'))
    return cc_expr(e.alone().substr(1) + "->" + name);
  return cc_expr(e.primary() + "." + name);
}

bool cc_waits(const cc_expr& e) { return e.alone().find("co_await ") != std::string::npos; }

bool cc_is_one_call(const std::string& s, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = at; i != s.size(); ++i) {
    if (quoted) {
      if (s[i] == '\\')
        ++i;
      else if (s[i] == '"')
        quoted = false;
      continue;
    }
    if (s[i] == '"') quoted = true;
    if (s[i] == '(' || s[i] == '{') ++depth;
    if ((s[i] == ')' || s[i] == '}') && --depth == 0) return i + 1 == s.size();
  }
  return false;
}

std::string cc_quoted(const std::string& s) {
  std::string out = c_text(s);
  // C++ has no trigraphs any more.
  for (std::size_t at = 0; (at = out.find("\\?", at)) != std::string::npos; ++at)
    if (at == 0 || out[at - 1] != '\\') out.erase(at, 1);
  return out;
}

cc_expr cc_duration(std::int64_t ns) {
  struct unit {
    std::int64_t ns;
    const char* name;
  };
  static constexpr unit units[] = {
      {3600000000000, "h"}, {60000000000, "min"}, {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  for (const unit& u : units)
    if (ns != INT64_MIN && ns != 0 && ns % u.ns == 0)
      return cc_expr(std::to_string(ns / u.ns) + u.name,
                     ns < 0 ? cc_rank::prefix : cc_rank::primary);
  if (ns == INT64_MIN) return cc_expr("heddle::nanoseconds::min()");
  return cc_expr(std::to_string(ns) + "ns", ns < 0 ? cc_rank::prefix : cc_rank::primary);
}

bool is_cc_word(const std::string& name) {
  static const std::set<std::string_view> words = {
      // clang-format off
      // Keywords that c_names.cc does not have.
      "and", "and_eq", "bitand", "bitor", "catch", "char8_t", "char16_t", "char32_t", "class",
      "co_await", "co_return", "co_yield", "compl", "concept", "const_cast", "consteval",
      "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export", "friend",
      "mutable", "namespace", "new", "noexcept", "not", "not_eq", "operator", "or_eq", "private",
      "protected", "public", "reinterpret_cast", "requires", "static_cast", "template", "this",
      "throw", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
      "import", "final", "override",
      // Names that the file uses, and macros of the library.
      "std", "heddle", "draft", "assert", "offsetof", "va_arg", "va_end", "va_list", "va_start",
      "setjmp", "stdin", "stdout", "stderr", "errno", "unix", "linux", "EOF", "NULL",
      // clang-format on
  };
  // Words of c_names.cc that only the generated C uses are free here.
  static const std::set<std::string_view> free = {"f",   "w",    "self", "status", "bad",
                                                  "run", "turn", "h",    "wait"};
  return words.contains(name) || (is_c_word(name) && !free.contains(name)) ||
         name.starts_with("HEDDLE_");
}

bool is_c_function(const std::string& name) {
  static const std::set<std::string_view> names = {
      // clang-format off
      "abort", "abs", "accept", "access", "acct", "alarm", "asctime", "atexit", "atof", "atoi",
      "atol", "basename", "bind", "brk", "bsearch", "calloc", "ceil", "chdir", "chmod", "chown",
      "chroot", "clearerr", "clock", "close", "confstr", "connect", "cos", "creat", "crypt",
      "ctime", "daemon", "daylight", "difftime", "dirname", "div", "drem", "dup", "ecvt",
      "environ", "erf", "exit", "exp", "fabs", "fclose", "fcvt", "fdopen", "feof", "ferror",
      "fflush", "fileno", "floor", "fmod", "fopen", "fork", "fputs", "fread", "free", "freopen",
      "fseek", "fsync", "ftell", "ftruncate", "fwrite", "gamma", "gcvt", "getc", "getchar",
      "getenv", "getpid", "gets", "getw", "gmtime", "group", "hypot", "index", "initstate",
      "ioctl", "isalpha", "j0", "j1", "jn", "kill", "labs", "ldexp", "ldiv", "link", "listen",
      "localtime", "lockf", "log", "logb", "lseek", "malloc", "mblen", "mktime", "modf", "mount",
      "nan", "nice", "open", "optarg", "opterr", "optind", "pause", "pclose", "perror", "pipe",
      "poll", "popen", "pow", "printf", "profil", "putc", "puts", "putw", "qsort", "raise",
      "rand", "random", "read", "readlink", "realloc", "recv", "remainder", "remove", "rename",
      "rewind", "rindex", "rint", "rmdir", "round", "sbrk", "scalb", "scanf", "select", "send",
      "setenv", "shutdown", "signal", "significand", "sin", "sleep", "socket", "sqrt", "srand",
      "srandom", "stat", "stime", "strdup", "swab", "symlink", "sync", "sysconf", "syscall",
      "system", "tan", "tempnam", "time", "times", "timezone", "tmpfile", "tmpnam", "trunc",
      "truncate", "ttyname", "tzname", "tzset", "umask", "ungetc", "unlink", "utime", "vfork",
      "wait", "write", "y0", "y1", "yn",
      // clang-format on
  };
  return names.contains(name);
}

}  // namespace heddle::draft
