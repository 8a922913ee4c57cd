// SPDX-License-Identifier: MIT
// Programs in Draft about values, from a seed: integers of all widths, records, arrays, enums,
// optionals, loops, match, defers, calls that fail, faults, jobs. A value_batch puts many programs
// into one module, so that the C compiler reads its headers once.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

/// The functions of one program; the entry is pN, which rN runs as a job.
class value_program {
 public:
  explicit value_program(std::uint64_t seed)
      : random_(seed), prefix_("p" + std::to_string(seed)), seed_(seed) {}

  /// What all programs of a module share.
  static std::string head() {
    return "module values\nuse log\nuse time\n\n"
           "record pair { a: int, b: u8, c: i16, err: error, o: ?int }\n"
           "record nest { p: pair, n: [3]u16 }\n"
           "enum shade: u8 { light, dark = 7, dim }\n"
           "fn no(n: int) -> int! {\n    if n % 3 == 1 { fail error.third }\n    return n\n}\n"
           "fn bump(var n: u8, by: u8) -> u8! {\n    n += by\n"
           "    if n > 200 { fail error.large }\n    return n\n}\n\n";
  }

  std::string make() {
    out_.clear();
    functions_ = 1 + pick(3);
    for (int i = 0; i != functions_; ++i) make_function(i);
    const std::string n = std::to_string(seed_);
    callable_ = functions_;
    begin(prefix_ + "(seed: int) -> int!", "fn ");
    names_.push_back({"seed", "int", false});
    make_block_body(5 + pick(8));
    show();
    line("return " + expression("int", 1));
    end();
    out_ += "apart fn r" + n + "() -> ! {\n    log.print(\"== " + n +
            "\")\n    try time.pause()\n    scope {\n        let j = spawn " + prefix_ + "(" +
            std::to_string(pick(300)) +
            ")\n        let got = j.join() or e {\n            log.print(\"ended \", e)\n"
            "            return\n        }\n        log.print(\"gave \", got)\n    }\n}\n\n";
    return out_;
  }
  [[nodiscard]] std::string call() const { return "    try r" + std::to_string(seed_) + "()\n"; }
  /// A module of this program alone.
  std::string alone() {
    const std::string body = make();
    return head() + body + "main() -> ! {\n" + call() + "}\n";
  }

 private:
  struct name {
    std::string text;
    std::string type;
    bool changes;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  static bool is_signed(const std::string& t) { return t == "int" || t[0] == 'i'; }
  static int bits(const std::string& t) { return t == "int" ? 64 : std::stoi(t.substr(1)); }
  std::string any_type() {
    static const char* const list[] = {"int", "int", "int", "i8",  "i16",
                                       "i32", "u8",  "u16", "u32", "u64"};
    return list[pick(10)];
  }
  void line(const std::string& s) {
    out_ += std::string(static_cast<std::size_t>(4 * depth_), ' ') + s + "\n";
  }
  std::string fresh(const char* base) { return base + std::to_string(++count_) + "_"; }

  void begin(const std::string& head, const char* word) {
    out_ += word + head + " {\n";
    depth_ = 1;
    loops_ = 0;
    names_.clear();
  }
  void end() { out_ += "}\n\n"; }

  std::string any_name(const std::string& type, bool changes = false) {
    std::vector<const name*> fit;
    for (const name& n : names_)
      if (n.type == type && (n.changes || !changes)) fit.push_back(&n);
    return fit.empty() ? std::string()
                       : fit[static_cast<std::size_t>(pick(static_cast<int>(fit.size())))]->text;
  }
  /// Of a number: a variable, a field, an element. Empty if there is none.
  std::string place(const std::string& type, bool changes) {
    std::vector<std::string> fit;
    const auto add = [&](const std::string& s) { fit.push_back(s); };
    for (const name& n : names_) {
      if (changes && !n.changes) continue;
      if (n.type == type) add(n.text);
      if (n.type == "pair" && type == "int") add(n.text + ".a");
      if (n.type == "pair" && type == "u8") add(n.text + ".b");
      if (n.type == "pair" && type == "i16") add(n.text + ".c");
      if (n.type == "nest" && type == "int") add(n.text + ".p.a");
      if (n.type == "nest" && type == "u16") add(n.text + ".n[" + index() + "]");
      if (n.type == "[4]" + type) add(n.text + "[" + index() + "]");
    }
    return fit.empty() ? std::string()
                       : fit[static_cast<std::size_t>(pick(static_cast<int>(fit.size())))];
  }
  std::string index() {
    const std::string x = any_name("int");
    if (x.empty() || chance(40)) return std::to_string(pick(3));
    return chance(90) ? "(" + x + " & 1)" : x;
  }

