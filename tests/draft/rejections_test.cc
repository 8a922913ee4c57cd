// SPDX-License-Identifier: MIT
// The fourteen rules: for each a program that breaks it, and one beside it that does not.
#include "compile_text.hh"
#include "draft/codes.hh"
#include "support/test.hh"

using heddle::test::codes_of;

namespace {

/// The statements as the body of a thread with a connection, a buffer and a channel.
std::string in_thread(const std::string& body) {
  return "use net\nuse time\nuse log\n"
         "record point { x: int, y: int }\nenum shade { light, dark }\n"
         "thread other(c: conn) { try c.readable() }\n"
         "fn borrow(c: conn) -> ! { try c.readable() }\n"
         "fn change(var b: buffer) -> ! { b.clear()\n try time.sleep(1s) }\n"
         "fn count(v: view) -> int { return v.len }\n"
         "fn borrow_len(b: buffer) { log.print(b.len) }\nthread number(n: int) { log.print(n) }\n"
         "fn both(var x: bytes, y: bytes) -> ! { x = try y.copy() }\n"
         "fn shown(v: view) -> ! { try time.sleep(1ms)\n log.print(v) }\n"
         "thread t(c: conn, ch: channel<int>) {\n var buf = try buffer(16)\n buf.clear()\n let _ = "
         "ch\n" +
         body + "\n}\n";
}

void check(const char* body, const char* codes) {
  EXPECT_EQ(codes_of(in_thread(body)), codes) << body;
}

}  // namespace

HEDDLE_TEST(draft_rules, "1: nothing is used after it was moved, closed or spawned") {
  check("spawn other(c)\ntry c.write(\"x\")", "D0101");
  check("c.close()\ntry c.write(\"x\")", "D0101");
  check("let d = move c\ntry c.write(\"x\")", "D0101");
  check("if buf.len == 0 { spawn other(c) }\ntry c.write(\"x\")", "D0102");
  check("loop {\n spawn other(c)\n try time.sleep(1s)\n}", "D0102");
  check("if buf.len == 0 { spawn other(c)\n return }\ntry c.write(\"x\")", "");
  check("spawn other(c) color c", "");
}

HEDDLE_TEST(draft_rules, "2: what a job borrows is left alone until its scope ends") {
  check("scope {\n spawn borrow(c)\n try c.readable()\n}", "D0201");
  check("scope {\n spawn borrow(c)\n c.close()\n}", "D0201");
  check("scope {\n spawn change(buf)\n log.print(buf.len)\n}", "D0201");
  check("scope {\n spawn borrow(c)\n spawn borrow(c)\n}\ntry c.readable()", "");
}

HEDDLE_TEST(draft_rules, "3: a view's owner does not change while the view is alive") {
  check("let v = buf.filled()\nbuf.consume(0)\nlog.print(v)", "D0301");
  check("let v = buf.filled()\ntry c.read_more(buf)\nlog.print(v)", "D0301");
  check(
      "var v = \"\"[0..]\nif buf.len == 0 { let b = try buffer(4)\n v = b.filled() }\nlog.print(v)",
      "D0301");
  check("let v = buf.filled()[0..0]\nbuf.clear()\nlog.print(v)", "D0301");
  check("let v = buf.filled()\nlog.print(v)\nbuf.clear()", "");
}

HEDDLE_TEST(draft_rules, "4: errors are not ignored") {
  check("c.write(\"x\")", "D0401");
  check("let n = ch.receive()\nlog.print(n)", "D0401");
  check("log.print(try c.read(buf))", "");
  EXPECT_EQ(codes_of("use time\nfn f() { try time.sleep(1s) }"), "D0402");
  EXPECT_EQ(codes_of("fn f() { fail error.x }"), "D0402");
}

HEDDLE_TEST(draft_rules, "5: nothing is read before it has a value") {
  check("var x: int\nlog.print(x)", "D0501");
  check("var x: int\nif buf.len == 0 { x = 1 }\nlog.print(x)", "D0501");
  check("var x: int\nif buf.len == 0 { x = 1 } else { x = 2 }\nlog.print(x)", "");
}

