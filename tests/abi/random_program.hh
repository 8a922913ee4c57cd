// SPDX-License-Identifier: MIT
// Well-typed programs in Draft from a seed: arithmetic at the edges, calls that wait and fail,
// deadlines, choices, channels, jobs, defers, views, actions. What one prints does not depend on
// the order in which threads take turns.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

class random_program {
 public:
  explicit random_program(std::uint64_t seed) : random_(seed) {}
  /// Only what `--emit cc` writes: numbers, functions, control flow, errors, time.
  static random_program simple(std::uint64_t seed) {
    random_program p(seed);
    p.simple_ = true;
    return p;
  }

  std::string make() {
    out_ = "module random\nuse time\nuse log\n\n";
    if (!simple_)
      out_ +=
          "record pair { a: int, b: u8, t: text<12>, o: ?int }\n"
          "enum shade { light, dark, none_of_it }\n\n";
    out_ += actions_text;
    functions_ = 2 + pick(3);
    for (int i = 0; i != functions_; ++i) make_function(i);
    out_ += "main() -> ! {\n";
    depth_ = 1;
    callable_ = functions_;
    may_fail_ = true;
    names_.clear();
    has_channel_ = !simple_;
    if (has_channel_) {
      line("let ch = try channel<int>(3)");
      line("var buf = try buffer(40)");
      line("try buf.put(\"start\")");
    }
    const int count = 6 + pick(10);
    for (int i = 0; i != count; ++i) make_statement();
    if (has_channel_) line("log.print(ch.try_receive() or -9, \" \", buf.filled())");
    print_all();
    out_ += "}\n";
    return out_;
  }

 private:
  struct name {
    std::string text;
    char kind;  // i int, u u8, b bool, t text, p pair, s shade, o ?int
    bool changes;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  void line(const std::string& s) {
    out_ += std::string(static_cast<std::size_t>(4 * depth_), ' ') + s + "\n";
  }
  std::string fresh(char kind) { return std::string(1, kind) + std::to_string(++count_) + "_"; }

  std::string any_name(char kind, bool changes = false) {
    std::vector<std::string> fit;
    for (const name& n : names_)
      if (n.kind == kind && (n.changes || !changes)) fit.push_back(n.text);
    return fit.empty() ? std::string()
                       : fit[static_cast<std::size_t>(pick(static_cast<int>(fit.size())))];
  }

  std::string integer(int depth = 0) {
    const std::string x = any_name('i');
    if (depth > 2 || chance(25)) {
      static const char* const edges[] = {
          "0", "1", "2", "7", "255", "256", "-1", "9223372036854775807", "1000003"};
      if (x.empty() || chance(35)) return edges[pick(9)];
      return x;
    }
    switch (pick(12)) {
      case 0: {
        const std::string p = any_name('p');
        return p.empty() ? integer(depth + 1) : p + ".a";
      }
      case 1: {
        const std::string o = any_name('o');
        return o.empty() ? integer(depth + 1) : "(" + o + " or " + integer(depth + 1) + ")";
      }
      case 2: {
        const std::string u = any_name('u');
        return u.empty() ? integer(depth + 1) : "int(" + u + ")";
      }
      case 3: {
        const std::string t = any_name('t');
        return t.empty() ? integer(depth + 1) : t + ".len";
      }
      case 4:
        return "(" + integer(depth + 1) + " & " + integer(depth + 1) + ")";
      case 5:
        return "(" + integer(depth + 1) + " % 13 + 3)";
      case 6:
        return "(" + integer(depth + 1) + " *% " + integer(depth + 1) + ")";
      case 7:
        return "(" + integer(depth + 1) + " -% " + integer(depth + 1) + ")";
      case 8:
        return chance(12) ? "(" + integer(depth + 1) + " * 3)" : "(" + integer(depth + 1) + " ^ 5)";
      case 9:
        return chance(25) ? "(7 / (" + integer(depth + 1) + " | 1))" : integer(depth + 1);
      default:
        return "(" + integer(depth + 1) + " +% " + integer(depth + 1) + ")";
    }
  }

