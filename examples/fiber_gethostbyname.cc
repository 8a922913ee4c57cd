// SPDX-License-Identifier: MIT
// Threads and events in one program, as in Krohn and others, 2007, section 4: mysleep() waits by an
// event and returns a value like any function; gethost_ev() makes the C library's blocking
// gethostbyname() an event, so that lookups run beside each other and beside everything else.
//
//   fiber_gethostbyname [NAME...]
#include <arpa/inet.h>
#include <netdb.h>

#include <cstdio>
#include <string>
#include <vector>

#include "heddle/fiber/fiber.hh"
#include "heddle/fiber/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"

using namespace heddle;
using namespace std::chrono_literals;

/// A threaded function: it waits, and then returns to its caller.
int mysleep(int ms) {
  fiber_twait { timer(ms * 1ms, mkevent()); }
  return ms;
}

/// The system's blocking call, on a thread of the pool; only the fiber that called this waits.
std::string gethostbyname_text(const std::string& name) {
  return await(blocking(
      [](const std::string& host) -> std::string {
        addrinfo hints{};
        hints.ai_family = AF_INET;
        addrinfo* found = nullptr;
        if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
          return ::gai_strerror(error);
        char text[INET_ADDRSTRLEN];
        const auto* at = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
        ::inet_ntop(AF_INET, &at->sin_addr, text, sizeof text);
        ::freeaddrinfo(found);
        return text;
      },
      name));
}

/// The same as an event, for callers that are events themselves.
void gethost_ev(const std::string& name, event<std::string> done) {
  tfork(std::move(done), gethostbyname_text, name);
}

task<> look_up(std::vector<std::string> names) {
  std::vector<std::string> addresses(names.size());
  rendezvous<std::size_t> r;
  for (std::size_t i = 0; i < names.size(); ++i)
    gethost_ev(names[i], r.make_event(i, addresses[i]));
  int slept = 0;
  rendezvous<> nap;
  tfork(nap.make_event(slept), mysleep, 1);
  while (r.has_events()) {
    const std::size_t i = co_await r;  // in the order in which they are found
    std::printf("%s is %s\n", names[i].c_str(), addresses[i].c_str());
  }
  co_await nap;
  std::printf("slept %d ms meanwhile\n", slept);
}

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"localhost", "127.0.0.1"};
  runtime rt;
  rt.run(look_up(std::move(names)));
}
