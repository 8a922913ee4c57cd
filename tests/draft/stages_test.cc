// SPDX-License-Identifier: MIT
// Results of passes: what waits and why, the shape of the flow, the plan of frames, the C; the
// examples as golden files; and the blocks of the documentation.
#include <cstdlib>
#include <filesystem>

#include "compile_text.hh"
#include "heddle/base/error_names.hh"
#include "support/draft/interpret.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
using namespace heddle::draft;
using heddle::test::compile_text;
namespace fs = std::filesystem;

namespace {

std::string stage_of(const std::string& text, stage what, compile_options options = {}) {
  const compiled out = compile_text(text, what, std::move(options));
  EXPECT_TRUE(out.good()) << source::print(out.report);
  return out.text;
}

constexpr const char* waits_text =
    "use net\nfn inner(c: conn) -> ! { try c.write(\"x\") }\n"
    "fn outer(c: conn) -> ! { try inner(c) }\n"
    "thread t(c: conn) { try outer(c)\n try outer(c) }\nfn plain(a: int) -> int { return a }\n";

/// The blocks of a page that are whole modules.
std::vector<std::string> modules_in(const std::string& page) {
  std::vector<std::string> list;
  const std::string mark = "```draft\n";
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    list.push_back(page.substr(begin, page.find("```", begin) - begin));
  }
  return list;
}

}  // namespace

HEDDLE_TEST(draft_waits, "what waits is inferred, with the chain that explains it") {
  const std::string types = stage_of(waits_text, stage::types);
  EXPECT_NE(
      types.find(
          "outer waits because it calls inner (t.draft:3), which calls conn.write (t.draft:2)"),
      std::string::npos)
      << types;
  EXPECT_NE(types.find("fn plain (a: int) -> int  [plain]"), std::string::npos) << types;
}

HEDDLE_TEST(draft_flow, "nothing is moved across a wait, and no jump passes one") {
  const std::string cfg = stage_of(
      "use time\nthread t() {\n loop {\n try time.pause()\n try time.pause()\n }\n}\n", stage::cfg);
  std::size_t waits = 0;
  for (std::size_t at = cfg.find("(wait):"); at != std::string::npos;
       at = cfg.find("(wait):", at + 1))
    ++waits;
  EXPECT_EQ(waits, 2u) << cfg;
}

HEDDLE_TEST(draft_flow, "a loop that might run long yields, a short counted one does not") {
  const auto yields = [](const std::string& body) {
    return stage_of("use log\nthread t(n: int) {\n" + body + "\n}\n", stage::cfg).find("yield") !=
           std::string::npos;
  };
  EXPECT_TRUE(yields("var i = 0\nwhile i < n { i += 1 }"));
  EXPECT_TRUE(yields("for i in 0..n { log.print(i) }"));
  EXPECT_FALSE(yields("for i in 0..100 { log.print(i) }"));
}

HEDDLE_TEST(draft_flow, "an owner that was moved is not released") {
  const std::string cfg = stage_of(
      "use net\nthread s(c: conn) { try c.readable() }\n"
      "main() -> ! {\n let l = try net.listen(0)\n loop {\n let c = try l.accept()\n spawn s(c)\n "
      "}\n}\n",
      stage::cfg);
  EXPECT_EQ(cfg.substr(cfg.find("t_main")).find("release c"), std::string::npos) << cfg;
}

HEDDLE_TEST(draft_plan,
            "only what lives across a wait is in the frame, and what never meets shares bytes") {
  const std::string plan = stage_of(
      "use time\nuse log\nthread t() {\n"
      " let short = 1\n log.print(short)\n"
      " if rest() { var a = text<64>(\"a\")\n try time.pause()\n a.clear()\n log.print(a) }"
      " else { var b = text<64>(\"b\")\n try time.pause()\n b.clear()\n log.print(b) }\n}\n"
      "fn rest() -> bool { return true }\n",
      stage::plan);
  EXPECT_EQ(plan.find("short"), std::string::npos) << plan;
  EXPECT_NE(plan.find("a: text<64>  (shares bytes with b)"), std::string::npos) << plan;
  compile_options apart;
  apart.passes.overlap = false;
  EXPECT_EQ(
      stage_of("use time\nthread t() {\n try time.pause()\n}\n", stage::plan, apart).find("shares"),
      std::string::npos);
}