HEDDLE_TEST(draft_rules, "6: loops wait or end; nowait does not wait; defer does not wait") {
  check("var x = 0\nloop { x +%= 1 }", "D0002");
  check("var x = 0\nloop { x = x +% 1 }", "D0601");
  check("var x = 0\nloop { x = x +% 1\n if x == 9 { break } }", "");
  check("nowait { try c.readable() }", "D0602");
  check("nowait { try borrow(c) }", "D0602");
  check("nowait { buf.clear() }", "");
  check("defer time.sleep(1s) or {}", "D0603");
  check("defer shield { time.sleep(1s) or {} }", "");
}

HEDDLE_TEST(draft_rules, "7: a view is not kept") {
  EXPECT_EQ(codes_of("fn f(v: view) -> view { return v }"), "D0701");
  EXPECT_EQ(codes_of("record r { v: view }"), "D0701");
  EXPECT_EQ(codes_of("thread t(v: view) { }"), "D0701");
  EXPECT_EQ(codes_of("fn f(c: channel<view>) { let _ = c }"), "D0701");
  check("spawn borrow(c)", "D0702");
}

HEDDLE_TEST(draft_rules, "8: every value has a case, and every case can be reached") {
  check("let s = shade.dark\nmatch s { light => {} }", "D0801");
  check("let n = 3\nmatch n { 1 => {} }", "D0801");
  check("let n = 3\nmatch n { 1 => {}\n 1 => {}\n else => {} }", "D0802");
  check("let s = shade.dark\nmatch s { light => {}\n dark => {}\n else => {} }", "D0802");
  check("return\nbuf.clear()", "D0802");
  check("let s = shade.dark\nmatch s { light, dark => {} }", "");
}

HEDDLE_TEST(draft_rules, "9: what is owned is neither copied nor lost") {
  check("let d = c\ntry d.readable()", "D0901");
  check("var b = try buffer(4)\nb = try buffer(8)\nb.clear()", "D0902");
  EXPECT_EQ(codes_of("record r { c: conn }"), "D0901");
  EXPECT_EQ(codes_of("fn f(c: conn) { c.close() }"), "D0901");
  EXPECT_EQ(codes_of("fn f(take c: conn) { c.close() }"), "");
}

HEDDLE_TEST(draft_rules,
            "10: merged functions do not call themselves, records do not contain themselves") {
  EXPECT_EQ(
      codes_of(
          "use time\nmerged fn f(n: int) -> ! { try time.sleep(1s)\n if n > 0 { try f(n - 1) } }"),
      "D1001");
  EXPECT_EQ(codes_of("record a { b: ?c }\nrecord c { a: [2]a }"), "D1002");
}

HEDDLE_TEST(draft_rules, "11: integers fit") {
  check("let x: u16 = 70000\nlog.print(x)", "D1102");
  check("let x: u8 = u8(300)\nlog.print(x)", "D1102");
  check("let n = buf.len\nlet x: u16 = n\nlog.print(x)", "D1101");
  check("let n: i32 = 5\nlet m: u32 = 5\nlog.print(n + m)", "D1101");
  check("let a = [1, 2]\nlog.print(a[2])", "D1103");
  check("let n = buf.len\nlet x = u16(n)\nlog.print(x)", "");
}

HEDDLE_TEST(draft_rules, "12: two arms do not wait for one end") {
  check("any {\n a = ch.receive() => log.print(a)\n b = ch.receive() => log.print(b)\n}", "D1201");
  check("any {\n a = ch.receive() => log.print(a)\n ch.send(1) => {}\n}", "");
}

HEDDLE_TEST(draft_rules, "13: foreign signatures are those of C") {
  EXPECT_EQ(codes_of("extern \"a.h\" { fn f(c: channel<int>) }"), "D1301");
  EXPECT_EQ(codes_of("extern \"a.h\" { fn f() -> i32! }"), "D1301");
  EXPECT_EQ(codes_of("extern \"a.h\" { blocking fn f(v: view) -> i32 }"), "D1301");
}