  std::string condition(int depth = 0) {
    const std::string b = any_name('b');
    if (depth > 1 || chance(20)) return b.empty() ? (chance(50) ? "true" : "false") : b;
    switch (pick(7)) {
      case 0:
        return "!" + std::string("(") + condition(depth + 1) + ")";
      case 1:
        return "(" + condition(depth + 1) + " && " + condition(depth + 1) + ")";
      case 2:
        return "(" + condition(depth + 1) + " || " + condition(depth + 1) + ")";
      case 3: {
        const std::string t = any_name('t');
        return t.empty() ? condition(depth + 1) : "(" + t + " == \"abc\")";
      }
      case 4: {
        const std::string o = any_name('o');
        return o.empty() ? condition(depth + 1) : "(" + o + " != none)";
      }
      default: {
        static const char* const ops[] = {" < ", " == ", " >= ", " != "};
        // An int on the left: constants on both sides would be told as such.
        return "(" + integer(1) + ops[pick(4)] + integer(1) + ")";
      }
    }
  }

  std::string call() {
    const int f = pick(callable_);
    return "f" + std::to_string(f) + "(" + integer(1) + ", " + condition(1) + ")";
  }

  void print_all() {
    std::string list = "\"" + std::to_string(count_) + "\"";
    int shown = 0;
    for (const name& n : names_) {
      if (n.kind == 'p') {
        list += ", \" \", " + n.text + ".a, \" \", " + n.text + ".b, " + n.text + ".t, " + n.text +
                ".o or -1";
      } else if (n.kind == 'o') {
        list += ", \" \", " + n.text + " or -2";
      } else {
        list += ", \" \", " + n.text;
      }
      if (++shown == 8) break;
    }
    line("log.print(" + list + ")");
  }

  template <class F>
  void nested(const std::string& head, F&& body) {
    line(head + " {");
    ++depth_;
    const std::size_t mark = names_.size();
    body();
    names_.resize(mark);
    --depth_;
  }
  void close(const std::string& tail = "") { line("}" + tail); }

  void make_some() {
    const int n = 1 + pick(3);
    for (int i = 0; i != n; ++i) make_statement();
  }

  void declare(char kind) {
    const std::string n = fresh(kind);
    const bool changes = chance(70);
    std::string v;
    switch (kind) {
      case 'i':
        v = chance(30) && callable_ != 0 ? call_value() : integer();
        break;
      case 'u':
        v = "u8(" + integer(1) + " & 255)";
        break;
      case 'b':
        v = condition();
        break;
      case 't':
        v = chance(50) ? "text<12>(\"abc\")" : "text<12>(\"\")";
        break;
      case 'p':
        v = "pair(a: " + integer(1) + ", b: " + std::to_string(pick(256)) +
            (chance(50) ? ", t: text<12>(\"t\")" : "") + (chance(50) ? ", o: " + integer(1) : "") +
            ")";
        break;
      case 's':
        v = chance(50) ? "shade.light" : "shade.dark";
        break;
      default:
        line(std::string(changes ? "var " : "let ") + n +
             ": ?int = " + (chance(50) ? "none" : integer(1)));
        names_.push_back({n, 'o', changes});
        line("let _ = " + n + " == none");
        return;
    }
    line(std::string(changes ? "var " : "let ") + n + (kind == 'i' ? ": int" : "") + " = " + v);
    names_.push_back({n, kind, changes});
    line(kind == 'p' ? "let _ = " + n + ".a" : "let _ = " + n);
  }

  std::string call_value() {
    if (may_fail_ && chance(35)) return "try " + call();
    return call() + " or " + integer(2);
  }

