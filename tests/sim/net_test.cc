// SPDX-License-Identifier: MIT
// Sockets and pipes of the simulated world.
#include <poll.h>

#include <algorithm>
#include <chrono>

#include "sim/harness.hh"
#include "support/test.hh"

namespace heddle::test {

using namespace std::chrono_literals;

HEDDLE_TEST(sim_net, "bytes go both ways over a connection, in order, to the end") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  EXPECT_EQ(h.write(client, "hello "), 6);
  EXPECT_EQ(h.write(client, "world"), 5);
  EXPECT_EQ(h.write(server, "yes"), 3);
  EXPECT_EQ(h.sim.shutdown(client, SHUT_WR), 0);
  EXPECT_EQ(h.read_all(server), "hello world");
  h.close(server);
  EXPECT_EQ(h.read_all(client), "yes");
  h.close(client);
  EXPECT_EQ(h.sim.open_descriptors(), 0u);
}

HEDDLE_TEST(sim_net, "a connection is refused when nobody listens, after a way there and back") {
  sim_harness h({.link = {.latency = 3ms}});
  const time_point before = h.sim.now();
  EXPECT_EQ(h.connect(h.sim.socket(AF_INET, SOCK_STREAM, 0), endpoint(81)), -ECONNREFUSED);
  EXPECT_GE(h.sim.now() - before, 6ms);
}

HEDDLE_TEST(sim_net, "port 0 picks a port, and both sides know each other's name") {
  sim_harness h;
  const int l = h.listener(endpoint(0, "0.0.0.0"));
  ::sockaddr_in name{};
  unsigned len = sizeof name;
  ASSERT_EQ(h.sim.local_name(l, reinterpret_cast<::sockaddr*>(&name), &len), 0);
  EXPECT_NE(name.sin_port, 0);
  const int client = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(h.connect(client, endpoint(ntohs(name.sin_port), "10.1.2.3")), 0);
  const int server = h.accept(l);
  ::sockaddr_in seen{}, own{};
  len = sizeof seen;
  ASSERT_EQ(h.sim.peer_name(server, reinterpret_cast<::sockaddr*>(&seen), &len), 0);
  ASSERT_EQ(h.sim.local_name(client, reinterpret_cast<::sockaddr*>(&own), &len), 0);
  EXPECT_EQ(std::memcmp(&seen, &own, sizeof own), 0);
  ASSERT_EQ(h.sim.local_name(server, reinterpret_cast<::sockaddr*>(&own), &len), 0);
  char text[INET_ADDRSTRLEN];
  EXPECT_STREQ(::inet_ntop(AF_INET, &own.sin_addr, text, sizeof text), "10.1.2.3");
}

HEDDLE_TEST(sim_net, "an address is claimed once, and free again after close") {
  sim_harness h;
  const int l = h.listener(endpoint(80));
  const int other = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(h.sim.bind(other, endpoint(80).get(), endpoint::len), -EADDRINUSE);
  EXPECT_EQ(h.sim.bind(other, endpoint(80, "0.0.0.0").get(), endpoint::len), -EADDRINUSE);
  h.close(l);
  EXPECT_EQ(h.sim.bind(other, endpoint(80).get(), endpoint::len), 0);
}

HEDDLE_TEST(sim_net, "a full backlog makes a client try again later, and give up in the end") {
  sim_harness h;
  const int l = h.listener(endpoint(80), 1);
  int clients[3];
  for (int& c : clients) c = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(h.connect(clients[0], endpoint(80)), 0);
  const time_point before = h.sim.now();
  const endpoint to(80);
  asked second(op_code::connect, clients[1]);
  second.data = const_cast<::sockaddr*>(to.get());
  second.len = to.len;
  h.submit(second);
  h.sim.turn(h.w, before + 500ms);
  EXPECT_FALSE(second.done);
  EXPECT_GE(h.accept(l), 0);
  EXPECT_EQ(h.finish(second), 0);
  EXPECT_GE(h.sim.now() - before, 1s);
  EXPECT_EQ(h.connect(clients[2], endpoint(80)), -ETIMEDOUT);
}

