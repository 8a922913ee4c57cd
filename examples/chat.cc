// SPDX-License-Identifier: MIT
// A chat: what one browser posts, all others see at once through server-sent events. A browser that
// was away asks for what it missed by the number of the last message it saw.
//
//   build/release/examples/chat 8080      # then open the address in two windows
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/event_stream.hh"
#include "heddle/web/form.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/router.hh"

using namespace heddle;
using namespace std::chrono_literals;

constexpr const char* page = R"(<!doctype html><meta charset=utf-8>
<meta name=viewport content="width=device-width"><title>Chat</title>
<style>body{font:1rem system-ui;max-width:40rem;margin:2rem auto;padding:0 1rem}</style>
<ul id=log></ul>
<form method=post action=/say><input name=text autofocus required maxlength=500>
<button>Say</button></form>
<script>
new EventSource('/events').onmessage = e => {
  const line = document.createElement('li');
  line.textContent = e.data;
  document.getElementById('log').append(line);
};
const form = document.forms[0];
form.onsubmit = e => {
  e.preventDefault();
  fetch('/say', {method: 'POST', body: new URLSearchParams(new FormData(form))});
  form.reset();
};
</script>)";

class room {
 public:
  static constexpr std::size_t kept_max = 100;

  void say(std::string text) {
    messages_.push_back(std::move(text));
    if (messages_.size() > kept_max) {
      messages_.pop_front();
      ++first_;
    }
    for (const event<>& listener : std::exchange(listeners_, {})) listener.trigger();
  }
  /// Fires when there is something new.
  void listen(event<> e) {
    std::erase_if(listeners_, [](const event<>& old) { return old.empty(); });
    listeners_.push_back(std::move(e));
  }
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t end() const { return first_ + messages_.size(); }
  [[nodiscard]] const std::string& message(std::uint64_t number) const {
    return messages_[number - first_];
  }

 private:
  std::deque<std::string> messages_;
  std::uint64_t first_ = 1;
  std::vector<event<>> listeners_;
};

task<> something_new(room& in) {
  rendezvous<> said;
  in.listen(said.make_event());
  co_await said;
}

task<http::response> show_page(http::request&) {
  co_return http::response(200).body("text/html; charset=utf-8", page);
}

task<http::response> say(room& in, http::request& r) {
  const http::form sent = co_await http::read_form(r);
  const auto text = sent.value<std::string>("text");
  if (!text || text->empty()) throw http::status_error(422, "there is nothing to say");
  in.say(*text);
  co_return http::response(303).header("Location", "/");
}

task<http::response> events(room& in, http::request& r) {
  std::uint64_t next = r.header_value<std::uint64_t>("Last-Event-ID").value_or(0) + 1;
  http::event_stream out = co_await http::start_events(r);
  for (;;) {
    for (next = std::max(next, in.first()); next < in.end(); ++next)
      co_await out.send(http::server_event(in.message(next)).id(std::to_string(next)));
    const auto more =
        co_await as_expected(with_timeout(with_cancel(r.draining(), something_new(in)), 15s));
    if (!more && more.error() != std::errc::timed_out) co_return out.done();
    if (!more) co_await out.comment();  // is the browser still there?
  }
}

task<> serve(std::uint16_t port) {
  room lobby;
  http::router routes;
  routes.get("/", show_page);
  routes.post("/say", std::bind_front(say, std::ref(lobby)), {.body_bytes_max = 4096});
  routes.get("/events", std::bind_front(events, std::ref(lobby)));
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), routes);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