HEDDLE_TEST(draft_rules, "events are made for variables that outlive the wait, and hold no views") {
  check("var x: ?int = none\nwait { let e = event(x)\n e.trigger(1) }\nlog.print(x or 0)", "");
  check("var x: ?int = none\nlet e = event(x)\ne.trigger(1)\nlog.print(x or 0)", "D0004");
  check("let x: ?int = none\nwait { let e = event(x)\n e.trigger(1) }\nlog.print(x or 0)", "D0004");
  check("wait { var x: ?int = none\n let e = event(x)\n e.trigger(1)\n log.print(x or 0) }",
        "D0004");
  check("var x = 1\nwait { let e = event(x)\n e.trigger(1) }\nlog.print(x)", "D0004");
  check("wait { try c.readable() }", "D0004");
  check("var x: ?int = none\nwait { let e = event(x, x)\n let _ = e }\nlog.print(x or 0)", "D0006");
  check(
      "nowait { var x: ?int = none\n wait { let e = event(x)\n e.trigger(1) }\n log.print(x or 0) "
      "}",
      "D0602");
  check("let r = try rendezvous<view>()\nlet _ = r", "D0701");
  check(
      "let r = try rendezvous<int>()\nlet s = try r.signal(3)\ns.trigger()\n"
      "any { id = r.join() => log.print(id)\n after 1s => {} }",
      "");
  check("let r = try rendezvous<int>()\nlet s = try r.signal(3)\ns.trigger(4)", "D0006");
  check("let r = try rendezvous<int>()\nany { _ = r.join() => {}\n _ = r.join() => {} }", "D1201");
}

HEDDLE_TEST(draft_rules, "5: a loop of no rounds, and a defer, have given no value yet") {
  const auto first = [](const std::string& body) {
    check(("var box: channel<int>\n" + body + "\nlog.print(box.try_receive() or 5)").c_str(),
          "D0501");
  };
  const std::string make = "box = try channel<int>(3)";
  first("while buf.len > 0 { " + make + " }");
  first("var left = buf.len\nwhile left > 0 {\n " + make + "\n left -= 1\n}");
  first("for i in 0..buf.len {\n log.print(i)\n " + make + "\n}");
  first("for b in buf.filled() {\n log.print(b)\n " + make + "\n}");
  first("while let n = \"a\".find(\"b\") {\n log.print(n)\n " + make + "\n}");
  first("loop {\n if buf.len == 0 { break }\n " + make + "\n}");
  first("let _ = buf.len == 0 && count(\"x\") == (ch.try_receive() or e {\n log.print(e)\n " +
        make + "\n return\n})");
  first("defer shield { box = ch }");
  check(
      "var box: channel<int>\nloop {\n box = try channel<int>(3)\n if buf.len == 0 { break }\n}"
      "\nlog.print(box.try_receive() or 5)",
      "");
  check("var n: int\ndefer shield {\n n = 1\n log.print(n)\n}", "");
}

HEDDLE_TEST(draft_rules, "14: names do not hide others; results and variables are used") {
  check("let x = 1\nif x == 1 { let x = 2\n log.print(x) }", "D1401");
  check("count(\"x\")", "D1402");
  check("let x = 1", "D1403");
  check("let _ = count(\"x\")", "");
}

HEDDLE_TEST(draft_rules, "every code that the compiler gives has a page") {
  std::string known;
  for (const auto& page : heddle::draft::code_pages()) known += std::string(page.code) + " ";
  for (const char* code :
       {"D0001", "D0002", "D0003", "D0004", "D0005", "D0006", "D0007", "D0009", "D0101",
        "D0102", "D0201", "D0301", "D0401", "D0402", "D0501", "D0601", "D0602", "D0603",
        "D0701", "D0702", "D0801", "D0802", "D0901", "D0902", "D1001", "D1002", "D1101",
        "D1102", "D1103", "D1201", "D1301", "D1401", "D1402", "D1403"})
    EXPECT_NE(known.find(code), std::string::npos) << code;
}

