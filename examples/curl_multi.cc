// SPDX-License-Identifier: MIT
// Needs: libcurl
//
// libcurl's multi interface inside the runtime: each transfer is an event, each socket that libcurl
// wants watched is a task, its one timer is a sleep. Fetches the same page several times at once
// from a small server in this program.
#include <curl/curl.h>
#include <poll.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/watched_descriptor.hh"
#include "heddle/net/provider.hh"

using namespace heddle;
using namespace std::chrono_literals;

/// libcurl's multi handle, driven by tasks of one scope.
class transfers {
 public:
  explicit transfers(scope& s) : tasks_(s), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }
  ~transfers() { curl_multi_cleanup(multi_); }

  /// Fetches; the event gets the status and the body.
  void get(const std::string& url, event<long, std::string> done) {
    CURL* const easy = curl_easy_init();
    auto* one = new transfer(std::move(done));
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, one);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &one->body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_data);
    curl_multi_add_handle(multi_, easy);
  }

 private:
  struct transfer {
    explicit transfer(event<long, std::string> e) : done(std::move(e)) {}
    std::string body;
    event<long, std::string> done;
  };
  static std::size_t on_data(char* bytes, std::size_t, std::size_t len, void* body) {
    static_cast<std::string*>(body)->append(bytes, len);
    return len;
  }
  using stop = std::shared_ptr<cancel_source>;

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    auto& t = *static_cast<transfers*>(self);
    if (const auto old = t.watches_.extract(fd)) old.mapped()->cancel();
    if (what == CURL_POLL_REMOVE) return 0;
    const stop until = t.watches_[fd] = std::make_shared<cancel_source>();
    t.tasks_.spawn(t.watch(fd, what, until));
    return 0;
  }
  static int on_timer(CURLM*, long ms, void* self) {
    auto& t = *static_cast<transfers*>(self);
    t.alarm_->cancel();
    t.alarm_ = std::make_shared<cancel_source>();
    if (ms >= 0) t.tasks_.spawn(t.sleep(std::chrono::milliseconds(ms), t.alarm_));
    return 0;
  }
  task<> watch(curl_socket_t fd, int what, stop until) {
    const watched_descriptor theirs(fd);
    const unsigned events =
        ((what & CURL_POLL_IN) != 0 ? POLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? POLLOUT : 0u);
    while (!until->canceled()) {
      const auto found = co_await as_expected(with_cancel(*until, theirs.ready(events)));
      if (!found || until->canceled()) break;
      act(fd, ((*found & POLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                  ((*found & POLLOUT) != 0 ? CURL_CSELECT_OUT : 0));
    }
  }
  task<> sleep(nanoseconds span, stop until) {
    const auto slept = co_await as_expected(with_cancel(*until, sleep_for(span)));
    if (slept) act(CURL_SOCKET_TIMEOUT, 0);
  }
  void act(curl_socket_t fd, int events) {
    int running = 0;
    curl_multi_socket_action(multi_, fd, events, &running);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      CURL* const easy = message->easy_handle;
      transfer* one = nullptr;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &one);
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
      const std::unique_ptr<transfer> ended(one);
      ended->done(status, std::move(ended->body));
    }
  }

  scope& tasks_;
  CURLM* multi_;
  std::map<curl_socket_t, stop> watches_;
  stop alarm_ = std::make_shared<cancel_source>();
};

task<> answer(stream peer) {
  static_cast<void>(co_await peer.receive());
  co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n");
}
task<> serve(listener& door) {
  for (;;) spawn(answer(co_await door.accept()));
}

task<> fetch_all(scope& s, const std::string& url, int& right) {
  transfers curl(s);
  long status[5] = {};
  std::string body[5];
  twait {
    for (int i = 0; i < 5; ++i) curl.get(url, mkevent(status[i], body[i]));
  }
  for (int i = 0; i < 5; ++i) right += status[i] == 200 && body[i] == "hello\n" ? 1 : 0;
  s.cancel();  // what still watches for libcurl
  co_await s.join();
}

task<> program() {
  auto [door, at] = net::from_environment().listen(address::loopback(0));
  const std::string url = "http://" + at.to_string() + "/";
  int right = 0;
  scope s;
  co_await any(serve(door), fetch_all(s, url, right));
  std::printf("%d of 5 pages through libcurl\n", right);
}

int main() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  {
    runtime rt;
    rt.run(program());
  }
  curl_global_cleanup();
}