  void make_statement() {
    if (depth_ > 4) {
      print_all();
      return;
    }
    static constexpr int simple_cases[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 19, 24, 25, 26};
    switch (simple_ ? simple_cases[pick(13)] : pick(29)) {
      case 0:
      case 1:
      case 2:
        return declare("iubtpso"[pick(simple_ ? 3 : 7)]);
      case 3:
      case 4: {
        const std::string x = any_name('i', true);
        if (x.empty()) return declare('i');
        return line(x + (chance(20) ? " += " + std::to_string(pick(9)) : " = " + integer()));
      }
      case 5: {
        nested("if " + condition(), [&] { make_some(); });
        if (chance(50)) {
          out_.resize(out_.size());
          line("} else {");
          ++depth_;
          const std::size_t mark = names_.size();
          make_some();
          names_.resize(mark);
          --depth_;
        }
        return close();
      }
      case 6: {
        const std::string i = fresh('i');
        nested("for " + i + " in 0.." + std::to_string(1 + pick(4)), [&] {
          names_.push_back({i, 'i', false});
          line("let _ = " + i);
          make_some();
          if (chance(25)) line("if " + condition() + " { break }");
          if (chance(25)) line("if " + condition() + " { continue }");
          make_statement();
        });
        return close();
      }
      case 7: {
        const std::string s = any_name('s');
        if (s.empty()) return declare('s');
        nested("match " + s, [&] {
          line("light => { log.print(\"light\") }");
          line("dark, none_of_it => { log.print(" + integer(1) + ") }");
        });
        return close();
      }
      case 8:
        if (callable_ == 0) return declare('i');
        return line("let _ = " + call_value());
      case 9: {
        if (callable_ == 0) return declare('b');
        const std::string e = fresh('e');
        nested(call() + " or " + e, [&] {
          line("log.print(\"handled \", " + e + ")");
          if (chance(40)) make_statement();
        });
        return close();
      }
      case 10:
        return line("defer log.print(\"defer " + std::to_string(++count_) + "\")");
      case 11: {
        const int ms = 1 + pick(4);
        nested("within " + std::to_string(ms) + "ms", [&] {
          line("time.sleep(" + std::to_string(2 * pick(5)) +
               "ms) or e { log.print(\"slept \", e) }");
          if (chance(50)) make_statement();
        });
        return close();
      }
      case 12: {
        if (!has_channel_) return declare('i');
        line("ch.try_send(" + integer(1) + ") or e { log.print(e) }");
        if (chance(60)) line("log.print(\"got \", ch.try_receive() or -1)");
        return;
      }
      case 13: {
        if (!has_channel_) return declare('u');
        nested("any", [&] {
          const std::string x = fresh('i');
          line(x + " = ch.receive() => log.print(\"any \", " + x + ")");
          line("after " + std::to_string(1 + pick(3)) + "ms => log.print(\"after\")");
        });
        return close();
      }
      case 14: {
        if (callable_ == 0 || !may_fail_ || in_action_) return declare('i');
        const std::string a = fresh('j'), b = fresh('j');
        nested("scope", [&] {
          line("let " + a + " = spawn g(" + std::to_string(pick(5)) + ", " +
               std::to_string(pick(9)) + ")");
          line("let " + b + " = spawn g(" + std::to_string(pick(5)) + ", " +
               std::to_string(pick(9)) + ")");
          if (chance(80))
            line("log.print(\"jobs \", " + b + ".join() or -3, \" \", " + a + ".join() or -4)");
          if (chance(20)) line("if " + condition() + " { fail error.leaves }");
        });
        return close();
      }
      case 15: {
        const std::string t = any_name('t', true);
        if (t.empty()) return declare('t');
        line(t + ".append(\"xyz\") or e { log.print(e) }");
        return line("log.print(" + t + ", " + t + "[0.." + std::to_string(pick(3)) + "])");
      }
      case 16: {
        const std::string p = any_name('p', true);
        if (p.empty()) return declare('p');
        switch (pick(3)) {
          case 0:
            return line(p + ".a = " + integer());
          case 1:
            return line(p + " = pair(a: " + p + ".a +% 1, b: " + p + ".b +% 1, t: " + p + ".t)");
          default:
            return line(p + ".o = " + (chance(50) ? "none" : integer(1)));
        }
      }
      case 17: {
        if (!has_channel_) return declare('b');
        line("buf.put(" + integer(1) + ", \",\") or e {");
        ++depth_;
        line("log.print(e)");
        line("buf.clear()");
        --depth_;
        close();
        const std::string v = fresh('v');
        line("let " + v + " = buf.filled()");
        return line("log.print(" + v + ".len, \" \", " + v + ".find(\",\") or -1, " + v + ")");
      }
      case 18: {
        const std::string o = any_name('o');
        if (o.empty()) return declare('o');
        const std::string m = fresh('i');
        nested("if let " + m + " = " + o, [&] {
          names_.push_back({m, 'i', false});
          line("log.print(\"held \", " + m + ")");
        });
        return close();
      }
      case 20: {
        if (callable_ == 0 || !may_fail_ || in_action_) return declare('o');
        const std::string x = fresh('w'), y = fresh('w');
        line("var " + x + ": ?int = " + (chance(50) ? "none" : integer(1)));
        line("var " + y + ": ?int = none");
        nested("wait", [&] {
          line("spawn h(" + std::to_string(pick(4)) + ", " + std::to_string(pick(9)) + ", event(" +
               x + "))");
          line("let e_" + y + " = event(" + y + ")");
          if (chance(70)) line("e_" + y + ".trigger(" + integer(1) + ")");
          line("let _ = e_" + y);
          if (chance(30)) make_statement();
          if (chance(20)) line("if " + condition() + " { fail error.leaves }");
        });
        close();
        return line("log.print(\"events \", " + x + " or -5, \" \", " + y + " or -6)");
      }
      case 21: {
        if (!may_fail_) return declare('i');
        const std::string r = fresh('r');
        line("let " + r + " = try rendezvous<int>()");
        const int count = 1 + pick(3);
        for (int i = 0; i != count; ++i) {
          const std::string e = fresh('e');
          const bool valued = chance(50);
          line("let " + e + " = try " + r + (valued ? ".event()" : ".signal(" + integer(1) + ")"));
          line(e + ".trigger(" + (valued ? integer(1) : "") + ")");
          line("log.print(\"joined \", " + r + ".join() or -7)");
        }
        return line(r + ".join() or e" + r + " { log.print(e" + r + ") }");
      }
      case 19: {
        const std::string n = fresh('n');
        line("var " + n + " = 0");
        nested("while " + n + " < " + std::to_string(2 + pick(60)), [&] {
          line(n + " += 1");
          if (chance(50)) line("if " + n + " % 7 == 3 { continue }");
          if (chance(20)) line("time.pause() or { break }");
          if (chance(10)) make_statement();
        });
        return close();
      }
      case 25:
      case 26:
      case 27:
        return make_action();
      default:
        return print_all();
    }
  }