HEDDLE_TEST(draft_rules, "2: what a job or a defer uses stays until they have run") {
  check("scope {\n var b = try buffer(4)\n spawn change(b)\n}", "D0201");
  check("loop {\n scope {\n spawn change(buf)\n break\n }\n}\nbuf.clear()", "");
  check("let o = try channel<buffer>(1)\ndefer log.print(buf.len)\ntry o.send(move buf)", "D0201");
  check("defer borrow_len(buf)\nbuf.clear()", "");
  check("let v = buf.filled()\ndefer log.print(v)\nbuf.clear()", "D0201");
  check("defer log.print(buf.len)\ntry buf.put(\"x\")\ntry c.readable()", "");
  check(
      "if buf.len == 0 { defer log.print(buf.len) }\nlet o = try channel<buffer>(1)\ntry "
      "o.send(move buf)",
      "");
}

HEDDLE_TEST(draft_rules, "1: a color is no later use of what was given away") {
  check("spawn other(c)\nspawn number(1) color c", "D0101");
}

HEDDLE_TEST(draft_rules, "3: views without a name, and of temporaries, are views too") {
  check("log.print(buf.filled(), try c.read(buf))", "D0301");
  check("log.print(try c.read_line(buf), try c.read_line(buf))", "D0301");
  check(
      "let line = buf.filled()\nvar rest = line\nlet first = rest[0..0]\nrest = "
      "rest[0..]\nlog.print(first, rest)",
      "");
  check("for b in buf.filled() {\n log.print(b)\n buf.clear()\n}", "D0301");
  check("var x = try \"a\".copy()\ntry both(x, x)", "D0301");
  check("let q = try channel<bytes>(1)\nlet v: view = try q.receive()\nlog.print(v)", "D0004");
  check("let q = try channel<bytes>(1)\nlet v = (try q.receive())[0..1]\nlog.print(v)", "D0004");
  check("scope { spawn shown(try \"a\".copy()) }", "D0004");
}

HEDDLE_TEST(draft_rules, "11: numbers that do not fit are told with their sign") {
  check("let x = -(-9223372036854775808)\nlog.print(x)", "D1102");
  check("let x = -18446744073709551615\nlog.print(x)", "D1102");
}

HEDDLE_TEST(draft_rules, "8: a break in an argument leaves the loop") {
  check("loop { log.print(ch.receive() or { break }) }\nbuf.clear()", "");
}

namespace {

/// Functions that take actions, and then a thread with these statements.
std::string with_actions(const std::string& body) {
  return "use net\nuse time\nuse log\n"
         "fn run(a: fn()) { a() }\nfn nap(a: fn() -> !) -> ! { try a() }\n"
         "fn gives(a: fn() -> int!) -> int! { return try a() }\n"
         "fn see(v: view, a: fn()) {\n a()\n log.print(v)\n}\n"
         "fn inc(var n: int, a: fn()) {\n a()\n n += 1\n}\n"
         "fn show(x: text<8>, a: fn()) {\n a()\n log.print(x)\n}\n"
         "fn keep(b: buffer, n: int, a: fn()) {\n a()\n log.print(b.len, n)\n}\n"
         "fn number(n: int) -> int { return n }\nthread other(c: conn) { try c.readable() }\n"
         "thread t(c: conn) {\n var buf = try buffer(16)\n buf.clear()\n try c.readable()\n"
         " var n = 1\n" +
         body + "\n log.print(n)\n}\n";
}

void check_action(const char* body, const char* codes) {
  EXPECT_EQ(codes_of(with_actions(body)), codes) << body;
}

}  // namespace

HEDDLE_TEST(draft_actions, "an action is passed down, and is no value") {
  check_action("run(fn() { n += 1 })", "");
  check_action("n = gives(fn() { number(n) }) or 0", "");
  check_action("let x = fn() { n += 1 }\nlet _ = x", "D0703");
  check_action("n = gives(number) or 0", "D0703");
  check_action("n = gives(3) or 0", "D0703");
  check_action("spawn run(fn() { n += 1 })", "D0703");
  for (const char* item :
       {"fn f() -> fn() { }", "record r { a: fn() }", "thread f(a: fn()) { a() }",
        "fn f(var a: fn()) { a() }", "fn f(take a: fn()) { a() }", "fn f(a: [2]fn()) { let _ = a }",
        "fn f(c: channel<fn()>) { let _ = c }", "fn f(a: fn()) { let x = a\nlet _ = x }",
        "fn f(a: fn(), c: channel<int>) -> ! { try c.send(a) }"})
    EXPECT_EQ(codes_of(item), "D0703") << item;
  EXPECT_EQ(codes_of("fn f(a: fn()) { a(1) }"), "D0006");
  EXPECT_EQ(codes_of("fn f(a: fn(n: int)) { a() }"), "D0002");
  EXPECT_EQ(codes_of("fn f(a: fn() -> view) { let _ = a() }"), "D0701");
}