HEDDLE_TEST(sim_net, "a writer waits when the buffer is full, until somebody reads") {
  sim_harness h({.socket_buffer_bytes = 8});
  int client, server;
  h.connected(client, server);
  EXPECT_EQ(h.write(client, "0123456789"), 8);
  asked more(op_code::send, client);
  more.data = const_cast<char*>("ab");
  more.len = 2;
  h.submit(more);
  h.settle();
  EXPECT_FALSE(more.done);
  char byte;
  EXPECT_EQ(h.read(server, &byte, 1), 1);
  EXPECT_EQ(h.finish(more), 1);
}

HEDDLE_TEST(sim_net, "bytes arrive after the latency and at the speed of the link") {
  sim_harness h({.link = {.latency = 10ms, .bytes_per_second = 1000}});
  int client, server;
  h.connected(client, server);
  const time_point before = h.sim.now();
  h.write(client, std::string(500, 'x'));
  char bytes[500];
  EXPECT_EQ(h.read(server, bytes, sizeof bytes), 500);
  EXPECT_GE(h.sim.now() - before, 510ms);
  EXPECT_LT(h.sim.now() - before, 511ms);
}

HEDDLE_TEST(sim_net, "a link can be named by an address") {
  sim_harness h;
  h.sim.set_link(endpoint(80).get(), endpoint::len, {.latency = 2s});
  int client, server;
  const time_point before = h.sim.now();
  h.connected(client, server);
  EXPECT_GE(h.sim.now() - before, 4s);
}

HEDDLE_TEST(sim_net, "jitter never reorders the bytes of a stream") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_harness h({.seed = seed, .link = {.latency = 1ms, .jitter = 5ms}});
    int client, server;
    h.connected(client, server);
    for (const char* part : {"a", "b", "c", "d", "e", "f"}) h.write(client, part);
    EXPECT_EQ(h.sim.shutdown(client, SHUT_WR), 0);
    EXPECT_EQ(h.read_all(server), "abcdef");
  }
}

HEDDLE_TEST(sim_net, "writing to a peer that is gone succeeds once, then breaks the pipe") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  h.close(server);
  h.settle();
  EXPECT_EQ(h.write(client, "x"), 1);
  h.settle();
  EXPECT_EQ(h.write(client, "x"), -EPIPE);
  char byte;
  EXPECT_EQ(h.read(client, &byte, 1), 0);
}

HEDDLE_TEST(sim_net, "closing with unread bytes resets the peer, which is told once") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  h.write(client, "never read");
  h.settle();
  h.close(server);
  char byte;
  EXPECT_EQ(h.read(client, &byte, 1), -ECONNRESET);
  EXPECT_EQ(h.read(client, &byte, 1), 0);
  EXPECT_EQ(h.write(client, "x"), -EPIPE);
}

HEDDLE_TEST(sim_net, "a lingering time of zero resets on close") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  const ::linger none{1, 0};
  EXPECT_EQ(h.sim.set_option(server, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
  h.close(server);
  char byte;
  EXPECT_EQ(h.read(client, &byte, 1), -ECONNRESET);
}

HEDDLE_TEST(sim_net, "shutting down a half acts as the system call does") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  EXPECT_EQ(h.sim.shutdown(client, SHUT_WR), 0);
  EXPECT_EQ(h.write(client, "x"), -EPIPE);
  EXPECT_EQ(h.read_all(server), "");
  EXPECT_EQ(h.write(server, "still"), 5);
  char bytes[5];
  EXPECT_EQ(h.read(client, bytes, 5), 5);
  EXPECT_EQ(h.sim.shutdown(server, SHUT_RD), 0);
  EXPECT_EQ(h.read(server, bytes, 5), 0);
  EXPECT_EQ(h.sim.shutdown(h.sim.socket(AF_INET, SOCK_STREAM, 0), SHUT_WR), -ENOTCONN);
}

HEDDLE_TEST(sim_net, "poll tells what is ready, and hang-ups whether asked or not") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  asked in(op_code::poll, server);
  in.flags = POLLIN;
  h.submit(in);
  h.settle();
  EXPECT_FALSE(in.done);
  h.write(client, "x");
  EXPECT_EQ(h.finish(in), POLLIN);
  asked out(op_code::poll, server);
  out.flags = POLLOUT;
  h.submit(out);
  EXPECT_EQ(h.finish(out), POLLOUT);
  h.sim.reset_connection(server);
  asked none(op_code::poll, server);
  h.submit(none);
  EXPECT_NE(h.finish(none) & POLLHUP, 0);
}

