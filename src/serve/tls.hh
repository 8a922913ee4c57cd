// SPDX-License-Identifier: MIT
// HTTPS of `heddle serve`: connections of its doors are in TLS with --tls or --acme.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/io/listener.hh"
#include "serve/options.hh"

namespace heddle::tls {
class challenge_table;
struct pem_pair;
}  // namespace heddle::tls

namespace heddle::serve {

/// The TLS of all doors, or none without --tls and --acme. Thread: any; all shards share it.
class secure_door {
 public:
  /// Reads the files. `challenges` answer an authority that checks a name; null without --acme.
  /// Fails: failure, naming the file that cannot be used.
  secure_door(const serve_options& o, std::shared_ptr<tls::challenge_table> challenges);
  ~secure_door();

  /// The listener to accept from: this door, or its connections in TLS.
  [[nodiscard]] listener over(listener door) const;
  /// Reads the files again. Throws, and keeps what it has, when they cannot be used or when other
  /// files are named.
  void reload(const serve_options& next);
  /// Uses these certificates besides those in files. Fails: failure.
  void use(std::vector<tls::pem_pair> ordered);

 private:
  struct site;
  std::unique_ptr<site> site_;  // null without TLS
};

}  // namespace heddle::serve
