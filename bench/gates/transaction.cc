// SPDX-License-Identifier: MIT
// Instructions of a transaction that nobody disturbs: it reads a variable, adds one and writes it.
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

using namespace heddle;

namespace {

void add_one(transaction& tx, tvar<long>& v) { tx.write(v, tx.read(v) + 1); }

task<> program(long n) {
  tvar<long> v = 0;
  for (long i = 0; i < n; ++i) co_await atomically(add_one, std::ref(v));
  if (v.value() != n) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options;  // small and simple: what counts here never reaches the driver
  options.driver = "poll";
  options.poll_interval = std::chrono::hours(1);  // looks at the driver would count by time
  options.memory_bytes = std::size_t{1} << 30;
  runtime rt(options);
  rt.run(program(argc > 1 ? std::atol(argv[1]) : 1000));
}
