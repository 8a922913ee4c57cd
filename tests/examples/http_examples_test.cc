// SPDX-License-Identifier: MIT
// The examples of room http as their users start them: as processes, talked to over loopback.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/web/websocket.hh"
#include "support/tree.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// An example that serves on a free port until it goes out of scope.
struct served {
  served(process&& p, address a) : program(std::move(p)), at(a) {}
  served(served&& other) noexcept
      : program(std::move(other.program)), at(std::exchange(other.at, {})) {}
  ~served() {
    if (at) program.kill(SIGKILL);
  }

  process program;
  address at;
};

task<served> start_example(std::string name, std::string second = "") {
  std::vector<std::string> words{heddle::test::build_dir() + "/examples/" + name, "0"};
  if (!second.empty()) words.push_back(second);
  process_options options;
  options.output(child_stream::pipe).errors(child_stream::null);
  process program = co_await spawn_process(command_line(std::move(words)), options);
  line_reader lines(program.output());
  const std::string_view line = co_await with_timeout(lines.line(), 20s);
  const std::size_t from = line.find("//") + 2;
  const result<address> at = address::parse(line.substr(from, line.find('/', from) - from));
  EXPECT_TRUE(at.has_value()) << line;
  co_return served(std::move(program), *at);
}

std::string sized(std::string_view body, std::string type = "text/plain") {
  return "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
}

task<> use_notes(address at) {
  const std::string made = co_await ask(at, "POST /notes", sized("a \"note\""), "a \"note\"");
  EXPECT_EQ(status_of(made), "201");
  EXPECT_EQ(field_of(made, "Location"), "/notes/1");
  EXPECT_EQ(body_of(co_await ask(at, "GET /notes/1")), "{\"id\":1,\"text\":\"a \\\"note\\\"\"}\n");
  EXPECT_EQ(status_of(co_await ask(at, "GET /notes/2")), "404");
  EXPECT_EQ(status_of(co_await ask(at, "GET /notes/x")), "400");
  EXPECT_EQ(status_of(co_await ask(at, "POST /notes", sized(""))), "422");
  EXPECT_EQ(field_of(co_await ask(at, "PUT /notes"), "Allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(status_of(co_await ask(at, "DELETE /notes/1")), "204");
  EXPECT_EQ(body_of(co_await ask(at, "GET /notes?limit=3")), "[]\n");
}

task<> use_upload(address at, const std::string& folder) {
  std::string content(500'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../<evil>\"\r\n\r\n" +
      content + "\r\n--b--\r\n";
  const std::string kept =
      co_await ask(at, "POST /", sized(body, "multipart/form-data; boundary=b"), body);
  EXPECT_EQ(status_of(kept), "201");
  EXPECT_NE(kept.find("&lt;evil&gt;: 500000 bytes"), std::string::npos) << kept;
  std::ifstream in(folder + "/upload-1", std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  EXPECT_TRUE(all.str() == content);
}

task<> use_chat(address at) {
  tcp_stream listener = co_await tcp_connect(at);
  co_await listener.write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  static_cast<void>(co_await read_until(listener, "\r\n\r\n"));
  const std::string form = "text=hello+all";
  const std::string said =
      co_await ask(at, "POST /say", sized(form, "application/x-www-form-urlencoded"), form);
  EXPECT_EQ(status_of(said), "303");
  const std::string heard = co_await read_until(listener, "\n\n");
  EXPECT_NE(heard.find("id: 1\ndata: hello all\n\n"), std::string::npos) << heard;
  tcp_stream late = co_await tcp_connect(at);
  co_await late.write("GET /events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 0\r\n\r\n");
  EXPECT_NE((co_await read_until(late, "all\n\n")).find("id: 1"), std::string::npos);
}

task<> use_chat_by_websocket(address at) {
  EXPECT_NE((co_await ask(at, "GET /")).find("new WebSocket"), std::string::npos);
  http::websocket one = co_await http::connect_websocket(co_await tcp_connect(at), "x", "/chat");
  http::websocket other = co_await http::connect_websocket(co_await tcp_connect(at), "x", "/chat");
  co_await one.send("hello all");
  for (http::websocket* each : {&one, &other}) {
    const auto heard = co_await with_timeout(each->receive(), 20s);
    EXPECT_TRUE(heard && heard->data == "hello all");
  }
  co_await one.close();
  co_await other.send("bye");
  const auto heard = co_await with_timeout(other.receive(), 20s);
  EXPECT_TRUE(heard && heard->data == "bye");
  const std::string foreign =
      "Origin: https://evil.example.com\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  tcp_stream page = co_await tcp_connect(at);
  co_await page.write("GET /chat HTTP/1.1\r\nHost: x\r\n" + foreign + "\r\n");
  EXPECT_EQ(status_of(co_await read_until(page, "\r\n\r\n")), "403");
}

task<> use_echo_by_websocket(address at) {
  http::websocket ws = co_await http::connect_websocket(co_await tcp_connect(at), "x", "/echo");
  co_await ws.send("hello");
  co_await ws.send_binary(std::string_view("\0\xff", 2));
  for (const bool text : {true, false}) {
    const auto back = co_await with_timeout(ws.receive(), 20s);
    EXPECT_TRUE(back && back->text == text);
    EXPECT_EQ(back->data, text ? "hello" : std::string("\0\xff", 2));
  }
  co_await ws.close();
}

}  // namespace

HEDDLE_TEST(examples, "echo_websocket sends each message back as it came") {
  runtime rt;
  rt.run([]() -> task<> {
    served echo = co_await start_example("echo_websocket");
    co_await use_echo_by_websocket(echo.at);
  }());
}

HEDDLE_TEST(examples, "chat_websocket: what one says, all hear; pages of others may not come") {
  runtime rt;
  rt.run([]() -> task<> {
    served chat = co_await start_example("chat_websocket");
    co_await use_chat_by_websocket(chat.at);
  }());
}

HEDDLE_TEST(examples, "json_api keeps notes, also through proxy") {
  runtime rt;
  rt.run([]() -> task<> {
    served api = co_await start_example("json_api");
    co_await use_notes(api.at);
    served proxy = co_await start_example("proxy", "http://" + api.at.to_string());
    const std::string made = co_await ask(proxy.at, "POST /notes", sized("via"), "via");
    EXPECT_EQ(field_of(made, "Location"), "/notes/2");
    EXPECT_EQ(body_of(co_await ask(proxy.at, "GET /notes?limit=3")),
              "[{\"id\":2,\"text\":\"via\"}]\n");
    EXPECT_EQ(status_of(co_await ask(proxy.at, "GET /none")), "404");
  }());
}

HEDDLE_TEST(examples, "upload writes what comes to disk, under names of its own") {
  std::string folder = "/tmp/heddle-upload-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    runtime rt;
    rt.run([](const std::string& to) -> task<> {
      served upload = co_await start_example("upload", to);
      co_await use_upload(upload.at, to);
    }(folder));
  }
  std::filesystem::remove_all(folder);
}

HEDDLE_TEST(examples, "chat tells every listener at once, and late ones what they missed") {
  runtime rt;
  rt.run([]() -> task<> {
    served chat = co_await start_example("chat");
    co_await use_chat(chat.at);
  }());
}
