// SPDX-License-Identifier: MIT
// A head of 276 bytes and a body of N over loopback, the body in ordinary memory, from which the
// kernel copies, or in pages (page_store.hh): `io/send_body_N/copied_DRIVER` and `pages_DRIVER`.
// One operation is one answer that another thread has read; processor time of the sender only. It
// shows from what size on pages are worth it.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/page_store.hh"
#include "heddle/io/tcp.hh"

namespace {

using namespace heddle;

constexpr std::size_t head_bytes = 276;
constexpr int rounds = 256;

/// Connects, and asks by one byte for each answer.
class client {
 public:
  client(std::uint16_t port, std::size_t answer_bytes)
      : thread_([port, answer_bytes] { ask(port, answer_bytes); }) {}

 private:
  static void ask(std::uint16_t port, std::size_t answer_bytes) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::vector<char> into(64 * 1024);
    bool open = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    while (open && ::send(fd, "?", 1, MSG_NOSIGNAL) == 1) {
      for (std::size_t left = answer_bytes; open && left != 0;) {
        const ssize_t got = ::recv(fd, into.data(), std::min(left, into.size()), 0);
        open = got > 0;
        left -= open ? static_cast<std::size_t>(got) : 0;
      }
    }
    ::close(fd);
  }
  std::jthread thread_;
};

/// The memory that holds the body.
enum class place { memory, pages };

task<> answer(tcp_stream& conn, std::string_view head, const piece& body) {
  for (int i = 0; i != rounds; ++i) {
    char asked[1];
    co_await conn.read(asked);
    const sent_now sent = conn.try_write(byte_view(head), body);
    if (sent.complete(head.size() + body.size())) continue;
    chain rest;
    rest.append_copy(byte_view(head)).append(body);
    rest.remove_prefix(sent.bytes);
    co_await conn.write(std::move(rest));
  }
}

piece body_of(std::size_t size, place where, page_store& pages) {
  if (where == place::memory) return piece(std::string(size, 'b'));
  page_block b = pages.allocate(size);
  if (!b) throw failure(std::make_error_code(std::errc::not_enough_memory), "no pages");
  std::memset(b.writable().data(), 'b', size);
  return piece::held_by(std::move(b)).slice(0, size);
}

void bodies(benchmark::State& state, const char* driver, place where, std::size_t size) {
  runtime rt({.driver = driver, .workers = 1});
  page_store pages;
  const std::string head(head_bytes, 'h');
  const piece body = body_of(size, where, pages);
  tcp_listener door;
  tcp_stream conn;
  const auto open = [](tcp_listener& at) -> task<> {
    at = tcp_listener::listen(address::loopback(0));
    co_return;
  };
  const auto meet = [](tcp_listener& at, tcp_stream& with) -> task<> {
    with = co_await at.accept();
  };
  rt.run(open(door));
  const client other(door.local().port(), head.size() + body.size());
  rt.run(meet(door, conn));
  for (auto _ : state) rt.run(answer(conn, head, body));
  state.SetItemsProcessed(state.iterations() * rounds);
  conn.close();
  door.close();
}

void add(const char* driver, const std::string& name) {
  for (const auto& [where, kind] : {std::pair{place::memory, "copied_"}, {place::pages, "pages_"}})
    for (const std::size_t size : {4096, 8192, 16384, 32768, 65536, 131072, 1048576}) {
      benchmark::RegisterBenchmark(
          ("io/send_body_" + std::to_string(size) + "/" + kind + name).c_str(),
          [=](benchmark::State& state) { bodies(state, driver, where, size); });
    }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const heddle::driver_probe& each : heddle::probe_drivers()) {
    if (each.usable && each.name == "io_uring") add("io_uring", "uring");
    if (each.usable && each.name == "epoll") add("epoll", "epoll");
  }
  benchmark::RunSpecifiedBenchmarks();
}