  std::string literal(const std::string& t) {
    static const char* const small[] = {"0", "1", "2", "3", "7", "100"};
    if (chance(70)) return small[pick(6)];
    const int b = bits(t);
    if (is_signed(t)) {
      const std::uint64_t most = (std::uint64_t{1} << (b - 1)) - 1;
      return chance(50) ? std::to_string(most - static_cast<std::uint64_t>(pick(2)))
                        : "-" + std::to_string(most);
    }
    return std::to_string((b == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << b) - 1) -
                          static_cast<std::uint64_t>(pick(2)));
  }

  /// Never a constant: two constants would be computed by the compiler, which refuses faults.
  std::string variable(const std::string& t) {
    const std::string p = place(t, false);
    if (!p.empty()) return p;
    const std::string x = any_name("int");
    return t == "int" ? "seed" : t + "(" + (x.empty() ? "seed" : x) + " & 15)";
  }

  std::string expression(const std::string& t, int depth) {
    if (depth > 3 || chance(20)) return chance(30) ? literal(t) : variable(t);
    const auto left = [&] { return changing(t, depth + 1); };
    const auto right = [&] { return expression(t, depth + 1); };
    const auto drawn = pick(18);
    // Binary operators without conditions on their operands, by the number that draws each.
    static constexpr const char* plain[18] = {" + ", " - ",   " * ",  nullptr, " & ", " | ",
                                              " ^ ", nullptr, " +% ", " -% ",  " *% "};
    if (const char* const op = plain[drawn]) return "(" + left() + op + right() + ")";
    switch (drawn) {
      case 3:
        return "(" + left() + (chance(50) ? " / " : " % ") + "(" + changing(t, depth + 1) +
               " | 1))";
      case 7:
        return "(" + left() + (chance(50) ? " << " : " >> ") +
               (chance(80) ? std::to_string(pick(bits(t))) : "(" + variable("int") + " & 31)") +
               ")";
      case 11:
        return is_signed(t) ? "(-" + left() + ")" : "(~" + left() + ")";
      case 12:
        return "(~" + left() + ")";
      case 13: {
        const std::string from = any_type();
        const std::string x = changing(from, depth + 1);
        return chance(60) ? t + "(" + x + " & 63)" : t + "(" + x + ")";
      }
      case 14: {
        if (t != "int") return variable(t);
        const std::string o = any_name("?int");
        return o.empty() ? variable(t) : "(" + o + " or " + right() + ")";
      }
      case 15:
        if (t != "int" || defers_ != 0) return variable(t);
        return "(no(" + changing("int", depth + 1) + ") or " + right() + ")";
      case 16: {
        const std::string n = t == "u16" ? any_name("nest") : std::string();
        return n.empty() ? variable(t) : n + ".n[" + index() + "]";
      }
      default:
        return variable(t);
    }
  }
  std::string changing(const std::string& t, int depth) {
    return depth > 3 || chance(50)
               ? variable(t)
               : "(" + variable(t) + (chance(50) ? " ^ " : " +% ") + expression(t, depth + 1) + ")";
  }