HEDDLE_TEST(draft_plan,
            "it says what each wait needs: what is read later, and what is asked with") {
  const std::string plan = stage_of(
      "use time\nuse log\nthread t(n: int) {\n"
      " let kept = n * 2\n try time.pause()\n try time.sleep(1ms * kept)\n}\n",
      stage::plan);
  EXPECT_NE(plan.find("  start: 8 bytes in use\n  wait 1, pause_5: 8 bytes in use\n"
                      "  wait 2, sleep_6: 8 bytes in use\n"),
            std::string::npos)
      << plan;
  EXPECT_NE(plan.find(", 8 at one wait)"), std::string::npos) << plan;
}

HEDDLE_TEST(draft_plan, "it says where each byte of an idle client goes") {
  const std::string echo = "thread t(c: conn) {\n loop {\n let m = try c.receive()\n";
  const std::string end = " try c.write(m)\n }\n}\n";
  const std::string idle = stage_of("use net\n" + echo + end, stage::plan);
  EXPECT_NE(idle.find("  bytes of a frame:\n"
                      "      48  head: where it goes on, its kind, its owner\n"
                      "       0  no record of a wait: each lies in its connection, or needs none\n"
                      "      16  variables\n"
                      "      64  in all\n"
                      "  and of an open connection:\n"
                      "     144  socket\n"
                      "       8  in the table of io_uring, by descriptor (epoll, poll: 24)\n"
                      "     216  with one frame that waits (epoll, poll: 232)\n"),
            std::string::npos)
      << idle;
  // A wait for anything else is recorded in the frame.
  const std::string sleeps =
      stage_of("use net\nuse time\n" + echo + " try time.sleep(1ms)\n" + end, stage::plan);
  EXPECT_NE(sleeps.find("      80  record of a wait\n"), std::string::npos) << sleeps;
  EXPECT_NE(sleeps.find("     144  in all\n"), std::string::npos) << sleeps;
}

