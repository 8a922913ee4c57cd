// SPDX-License-Identifier: MIT
// seccomm: messages between two channels made of micro-protocols, over UDP; prints what a push and
// a pop cost by size.
//
//   seccomm                                     64 to 2048 bytes, both ciphers
//   seccomm --sizes 64 --ciphers aes_256_gcm --json
#include <CLI/CLI.hpp>
#include <cstdio>

#include "heddle/sched/runtime.hh"
#include "talk.hh"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Secure communication made of micro-protocols, and what it costs.", "seccomm");
  seccomm::talk_options o;
  bool json = false;
  app.add_option("--sizes", o.sizes, "Bytes of the messages")->capture_default_str();
  app.add_option("--count", o.count, "Messages of each size")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("--ciphers", o.ciphers, "Ciphers with commas, the inner one first")
      ->capture_default_str();
  app.add_flag("--json", json, "One line a size for programs");
  CLI11_PARSE(app, argc, argv);
  heddle::runtime rt;
  if (!json) std::printf("%6s  %9s  %9s\n", "bytes", "push", "pop");
  for (const seccomm::talk_result& r : rt.run(seccomm::talk(o))) {
    std::printf(json ? "{\"size\":%zu,\"push_ns\":%.1f,\"pop_ns\":%.1f,\"arrived\":%llu}\n"
                     : "%6zu  %6.1f ns  %6.1f ns  %llu arrived\n",
                r.size, r.push_ns, r.pop_ns, static_cast<unsigned long long>(r.arrived));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