  std::string condition(int depth = 0) {
    const std::string b = any_name("bool");
    if (!b.empty() && chance(15)) return b;
    switch (depth > 2 ? 5 : pick(10)) {
      case 0:
      case 1:
        return "!(" + condition(depth + 1) + ")";
      case 2:
      case 3:
        return "(" + condition(depth + 1) + " && " + condition(depth + 1) + ")";
      case 4:
        return "(" + condition(depth + 1) + " || " + condition(depth + 1) + ")";
      case 6: {
        const std::string o = any_name("?int");
        if (!o.empty()) return "(" + o + (chance(50) ? " == none)" : " != none)");
        break;
      }
      case 7: {
        const std::string s = any_name("shade");
        if (!s.empty()) return "(" + s + (chance(50) ? " == shade.dark)" : " != shade.light)");
        break;
      }
      case 8:
        if (!b.empty()) return "(" + b + " == " + condition(depth + 1) + ")";
        break;
      default:
        break;
    }
    static const char* const ops[] = {" < ", " == ", " >= ", " != ", " > ", " <= "};
    const std::string t = any_type();
    return "(" + changing(t, 2) + ops[pick(6)] + expression(t, 2) + ")";
  }

  std::string call(int f) {
    const auto& s = signatures_[static_cast<std::size_t>(f)];
    std::string list;
    for (const std::string& t : s) list += (list.empty() ? "" : ", ") + expression(t, 2);
    return prefix_ + "_f" + std::to_string(f) + "(" + list + ")";
  }

  void show() {
    std::string list = "\"" + std::to_string(++count_) + "\"";
    int shown = 0;
    for (auto n = names_.rbegin(); n != names_.rend() && shown != 7; ++n, ++shown) {
      const std::string& x = n->text;
      if (n->type == "pair")
        list += ", \" \", " + x + ".a, \" \", " + x + ".b, \" \", " + x + ".c, " + x + ".o or -1";
      else if (n->type == "nest")
        list += ", \" \", " + x + ".p.a, \" \", " + x + ".n[2]";
      else if (n->type == "?int")
        list += ", \" \", " + x + " or -2";
      else if (n->type == "shade")
        list += ", \" \", u8(" + x + ")";
      else if (n->type[0] == '[')
        list += ", \" \", " + x + "[0], \" \", " + x + "[3]";
      else
        list += ", \" \", " + x;
    }
    line("log.print(" + list + ")");
  }

  template <class F>
  void braces(const std::string& head, F&& body, const std::string& tail = "}") {
    line(head + " {");
    ++depth_;
    const std::size_t mark = names_.size();
    body();
    names_.resize(mark);
    --depth_;
    line(tail);
  }
  void make_block_body(int count) {
    for (int i = 0; i != count; ++i) make_statement();
  }

  void declare() {
    const bool changes = chance(75);
    const std::string word = changes ? "var " : "let ";
    switch (pick(12)) {
      case 0: {
        const std::string n = fresh("b");
        line(word + n + " = " + condition());
        return keep(n, "bool", changes);
      }
      case 1: {
        const std::string n = fresh("p");
        line(word + n + " = " + record());
        return keep(n, "pair", changes);
      }
      case 2: {
        const std::string t = any_type(), n = fresh("l");
        line(word + n + ": [4]" + t + " = " + list(t));
        return keep(n, "[4]" + t, changes);
      }
      case 3: {
        const std::string n = fresh("o");
        line(word + n + ": ?int = " + (chance(50) ? "none" : expression("int", 2)));
        return keep(n, "?int", changes);
      }
      case 4: {
        const std::string n = fresh("s");
        line(word + n + " = shade." + (chance(50) ? "dark" : chance(50) ? "dim" : "light"));
        return keep(n, "shade", changes);
      }
      case 5: {
        const std::string n = fresh("n");
        line(word + n + " = nest(p: " + record() + ")");
        return keep(n, "nest", changes);
      }
      case 6: {
        if (callable_ == 0) break;
        const std::string n = fresh("c");
        const std::string made = call(pick(callable_));
        line(word + n + " = " +
             (chance(50) ? "try " + made : made + " or " + expression("int", 2)));
        return keep(n, "int", changes);
      }
      default:
        break;
    }
    const std::string t = any_type(), n = fresh("v");
    line(word + n + ": " + t + " = " + expression(t, 1));
    keep(n, t, changes);
  }
  void keep(const std::string& n, const std::string& t, bool changes) {
    names_.push_back({n, t, changes});
    line("let _ = " + n + (t == "pair" ? ".a" : t == "nest" ? ".p.b" : t[0] == '[' ? "[1]" : ""));
  }
  std::string record() {
    return "pair(a: " + expression("int", 2) + ", b: " + expression("u8", 2) +
           (chance(50) ? ", c: " + expression("i16", 2) : "") +
           (chance(30) ? ", err: error.made" : "") +
           (chance(40) ? ", o: " + expression("int", 3) : "") + ")";
  }
  std::string list(const std::string& t) {
    return "[" + expression(t, 2) + ", " + expression(t, 2) + ", " + expression(t, 3) + ", " +
           expression(t, 3) + "]";
  }