  /// A call of a function that takes an action. The action changes variables around it, ends early,
  /// waits, fails, and makes such calls itself.
  void make_action() {
    const int which = pick(3);
    const bool fails = which != 0;
    const std::string n = fresh('i');
    const std::string count = std::to_string(pick(4));
    const std::string head = which == 0   ? "repeat(" + count
                             : which == 1 ? "let " + n + " = gather(" + count
                                          : "let " + n + " = guarded(" + condition(1);
    const bool outer_fails = std::exchange(may_fail_, fails);
    const bool outer_in = std::exchange(in_action_, true);
    nested(head + ", fn()", [&] {
      make_some();
      if (chance(30))
        line("if " + condition() + " { return" + (fails ? " " + integer(1) : "") + " }");
      if (fails && chance(30)) line("if " + condition() + " { fail error.acts }");
      if (fails && chance(15)) line("try time.pause()");
      if (fails) line("return " + integer(1));
    });
    may_fail_ = outer_fails;
    in_action_ = outer_in;
    if (!fails) return close(")");
    close(") or " + integer(2));
    names_.push_back({n, 'i', false});
    line("let _ = " + n);
  }

  static constexpr const char* actions_text = R"(fn repeat(n: int, step: fn()) {
    for _ in 0..n { step() }
}

fn gather(n: int, step: fn() -> int!) -> int! {
    var sum = 0
    for i in 0..n {
        sum = sum +% try step()
        repeat(i, fn() { sum = sum +% 1 })
        if sum == 7 { return -7 }
    }
    return sum
}

fn guarded(twice: bool, step: fn() -> int!) -> int! {
    let first = step() or e {
        log.print("guarded ", e)
        fail e
    }
    if !twice { return first }
    return first +% try gather(2, step)
}

)";

  void make_function(int i) {
    if (i == 0 && !simple_) {
      out_ +=
          "fn g(ms: int, n: int) -> int! {\n    if n == 7 { fail error.seven }\n"
          "    time.sleep(1ms * ms) or e {\n        fail e\n    }\n    return n * 2\n}\n\n"
          "thread h(ms: int, n: int, done: event<int>) {\n"
          "    time.sleep(1ms * ms) or { return }\n    if n == 7 { return }\n"
          "    done.trigger(n * 3)\n    done.trigger(n)\n}\n\n";
    }
    const std::string n = std::to_string(i);
    static const char* const heads[] = {"fn f", "fn f", "apart fn f"};
    const bool waits = chance(70);
    out_ += (waits ? heads[pick(3)] : "fn f") + n + "(x: int, y: bool) -> int! {\n";
    depth_ = 1;
    callable_ = i;
    may_fail_ = true;
    has_channel_ = false;
    names_ = {{"x", 'i', false}, {"y", 'b', false}};
    if (waits) line("try time.pause()");
    const int count = 1 + pick(4);
    for (int k = 0; k != count; ++k) make_statement();
    if (chance(40))
      line("if " + condition() + " { fail error.bad" + std::to_string(pick(2)) + " }");
    line("let _ = x");
    line("if y { return " + integer() + " }");
    line("return " + integer());
    out_ += "}\n\n";
  }

  std::mt19937_64 random_;
  std::string out_;
  std::vector<name> names_;
  int depth_ = 0;
  int functions_ = 0;
  int callable_ = 0;
  int count_ = 0;
  bool may_fail_ = false;
  bool has_channel_ = false;
  bool simple_ = false;
  bool in_action_ = false;  // where no job is started
};

}  // namespace heddle::test