HEDDLE_TEST(sim_net, "receive_all gives blocks until the end, and the blocks come back") {
  sim_harness h({.limits = {.block_bytes = 4}});
  int client, server;
  h.connected(client, server);
  asked all(op_code::receive_all, server);
  h.submit(all);
  h.write(client, "0123456789");
  EXPECT_EQ(h.sim.shutdown(client, SHUT_WR), 0);
  EXPECT_EQ(h.finish(all), 0);
  std::string text;
  for (const completion& c : all.got) {
    EXPECT_EQ(c.has_block, c.more);
    if (!c.has_block) continue;
    text.append(reinterpret_cast<char*>(h.sim.block_at(c.block)),
                static_cast<std::size_t>(c.result));
  }
  EXPECT_EQ(text, "0123456789");
  EXPECT_EQ(h.sim.blocks_out(), 3u);
  for (const completion& c : all.got)
    if (c.has_block) h.sim.return_block(c.block);
  EXPECT_EQ(h.sim.blocks_out(), 0u);
}

HEDDLE_TEST(sim_net, "receive_all without a block left waits, and the bytes go to whoever asks") {
  sim_harness h({.limits = {.block_bytes = 4, .block_count = 1}});
  int client, server;
  h.connected(client, server);
  asked all(op_code::receive_all, server);
  h.submit(all);
  h.write(client, "01234567");
  h.settle();
  ASSERT_EQ(all.got.size(), 1u);
  h.sim.cancel(all, h.w);
  EXPECT_EQ(h.finish(all), -ECANCELED);
  char rest[8];
  EXPECT_EQ(h.read(server, rest, sizeof rest), 4);
  h.sim.return_block(all.got[0].block);
}

HEDDLE_TEST(sim_net, "a multishot operation that gets false ends with what was on its way") {
  sim_harness h;
  const endpoint at(80);
  const int l = h.listener(at);
  asked all(op_code::accept_all, l);
  all.keep_going = false;
  int clients[3];
  for (int& c : clients) {
    c = h.sim.socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(h.connect(c, at), 0);
  }
  h.submit(all);
  EXPECT_EQ(h.finish(all), -ECANCELED);
  ASSERT_EQ(all.got.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(all.got[i].result, 1000);
}

HEDDLE_TEST(sim_net, "a connection that finds no descriptor stays in the queue") {
  sim_harness h({.descriptors_max = 2});
  const endpoint at(80);
  const int l = h.listener(at);
  const int client = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(h.connect(client, at), 0);
  EXPECT_EQ(h.accept(l), -EMFILE);
  h.close(client);
  EXPECT_GE(h.accept(l), 0) << "the connection waited in the queue";
}

HEDDLE_TEST(sim_net, "a connect that is cancelled leaves a socket that can connect again") {
  int canceled = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim_harness h({.seed = seed});
    const endpoint at(80);
    const int l = h.listener(at);
    const int client = h.sim.socket(AF_INET, SOCK_STREAM, 0);
    asked c(op_code::connect, client);
    c.data = const_cast<::sockaddr*>(at.get());
    c.len = at.len;
    h.submit(c);
    h.sim.cancel(c, h.w);
    h.finish(c);
    canceled += c.result() == -ECANCELED;
    if (c.result() == -ECANCELED) {
      EXPECT_EQ(h.connect(client, at), 0);
    }
    EXPECT_GE(h.accept(l), 0);
  }
  EXPECT_GT(canceled, 5);
}