  void assign() {
    static const char* const ops[] = {" += ", " -= ", " *= ", " = ", " = ", " = "};
    switch (pick(6)) {
      case 0: {
        const std::string p = any_name("pair", true);
        if (p.empty()) break;
        if (chance(50)) return line(p + " = " + record());
        return line(p + ".o = " + (chance(50) ? "none" : expression("int", 2)));
      }
      case 1: {
        const std::string t = any_type(), l = any_name("[4]" + t, true);
        if (l.empty()) break;
        return line(l + " = " + list(t));
      }
      case 2: {
        const std::string b = any_name("bool", true);
        if (b.empty()) break;
        return line(b + " = " + condition());
      }
      case 3: {
        const std::string u = any_name("u8", true);
        if (u.empty()) break;
        return line("bump(" + u + ", " + expression("u8", 2) +
                    ") or e { log.print(\"bump \", e) }");
      }
      default:
        break;
    }
    for (int i = 0; i != 4; ++i) {
      const std::string t = any_type(), to = place(t, true);
      if (to.empty()) continue;
      return line(to + ops[pick(6)] + expression(t, 1));
    }
    declare();
  }

  void make_statement() {
    if (depth_ > 4) return show();
    switch (pick(24)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return declare();
      case 4:
      case 5:
      case 6:
      case 7:
        return assign();
      case 8:
      case 9:
        braces(
            "if " + condition(), [&] { make_block_body(1 + pick(2)); },
            chance(50) ? "}" : "} else {");
        if (out_.ends_with("else {\n")) {
          ++depth_;
          const std::size_t mark = names_.size();
          make_block_body(1 + pick(2));
          names_.resize(mark);
          --depth_;
          line("}");
        }
        return;
      case 10: {
        const std::string i = fresh("i");
        return braces(
            "for " + i + " in " + std::to_string(pick(2)) + ".." +
                (chance(70) ? std::to_string(2 + pick(3)) : "(" + variable("int") + " & 3)"),
            [&] {
              ++loops_;
              names_.push_back({i, "int", false});
              line("let _ = " + i);
              make_block_body(1 + pick(2));
              if (chance(30)) line("if " + condition() + " { break }");
              if (chance(30)) line("if " + condition() + " { continue }");
              make_statement();
              --loops_;
            });
      }
      case 11: {
        const std::string n = fresh("w");
        line("var " + n + " = 0");
        return braces("while " + n + " < " + std::to_string(1 + pick(4)) + " && " + condition(1),
                      [&] {
                        line(n + " += 1");
                        make_block_body(1 + pick(2));
                      });
      }
      case 12: {
        const std::string t = any_type();
        return braces("match " + changing(t, 2) + " & 3", [&] {
          line("0 => {");
          arm();
          line("1, 2 => {");
          arm();
          line("else => log.print(\"else\")");
        });
      }
      case 13: {
        const std::string s = any_name("shade");
        if (s.empty()) return declare();
        return braces("match " + s, [&] {
          line("light => {");
          arm();
          line("dark => log.print(\"dark\")");
          line("dim => {");
          arm();
        });
      }
      case 14: {
        ++defers_;
        std::string list = "\"d" + std::to_string(++count_) + "\"";
        int shown = 0;
        for (auto n = names_.rbegin(); n != names_.rend() && shown != 4; ++n)
          if (n->type[0] != '[' && n->type != "pair" && n->type != "nest" && n->type != "?int" &&
              n->type != "shade") {
            list += ", \" \", " + n->text;
            ++shown;
          }
        for (const name& n : names_)
          if (n.type == "pair" || n.type[0] == '[') {
            list +=
                ", \" \", " + n.text + (n.type == "pair" ? ".a, \" \", " + n.text + ".b" : "[1]");
            break;
          }
        --defers_;
        return line("defer log.print(" + list + ")");
      }
      case 15:
      case 16: {
        if (callable_ == 0) return declare();
        const std::string e = fresh("e");
        return braces("let _ = " + call(pick(callable_)) + " or " + e, [&] {
          line("log.print(\"handled \", " + e + ")");
          if (chance(50)) make_statement();
          line(chance(50) || loops_ == 0 ? "return " + expression("int", 2)
               : chance(50)              ? "break"
                                         : "continue");
        });
      }
      case 17: {
        if (callable_ == 0) return declare();
        return line("let _ = try " + call(pick(callable_)));
      }
      case 18: {
        const std::string p = any_name("pair");
        line("if " + condition() + " { fail " +
             (p.empty() || chance(50) ? "error.stop" : p + ".err") + " }");
        return;
      }
      case 19: {
        const std::string o = any_name("?int");
        if (o.empty()) return declare();
        const std::string m = fresh("h");
        return braces("if let " + m + " = " + o, [&] {
          names_.push_back({m, "int", false});
          line("log.print(\"held \", " + m + ")");
          make_statement();
        });
      }
      case 20:
        if (callable_ == 0) return declare();
        return braces("scope", [&] {
          const std::string j = fresh("j");
          // Joined at once: what both print would come in any order.
          line("let " + j + " = spawn " + call(pick(callable_)));
          line("log.print(\"job \", " + j + ".join() or -1)");
        });
      case 21:
        if (!waits_) return declare();
        return line("time.pause() or { return " + expression("int", 2) + " }");
      case 22:
        if (loops_ != 0 || depth_ == 1) return declare();
        return line("if " + condition() + " { return " + expression("int", 1) + " }");
      default:
        return show();
    }
  }
  void arm() {
    ++depth_;
    const std::size_t mark = names_.size();
    make_block_body(1 + pick(2));
    names_.resize(mark);
    --depth_;
    line("}");
  }

