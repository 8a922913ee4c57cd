// SPDX-License-Identifier: MIT
// A threaded server and an event server in one process, on one worker. Both count words: the first
// is written as plain functions in a fiber a connection, the second as a task a connection. They
// share a counter without a lock, because neither runs while the other does.
//
//   fiber_servers [PORT]        the threaded one listens there, the other on the port above
//   printf 'one two\n' | nc 127.0.0.1 7010
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/signal.hh"
#include "heddle/net/provider.hh"

using namespace heddle;

int words_seen = 0;

int count_words(const std::string& line) {
  int words = 0;
  bool inside = false;
  for (const char c : line) {
    const bool letter = c != ' ' && c != '\t';
    if (letter && !inside) ++words;
    inside = letter;
  }
  words_seen += words;
  return words;
}

std::string answer_to(const std::string& line) {
  const int words = count_words(line);
  return std::to_string(words) + " words, " + std::to_string(words_seen) + " in all\n";
}

/// The next line, or nothing at the end: a function that waits, and returns what it read.
bool next_line(stream& peer, std::string& line) {
  line.clear();
  char c;
  while (await(peer.read(byte_span(&c, 1))) == 1) {
    if (c == '\n') return true;
    line += c;
  }
  return false;
}

/// The threaded server's conversation, on a stack of its own.
void threaded_session(stream peer) {
  std::string line;
  while (next_line(peer, line)) await(peer.write(answer_to(line)));
}

/// The event server's, as a task.
task<> event_session(stream peer) {
  line_reader lines(peer);
  for (;;) {
    const auto line = co_await as_expected(lines.line());
    if (!line) co_return;  // the end of the stream
    const std::string answer = answer_to(std::string(*line));
    co_await peer.write(answer);
  }
}

task<> serve_threaded(listener door) {
  for (;;) spawn(fiber(threaded_session, co_await door.accept()));
}
task<> serve_events(listener door) {
  for (;;) spawn(event_session(co_await door.accept()));
}

task<> program(scope& s, std::uint16_t port) {
  const net::provider net = net::from_environment();
  auto threads = net.listen(address::loopback(port));
  const std::uint16_t above = port == 0 ? 0 : static_cast<std::uint16_t>(port + 1);
  auto events = net.listen(address::loopback(above));
  std::printf("threaded on %s\nevents on %s\n", threads.at.to_string().c_str(),
              events.at.to_string().c_str());
  std::fflush(stdout);
  s.spawn(serve_threaded(threads.door));
  s.spawn(serve_events(events.door));
  signal_set stop{SIGINT, SIGTERM};
  co_await stop.next();
  s.cancel();
}

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 7010;
  runtime rt;
  rt.run(with_scope(program, static_cast<std::uint16_t>(port)));
}
