// SPDX-License-Identifier: MIT
// A client for measuring servers, so cheap that it is not the limit: it has the kernel discard what
// comes, uncopied and unopened. That everything came is checked all the same: the first connection
// opens a whole file and compares it, and on every connection each answer's first record is opened
// under the number that it must have after the discarded ones.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "heddle/io/address.hh"
#include "secret.hh"

namespace sealed {

struct load_options {
  std::vector<heddle::address> servers;  ///< connections go to them in turn
  std::string name;                      ///< of the file to ask for
  std::string expected;                  ///< a local copy to compare with; empty: sizes only
  unsigned connections = 16;
  double warmup_s = 0.5;
  double seconds = 3;
  std::vector<pid_t> server_pids;  ///< whose processor time is measured
};

struct load_result {
  double seconds = 0;
  double bytes = 0;  ///< of files, without what sealing adds
  std::uint64_t answers = 0;
  double client_cpu_s = 0;
  double server_cpu_s = 0;
  [[nodiscard]] std::string json() const;
};

/// Opens one whole file by a client as everybody uses it. Fails with trouble when it differs from
/// the local copy. Gives its size.
[[nodiscard]] heddle::task<std::uint64_t> verify(const load_options& o, const shared_key& key);
/// Measures; blocks its thread. Fails with trouble, or as the system says.
[[nodiscard]] load_result run_load(const load_options& o, const shared_key& key,
                                   std::uint64_t size);

}  // namespace sealed
