// SPDX-License-Identifier: MIT
// A program in Draft with every prefix and infix operator inside of every other one, on both sides.
// A back end that forgets brackets, or gives an operator another strength, prints something else.
#pragma once

#include <string>
#include <vector>

namespace heddle::test {

class operator_table {
 public:
  /// `type` is the integer type of the operands. Of narrow types only those operators are used
  /// that are no fault with any operand.
  explicit operator_table(std::string type) : type_(std::move(type)) {
    const bool wide = type_ == "int";
    for (const char* op : {"+%", "-%", "*%", "&", "|", "^"}) add({op, 'i', 'i'});
    if (wide)
      for (const char* op : {"+", "-", "*", "/", "%", "<<", ">>"}) add({op, 'i', 'i'});
    for (const char* op : {"==", "!=", "<", "<=", ">", ">="}) add({op, 'i', 'b'});
    for (const char* op : {"==", "!=", "&&", "||"}) add({op, 'b', 'b'});
    prefixes_ = {{"~", 'i', 'i'}, {"!", 'b', 'b'}};
    if (wide) prefixes_.push_back({"-", 'i', 'i'});
  }

  std::string make() {
    for (const row& outer : infixes_) {
      for (const row& inner : infixes_) {
        if (outer.takes != inner.gives) continue;
        const std::string in = joined(inner);
        add_line("(" + in + ") " + outer.op + " " + leaf(outer, false));
        add_line(leaf(outer, true) + " " + outer.op + " " + right(outer, "(" + in + ")"));
      }
      for (const row& inner : prefixes_) {
        if (outer.takes != inner.gives) continue;
        const std::string in = inner.op + (inner.takes == 'b' ? "p" : "x");
        add_line("(" + in + ") " + outer.op + " " + leaf(outer, false));
        add_line(leaf(outer, true) + " " + outer.op + " " + right(outer, "(" + in + ")"));
      }
    }
    for (const row& outer : prefixes_) {
      for (const row& inner : infixes_)
        if (outer.takes == inner.gives) add_line(outer.op + "(" + joined(inner) + ")");
      for (const row& inner : prefixes_)
        if (outer.takes == inner.gives)
          add_line(outer.op + "(" + inner.op + (inner.takes == 'b' ? "p" : "x") + ")");
    }
    // Three deep, as `!((a && b) || c >= d)`.
    for (const char* a : {"&&", "||", "==", "!="})
      for (const char* b : {"&&", "||", "==", "!="})
        for (const char* c : {"<", ">=", "=="}) {
          const std::string left = "((x < z) " + std::string(a) + " q)",
                            compared = "(x " + std::string(c) + " y)";
          add_line("!(" + left + " " + std::string(b) + " " + compared + ")");
          add_line("!(" + compared + " " + b + " " + left + ")");
          add_line("p " + std::string(a) + " !(" + compared + " " + b + " " + left + ")");
        }
    std::string out = "module operators\nuse log\n";
    std::string calls;
    for (std::size_t i = 0; i < lines_.size(); i += 40) {
      const std::string n = std::to_string(i / 40);
      out += "fn t" + n + "(x: " + type_ + ", y: " + type_ + ", z: " + type_ +
             ", p: bool, q: bool, r: bool) {\n    let _ = p && q && r && x == y && z == y\n";
      for (std::size_t k = i; k < lines_.size() && k < i + 40; ++k)
        out += "    log.print(\"" + std::to_string(k) + " \", " + lines_[k] + ")\n";
      out += "}\n";
      const char* const first = type_[0] == 'u' ? "200" : "-37";
      calls += "    t" + n + "(31, 2, 13, true, false, true)\n    t" + n + "(" + first +
               ", 3, 11, false, true, false)\n";
    }
    return out + "main() -> ! {\n" + calls + "}\n";
  }

 private:
  struct row {
    std::string op;
    char takes;
    char gives;
  };

  void add(row r) { infixes_.push_back(std::move(r)); }
  static std::string leaf(const row& outer, bool left) {
    if (outer.takes == 'b') return left ? "r" : "q";
    return outer.op == "<<" || outer.op == ">>" ? "2" : "z";
  }
  /// The right side of a shift stays in its bounds.
  static std::string right(const row& outer, const std::string& s) {
    const bool shifts = outer.op == "<<" || outer.op == ">>";
    return shifts ? "(" + s + " & 3)" : s;
  }
  /// The operator between two variables of its type.
  static std::string joined(const row& op) {
    return op.takes == 'b' ? "p " + op.op + " q" : "x " + op.op + " y";
  }
  void add_line(const std::string& s) { lines_.push_back(s); }

  std::string type_;
  std::vector<row> infixes_;
  std::vector<row> prefixes_;
  std::vector<std::string> lines_;
};

}  // namespace heddle::test