HEDDLE_TEST(sim_net, "Unix sockets meet at a path of the file tree") {
  sim_harness h;
  const unix_endpoint at("/run/x.sock");
  const int l = h.sim.socket(AF_UNIX, SOCK_STREAM, 0);
  const int client = h.sim.socket(AF_UNIX, SOCK_STREAM, 0);
  asked early(op_code::connect, client);
  early.data = const_cast<::sockaddr*>(at.get());
  early.len = at.len;
  h.submit(early);
  EXPECT_EQ(h.finish(early), -ENOENT);
  ASSERT_EQ(h.sim.bind(l, at.get(), at.len), 0);
  ASSERT_EQ(h.sim.listen(l, 1), 0);
  EXPECT_TRUE(h.sim.exists("/run/x.sock"));
  h.submit(early);
  EXPECT_EQ(h.finish(early), 0);
  const int server = h.accept(l);
  EXPECT_EQ(h.write(client, "hi"), 2);
  char bytes[2];
  EXPECT_EQ(h.read(server, bytes, 2), 2);
  h.close(server);
  EXPECT_EQ(h.write(client, "x"), -EPIPE) << "no delay on one machine";
  h.close(l);
  const int other = h.sim.socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(h.sim.bind(other, at.get(), at.len), -EADDRINUSE) << "the name outlives its socket";
}

HEDDLE_TEST(sim_net, "a pipe ends when its writer closes and breaks when its reader does") {
  sim_harness h({.pipe_buffer_bytes = 4});
  int ends[2];
  ASSERT_EQ(h.sim.pipe(ends), 0);
  EXPECT_EQ(h.write(ends[1], "012345", op_code::write), 4);
  EXPECT_EQ(h.write(ends[0], "x", op_code::write), -EBADF);
  EXPECT_EQ(h.write(ends[1], "x", op_code::send), -ENOTSOCK);
  h.close(ends[1]);
  EXPECT_EQ(h.read_all(ends[0], op_code::read), "0123");
  ASSERT_EQ(h.sim.pipe(ends), 0);
  h.close(ends[0]);
  EXPECT_EQ(h.write(ends[1], "x", op_code::write), -EPIPE);
}

HEDDLE_TEST(sim_net, "a datagram arrives whole, with the name of who sent it") {
  sim_harness h;
  const endpoint at(53);
  const int server = h.sim.socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_EQ(h.sim.bind(server, at.get(), at.len), 0);
  const int client = h.sim.socket(AF_INET, SOCK_DGRAM, 0);
  char ask[] = "who?";
  ::iovec piece{ask, 4};
  ::msghdr out{};
  out.msg_name = const_cast<::sockaddr*>(at.get());
  out.msg_namelen = at.len;
  out.msg_iov = &piece;
  out.msg_iovlen = 1;
  asked send(op_code::send_msg, client);
  send.data = &out;
  h.submit(send);
  EXPECT_EQ(h.finish(send), 4);
  char got[2];
  ::sockaddr_in from{};
  ::iovec small{got, 2};
  ::msghdr in{};
  in.msg_name = &from;
  in.msg_namelen = sizeof from;
  in.msg_iov = &small;
  in.msg_iovlen = 1;
  asked receive(op_code::receive_msg, server);
  receive.data = &in;
  h.submit(receive);
  EXPECT_EQ(h.finish(receive), 2);
  EXPECT_EQ(in.msg_flags, MSG_TRUNC);
  EXPECT_NE(from.sin_port, 0);
  EXPECT_EQ(h.connect(server, endpoint(ntohs(from.sin_port))), 0);
  EXPECT_EQ(h.write(server, "me"), 2);
  EXPECT_EQ(h.read(client, got, 2), 2);
}

HEDDLE_TEST(sim_net, "datagrams are lost and reordered as the link says") {
  sim_harness h({.link = {.jitter = 1ms, .loss = 0.5}});
  const endpoint at(53);
  const int server = h.sim.socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_EQ(h.sim.bind(server, at.get(), at.len), 0);
  const int client = h.sim.socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_EQ(h.connect(client, at), 0);
  for (char c = 'A'; c <= 'Z'; ++c) EXPECT_EQ(h.write(client, {&c, 1}), 1);
  h.settle();
  std::string seen;
  char byte;
  while (h.read(server, &byte, 1) == 1) seen += byte;
  EXPECT_GT(seen.size(), 5u);
  EXPECT_LT(seen.size(), 21u);
  EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
}

HEDDLE_TEST(sim_net, "a connected datagram socket learns that nobody is there") {
  sim_harness h;
  const int client = h.sim.socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_EQ(h.connect(client, endpoint(53)), 0);
  EXPECT_EQ(h.write(client, "x"), 1);
  char byte;
  EXPECT_EQ(h.read(client, &byte, 1), -ECONNREFUSED);
}

}  // namespace heddle::test
