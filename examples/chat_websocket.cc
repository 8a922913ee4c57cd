// SPDX-License-Identifier: MIT
// A chat over WebSocket: what one browser sends, all get. A browser that reads too slowly for what
// the others say is closed, so that no one waits for it.
//
//   build/release/examples/chat_websocket 8080    # then open the address in two windows
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/sync/channel.hh"
#include "heddle/web/router.hh"
#include "heddle/web/websocket.hh"

using namespace heddle;

constexpr const char* page = R"(<!doctype html><meta charset=utf-8>
<meta name=viewport content="width=device-width"><title>Chat</title>
<style>body{font:1rem system-ui;max-width:40rem;margin:2rem auto;padding:0 1rem}</style>
<ul id=log></ul>
<form><input name=text autofocus required maxlength=500><button>Say</button></form>
<script>
const ws = new WebSocket(location.origin.replace('http', 'ws') + '/chat');
ws.onmessage = e => {
  const line = document.createElement('li');
  line.textContent = e.data;
  document.getElementById('log').append(line);
};
document.forms[0].onsubmit = e => {
  e.preventDefault();
  ws.send(document.forms[0].text.value);
  document.forms[0].reset();
};
</script>)";

constexpr std::size_t unread_max = 100;

/// The visitors, each with the messages that are on their way to them.
class room {
 public:
  using mailbox = channel<std::string>;

  mailbox& enter() { return boxes_.emplace_back(unread_max); }
  void leave(mailbox& of) {
    boxes_.remove_if([&of](const mailbox& each) { return &each == &of; });
  }
  void say(const std::string& text) {
    for (mailbox& each : boxes_)
      if (std::string copy = text; !each.try_push(std::move(copy))) each.close();
  }

 private:
  std::list<mailbox> boxes_;
};

task<> send_all(http::websocket& ws, room::mailbox& from) {
  while (auto text = co_await from.pop()) co_await ws.send(*text);
  co_await ws.close(1008, "you read too slowly");
}

task<> attend(room& in, http::websocket ws) {
  room::mailbox& box = in.enter();
  scope s;
  s.spawn(send_all(ws, box));
  while (auto m = co_await ws.receive())
    if (m->text) in.say(m->data);
  s.cancel();
  co_await s.settled();
  in.leave(box);
}

task<> serve(std::uint16_t port) {
  room lobby;
  http::router routes;
  routes.get("/", [](http::request&) -> task<http::response> {
    co_return http::response(200).body("text/html; charset=utf-8", page);
  });
  routes.get("/chat", [&lobby](http::request& r) -> task<http::response> {
    const http::websocket_options options{.message_bytes_max = 4096};
    return http::hand_to_websocket(
        r, [&lobby](http::websocket ws) { return attend(lobby, std::move(ws)); }, options);
  });
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), routes);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
