// SPDX-License-Identifier: MIT
// A server with a store, and clients of it, for the tests of room rpc.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/rpc/client.hh"
#include "heddle/rpc/server.hh"
#include "heddle/xdr/generator.hh"
#include "heddle/xdr/printer.hh"
#include "store.hh"
#include "support/drivers.hh"

namespace heddle::test {

using namespace std::chrono_literals;
using v1 = store::STORE_V1;
using v3 = store::STORE_V3;

class store_service {
 public:
  task<store::answer> get(const rpc::call& c, store::key name) {
    last = c;
    store::answer a;
    const auto at = values.find(name);
    a.set(at == values.end() ? store::NO_SUCH_KEY : store::OK);
    if (at != values.end()) a.value().append_copy(at->second);
    co_return a;
  }
  task<store::status> put(const rpc::call&, store::STORE_V1_PUT_argument a) {
    if (values.size() >= 1000) co_return store::FULL;
    values[a.argument1] = a.argument2.value.to_string();
    co_return store::OK;
  }
  task<store::entries> all(const rpc::call&) {
    store::entries first;
    xdr::list_builder<store::entry> entries(first);
    for (const auto& [name, value] : values) {
      store::entry& e = entries.append();
      e.name = name;
      e.value.append_copy(value);
    }
    co_return first;
  }
  task<std::uint32_t> sleep(const rpc::call&, std::uint32_t ms) {
    ++asleep;
    most_asleep = std::max(most_asleep, asleep);
    struct waking {
      int& n;
      ~waking() { --n; }
    } const at_end{asleep};
    co_await sleep_for(std::chrono::milliseconds(ms));
    ++slept;
    co_return ms;
  }
  task<> fail(const rpc::call&, xdr::text<> why) {
    throw std::runtime_error(why);
    co_return;
  }
  task<store::everything> same(const rpc::call&, store::everything e) { co_return e; }
  task<store::opaque_data> bytes(const rpc::call&, store::opaque_data b) { co_return b; }
  task<std::int32_t> sum(const rpc::call&, store::STORE_V3_SUM_argument a) {
    co_return a.argument1 + a.argument2;
  }

  void add_to(rpc::server& s) {
    s.on<v1::GET>(&store_service::get, *this);
    s.on<v1::PUT>(&store_service::put, *this);
    s.on<v1::ALL>(&store_service::all, *this);
    s.on<v1::SLEEP>(&store_service::sleep, *this);
    s.on<v1::FAIL>(&store_service::fail, *this);
    s.on<v1::SAME>(&store_service::same, *this);
    s.on<v1::BYTES>(&store_service::bytes, *this);
    s.on<v3::SUM>(&store_service::sum, *this);
  }

  std::map<std::string, std::string> values;
  rpc::call last;
  int asleep = 0;
  int most_asleep = 0;
  int slept = 0;
};

/// A server that runs, and its address.
struct running_store {
  store_service service;
  rpc::server server;
  address at;
  explicit running_store(rpc::server_options o = {}) : server(o) { service.add_to(server); }
  [[nodiscard]] task<tcp_stream> connect() const { return tcp_connect(at); }
};

/// Runs body(running_store&) beside the server; the server then stops, and nothing may be left.
template <class Body>
task<> with_store(Body body, rpc::server_options o = {}) {
  running_store r(o);
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  r.at = door.local();
  scope s;
  s.spawn(r.server.serve(std::move(door)));
  std::exception_ptr error;
  try {
    co_await body(r);
  } catch (...) {
    error = std::current_exception();
  }
  r.server.stop();
  co_await s.join();
  EXPECT_EQ(r.server.counters().open, 0u);
  if (error) std::rethrow_exception(error);
}

/// The code of a result, which is 0 if there is a value.
template <class T>
std::error_code code_of(const result<T>& r) {
  return r ? std::error_code() : r.error();
}

/// The error of a call as text; empty if it succeeds.
template <class T>
task<std::string> error_of(task<T> call) {
  try {
    static_cast<void>(co_await std::move(call));
  } catch (const std::system_error& e) {
    co_return std::string(e.code().category().name()) + ": " + e.what();
  }
  co_return "";
}
inline task<std::string> error_of(task<void> call) {
  try {
    co_await std::move(call);
  } catch (const std::system_error& e) {
    co_return std::string(e.code().category().name()) + ": " + e.what();
  }
  co_return "";
}

}  // namespace heddle::test
