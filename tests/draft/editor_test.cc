// SPDX-License-Identifier: MIT
// What editors get: the language server, syntax files; and the picture of a flow.
#include <cstring>

#include "compile_text.hh"
#include "draft/highlight.hh"
#include "draft/json_reader.hh"
#include "draft/language_server.hh"
#include "draft/new_project.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
using namespace heddle::draft;

namespace {

constexpr const char* editor_text =
    "module t\nuse net\n\n"
    "fn answer(c: conn) -> ! {\n    try c.write(\"\xc3\xa4\xf0\x9f\x98\x80\")\n}\n\n"
    "thread session(c: conn) {\n    try answer(c)\n}\n";

std::string open_text(const std::string& text) {
  return "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{"
         "\"uri\":\"file:///t.draft\",\"text\":" +
         json_text(text) + "}}}";
}

std::string ask(const char* method, int line, int character) {
  return std::string("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"textDocument/") + method +
         "\",\"params\":{\"textDocument\":{\"uri\":\"file:///t.draft\"},\"position\":{\"line\":" +
         std::to_string(line) + ",\"character\":" + std::to_string(character) + "}}}";
}

std::string one_answer(language_server& s, const std::string& message) {
  const std::vector<std::string> out = s.receive(message);
  EXPECT_EQ(out.size(), 1u) << message;
  return out.empty() ? "" : out[0];
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace

HEDDLE_TEST(draft_editor, "JSON is read with escapes, and broken JSON is refused") {
  const auto v = read_json(R"( {"a": [1, -2.5e1, true, null], "b": "x\n\u00e4\ud83d\ude00"} )");
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ((*v)["a"].list.size(), 4u);
  EXPECT_EQ((*v)["a"].list[1].number, -25.0);
  EXPECT_EQ((*v)["b"].text, "x\n\xc3\xa4\xf0\x9f\x98\x80");
  EXPECT_EQ((*v)["c"].kind, json::form::null);
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\"}", "\"x", "tru", "1 2", "\"\\ud83d\"", "\"\\q\""})
    EXPECT_FALSE(read_json(bad).has_value()) << bad;
  EXPECT_FALSE(read_json(std::string(100, '[') + std::string(100, ']')).has_value());
  EXPECT_EQ(json_text("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
}

HEDDLE_TEST(draft_editor, "the language server tells of errors, types, waits and declarations") {
  language_server s;
  EXPECT_HAS(one_answer(s, "{\"id\":1,\"method\":\"initialize\",\"params\":{}}"), "hoverProvider");
  EXPECT_HAS(one_answer(s, open_text(editor_text)), "\"diagnostics\":[]");
  EXPECT_HAS(one_answer(s, ask("hover", 8, 10)),
             "fn answer(c: conn) -> !\\nanswer waits because it calls conn.write (/t.draft:5)");
  EXPECT_HAS(one_answer(s, ask("hover", 4, 11)), "conn.write(what: view) -> !\\nwaits. Sends all");
  EXPECT_HAS(one_answer(s, ask("hover", 8, 15)), "parameter c: conn");
  EXPECT_HAS(one_answer(s, ask("hover", 2, 0)), "\"result\":null");
  EXPECT_HAS(one_answer(s, ask("definition", 8, 10)),
             "{\"start\":{\"line\":3,\"character\":3},\"end\":{\"line\":3,\"character\":9}}");
  // A letter above U+FFFF has two UTF-16 units.
  EXPECT_HAS(one_answer(s, ask("inlayHint", 0, 0)),
             "{\"position\":{\"line\":4,\"character\":22},\"label\":\"waits\"");
  const std::string broken = one_answer(
      s,
      "{\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":"
      "\"file:///t.draft\"},\"contentChanges\":[{\"text\":\"module t\\nthread a() {\\nlet "
      "x=wrong\\n}\\n\"}]}}");
  EXPECT_HAS(broken, "\"code\":\"D0003\"");
  EXPECT_HAS(broken, "{\"start\":{\"line\":2,\"character\":6}");
  EXPECT_HAS(one_answer(s, ask("formatting", 0, 0)), "let x = wrong\\n");
  EXPECT_HAS(one_answer(s, ask("rename", 0, 0)), "-32601");
  EXPECT_HAS(one_answer(s, "{"), "-32700");
  EXPECT_HAS(one_answer(s, "{\"id\":\"x\",\"method\":\"shutdown\"}"),
             "\"id\":\"x\",\"result\":null");
  EXPECT_TRUE(s.receive("{\"method\":\"exit\"}").empty());
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(s.exit_code(), 0);
}

HEDDLE_TEST(draft_editor, "the language server survives every beginning of a program") {
  language_server s;
  const std::string text = editor_text;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    static_cast<void>(one_answer(s, open_text(text.substr(0, n))));
    static_cast<void>(
        one_answer(s, ask("hover", static_cast<int>(n % 12), static_cast<int>(n % 30))));
  }
}

HEDDLE_TEST(draft_editor, "a session over streams ends with its exit code") {
  std::FILE* const in = std::tmpfile();
  std::FILE* const out = std::tmpfile();
  for (const char* m : {"{\"id\":1,\"method\":\"shutdown\"}", "{\"method\":\"exit\"}"})
    std::fprintf(in, "Content-Length: %zu\r\nOther: x\r\n\r\n%s", std::strlen(m), m);
  std::rewind(in);
  EXPECT_EQ(serve_editor(in, out), 0);
  std::rewind(out);
  char text[128] = {};
  EXPECT_NE(std::fread(text, 1, sizeof text - 1, out), 0u);
  EXPECT_EQ(std::string(text),
            "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");
  std::fclose(in);
  std::fclose(out);
}

HEDDLE_TEST(draft_editor, "the syntax files are those of the word list") {
  const std::string folder = test::source_dir() + "/editors/";
  EXPECT_EQ(source::read_text(folder + "vim/syntax/draft.vim").value_or(""), vim_syntax());
  EXPECT_EQ(source::read_text(folder + "textmate/draft.tmLanguage.json").value_or(""),
            textmate_grammar());
  EXPECT_TRUE(read_json(textmate_grammar()).has_value());
  for (const std::string_view w : keywords()) EXPECT_HAS(vim_syntax(), std::string(w));
}

HEDDLE_TEST(draft_editor, "a picture has each block once, with its waits marked") {
  const compiled made = heddle::test::compile_text(
      "use net\nuse time\nthread t(c: conn) {\n loop {\n any {\n c.readable() => try "
      "c.write(\"<&>\")\n after 1s => return\n }\n }\n}\n",
      stage::svg);
  ASSERT_TRUE(made.good()) << source::print(made.report);
  EXPECT_HAS(made.text, "<svg xmlns=");
  EXPECT_HAS(made.text, "any_5, line 5");
  EXPECT_HAS(made.text, "&lt;&amp;&gt;");
  std::size_t waits = 0;
  for (std::size_t at = made.text.find("#fff6cc"); at != std::string::npos;
       at = made.text.find("#fff6cc", at + 1))
    ++waits;
  EXPECT_EQ(waits, 2u) << made.text;
}

HEDDLE_TEST(draft_editor, "a new project compiles, and its name is checked") {
  EXPECT_TRUE(is_project_name("my_server2"));
  for (const char* bad : {"", "2x", "a-b", "thread", "a/b"})
    EXPECT_FALSE(is_project_name(bad)) << bad;
  for (const project_file& f : new_project("reverse")) {
    EXPECT_FALSE(f.text.empty());
    if (f.path == "main.draft") EXPECT_EQ(heddle::test::codes_of(f.text), "") << f.text;
    if (f.path == "CMakeLists.txt") EXPECT_HAS(f.text, "add_test(NAME talks");
  }
}