HEDDLE_TEST(draft_actions, "an action gives what its parameter wants, with its error") {
  check_action("n = gives(fn() { \"x\" }) or 0", "D0004");
  check_action("n = gives(fn() { }) or 0", "D0004");
  check_action("run(fn() { return 1 })", "D0004");
  check_action("run(fn() { c.write(\"x\") })", "D0401");
  check_action("run(fn() { try c.write(\"x\") })", "D0402");
  check_action("run(fn() { fail error.x })", "D0402");
  check_action("nap(fn() { c.write(\"x\") }) or {}", "");
  check_action("nap(fn() {\n c.write(\"x\")\n c.write(\"y\")\n}) or {}", "D0401 D0401");
  check_action("loop { run(fn() { break }) }", "D0004");
}

HEDDLE_TEST(draft_actions, "an action changes the variables around it, and gives none away") {
  check_action("run(fn() { c.close() })", "D0704");
  check_action("run(fn() { spawn other(c) })", "D0704 D0704");
  check_action("run(fn() {\n let d = move c\n log.print(n)\n d.close()\n})", "D0704");
  check_action("nap(fn() {\n let b = try buffer(4)\n let d = move b\n log.print(d.len)\n}) or {}",
               "");
  check_action("var x: int\nrun(fn() { x = 1 })\nn = x", "D0501");
  check_action("let v = buf.filled()\nrun(fn() { buf.clear() })\nlog.print(v)", "D0301");
  check_action(
      "var v = buf.filled()\nrun(fn() {\n let b = buffer(1) or return\n v = b.filled()\n})\n"
      "log.print(v)",
      "D0301");
}

HEDDLE_TEST(draft_actions, "an action leaves alone what its call works on") {
  check_action("see(buf.filled(), fn() { buf.clear() })", "D0301");
  check_action("see(buf.filled(), fn() { log.print(buf.len) })", "");
  check_action("inc(n, fn() { log.print(n) })", "D0301");
  check_action("keep(buf, n, fn() { n += 1 })", "");  // the call has a copy
  check_action("keep(buf, n, fn() { buf.clear() })", "D0301");
  check_action("var x = text<8>(\"a\")\nshow(x, fn() { x.clear() })", "D0301");
}

HEDDLE_TEST(draft_actions, "functions that take actions end: no recursion, no frame, a bound") {
  EXPECT_EQ(codes_of("fn f(n: int, a: fn()) {\n if n > 0 { f(n - 1, a) }\n a()\n}"), "D1001");
  EXPECT_EQ(codes_of("use time\napart fn f(a: fn()) -> ! {\n try time.sleep(1s)\n a()\n}"),
            "D1001");
  check_action("if n == 5 {\n loop { run(fn() { return }) }\n}", "D0601");
  check_action("nowait { nap(fn() { return }) or {} }", "");
  // One form a function: it waits where another call passes an action that does.
  check_action("nowait { nap(fn() { return }) or {} }\nnap(fn() { c.readable() }) or {}", "D0602");
  // Each function calls its action through the one before it, twice.
  const auto doubled = [](int times) {
    std::string text = "use log\nfn f0(a: fn()) {\n a()\n a()\n}\n";
    for (int i = 1; i != times; ++i) {
      const std::string before = "f" + std::to_string(i - 1);
      text +=
          "fn f" + std::to_string(i) + "(a: fn()) { " + before + "(fn() { " + before + "(a) }) }\n";
    }
    return text + "main() {\n var n = 0\n f" + std::to_string(times - 1) +
           "(fn() { n += 1 })\n log.print(n)\n}\n";
  };
  EXPECT_EQ(codes_of(doubled(3)), "");
  EXPECT_EQ(codes_of(doubled(12)), "D0007");
}