HEDDLE_TEST(draft_plan, "a view of a view keeps neither the view between nor the numbers it had") {
  const std::string plan = stage_of(
      "use net\nthread t(c: conn) {\n var b = try buffer(1K)\n loop {\n"
      " let n = try c.read(b)\n try c.write(b.filled()[..n])\n b.clear()\n }\n}\n",
      stage::plan);
  EXPECT_NE(plan.find(" 32 bytes of variables"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("n: int"), std::string::npos) << plan;
}

HEDDLE_TEST(draft_flow, "a merged function borrows the caller's variable without a copy") {
  const std::string head =
      "use time\nrecord big { a: int, t: text<64> }\nfn next(var n: int) -> int {\n n += 1\n "
      "return n\n}\n"
      "fn shown(x: big, n: int) -> big! {\n try time.pause()\n return big(a: x.a + n, t: x.t)\n}\n";
  const auto copies = [&](const std::string& last) {
    return stage_of(head +
                        "thread t(n: int) {\n var m = n\n"
                        " var v = big(a: n, t: text<64>(\"a\"))\n v = try shown(v, " +
                        last + ")\n try time.sleep(1ms * v.a)\n}\n",
                    stage::cfg)
               .find("x = v") != std::string::npos;
  };
  EXPECT_FALSE(copies("m"));
  EXPECT_TRUE(copies("next(m)"));  // an argument behind it might change it
}

HEDDLE_TEST(draft_flow, "the fields of a record that is not finished are released") {
  const std::string cfg = stage_of(
      "record two { a: bytes, b: bytes }\nfn bad() -> bytes! { fail error.syntax }\n"
      "fn make() -> ! {\n let p = two(a: try \"x\".copy(), b: try bad())\n let _ = p.a.len\n}\n",
      stage::cfg);
  EXPECT_NE(cfg.find("release tmp"), std::string::npos) << cfg;
}

HEDDLE_TEST(draft_flow, "a check whose outcome is known is passed") {
  const std::string text =
      "use time\nfn nap() -> int! {\n try time.pause()\n return 1\n}\n"
      "thread t() {\n let n = try nap()\n try time.sleep(1ms * n)\n}\n";
  EXPECT_EQ(stage_of(text, stage::cfg).find("end_nap"), std::string::npos)
      << stage_of(text, stage::cfg);
  compile_options without;
  without.passes.simplify = false;
  EXPECT_NE(stage_of(text, stage::cfg, without).find("end_nap"), std::string::npos);
}

HEDDLE_TEST(draft_c, "C of the examples is as it was") {
  // HEDDLE_GOLDEN=1 writes the files anew.
  for (const char* name : {"echo", "chat", "web"}) {
    const std::string file = std::string("examples/draft/") + name + ".draft";
    compile_options options;
    options.emit.lines = false;
    options.front.read = [](const std::string& path) {
      return source::read_text(test::source_dir() + "/" + path);
    };
    const compiled made = draft::compile(file, stage::c, options);
    ASSERT_TRUE(made.good()) << source::print(made.report);
    const std::string golden = test::source_dir() + "/tests/draft/golden/" + name + ".c.txt";
    if (std::getenv("HEDDLE_GOLDEN") != nullptr) {
      ASSERT_TRUE(source::write_text(golden, made.text).has_value());
    }
    EXPECT_EQ(source::read_text(golden).value_or(""), made.text) << name;
  }
}

HEDDLE_TEST(draft_interpreter, "it runs threads, channels, deadlines and faults in virtual time") {
  const compiled made = compile_text(
      "use time\nuse log\n"
      "fn nap(d: duration) -> int! {\n try time.sleep(d)\n return 5\n}\n"
      "thread put(c: channel<int>) { for i in 0..3 { try c.send(i) } }\n"
      "main() -> ! {\n let c = try channel<int>(1)\n spawn put(c)\n var sum = 0\n"
      " for _ in 0..3 { sum += try c.receive() }\n log.print(\"sum \", sum)\n"
      " within 1s { log.print(nap(1h) or -1) }\n log.print(try nap(1h))\n"
      " let zero = sum - 3\n log.print(1 / zero)\n}\n");
  ASSERT_TRUE(made.good()) << source::print(made.report);
  const interpreted r = interpret(*made.made);
  EXPECT_EQ(r.out, "sum 3\n-1\n5\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.complaint, "fault at t.draft:17");
}

HEDDLE_TEST(draft_docs, "the walk through the passes shows what the compiler prints") {
  const std::string page =
      source::read_text(test::source_dir() + "/docs/guide/draft-passes.md").value_or("");
  const std::vector<std::string> modules = modules_in(page);
  ASSERT_EQ(modules.size(), 1u);
  compile_options options;
  options.emit.lines = false;
  options.front.read = [&](const std::string&) -> std::expected<std::string, std::string> {
    return modules[0];
  };
  const std::string mark = "<!-- emit: ", fence = "```text\n";
  std::size_t blocks = 0;
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    const std::size_t name = at + mark.size();
    const std::string what = page.substr(name, page.find(' ', name) - name);
    const std::size_t begin = page.find(fence, at) + fence.size();
    const std::string block = page.substr(begin, page.find("```", begin) - begin);
    ++blocks;
    if (what == "run") {
      const compiled made = draft::compile("ticker.draft", stage::check, options);
      EXPECT_EQ(interpret(*made.made).out, block);
      continue;
    }
    ASSERT_TRUE(stage_named(what).has_value()) << what;
    const compiled made = draft::compile("ticker.draft", *stage_named(what), options);
    ASSERT_TRUE(made.good()) << source::print(made.report);
    EXPECT_NE(made.text.find(block), std::string::npos) << what << "\n" << block << made.text;
  }
  EXPECT_EQ(blocks, 10u);
}

HEDDLE_TEST(draft_docs, "the modules of the documentation compile") {
  std::size_t found = 0;
  for (const char* page : {"docs/guide/draft.md", "docs/guide/draft-for-c.md",
                           "docs/guide/draft-passes.md", "docs/reference/draft.md"}) {
    for (const std::string& text :
         modules_in(source::read_text(test::source_dir() + "/" + page).value_or(""))) {
      ++found;
      EXPECT_EQ(heddle::test::codes_of(text), "") << page << "\n" << text;
    }
  }
  EXPECT_GE(found, 4u);
}

HEDDLE_TEST(draft_docs, "the reference lists the errors of the system, in their order") {
  std::string names, last;
  for (const named_error& e : system_errors) {
    if (e.name == last) continue;  // two codes of the system
    last = e.name;
    names += (names.empty() ? "`" : " ") + last;
  }
  std::string page =
      source::read_text(test::source_dir() + "/docs/reference/draft.md").value_or("");
  std::replace(page.begin(), page.end(), '\n', ' ');
  EXPECT_NE(page.find(names + "`."), std::string::npos) << names;
}

HEDDLE_TEST(draft_docs, "the reference has a row for each operation, and it says what it does") {
  const std::string page =
      source::read_text(test::source_dir() + "/docs/reference/draft.md").value_or("");
  for (const operation& op : operations()) {
    std::string row = "| `" + op.full_name();
    if (!op.property) row += "(" + std::string(op.params) + ")";
    if (op.fallible || !op.result.empty()) row += " -> ";
    row += std::string(op.result) + (op.fallible ? "!" : "") + "` | " + (op.waits ? "yes" : "") +
           " | " + std::string(op.help);
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}