  void make_function(int i) {
    callable_ = i;
    waits_ = chance(40);
    std::vector<std::string> types;
    std::string list;
    const int count = 1 + pick(3);
    for (int k = 0; k != count; ++k) {
      types.push_back(any_type());
      list += (list.empty() ? "" : ", ") + ("a" + std::to_string(k)) + ": " + types.back();
    }
    signatures_.push_back(types);
    begin(prefix_ + "_f" + std::to_string(i) + "(" + list + ", seed: int) -> int!", "fn ");
    signatures_.back().push_back("int");
    names_.push_back({"seed", "int", false});
    for (int k = 0; k != count; ++k)
      names_.push_back({"a" + std::to_string(k), types[static_cast<std::size_t>(k)], false});
    if (waits_) line("try time.pause()");
    make_block_body(2 + pick(5));
    if (chance(30)) line("if " + condition() + " { fail error.f" + std::to_string(i) + " }");
    line("return " + expression("int", 0));
    end();
    waits_ = false;
  }

  std::mt19937_64 random_;
  std::string prefix_;
  std::uint64_t seed_;
  std::string out_;
  std::vector<name> names_;
  std::vector<std::vector<std::string>> signatures_;
  int functions_ = 0;
  int callable_ = 0;
  int depth_ = 0;
  int count_ = 0;
  int loops_ = 0;
  int defers_ = 0;
  bool waits_ = false;
};

}  // namespace heddle::test
