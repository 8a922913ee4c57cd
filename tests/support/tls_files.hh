// SPDX-License-Identifier: MIT
// Certificates for tests, made once a process: an authority, sites and clients that it signed, and
// an authority that nobody trusts. Their files go when the process ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "heddle/sim/driver.hh"
#include "heddle/tls/authority.hh"
#include "heddle/tls/options.hh"

namespace heddle::test {

class tls_files {
 public:
  static const tls_files& get() {
    static const tls_files made;
    return made;
  }
  tls_files(const tls_files&) = delete;
  ~tls_files() { std::filesystem::remove_all(folder_); }

  /// In a simulation the file is on its disk, too.
  [[nodiscard]] std::string path(std::string_view name) const {
    std::string at = folder_ + '/' + std::string(name);
    const worker* const w = worker::current();
    if (auto* const world = w == nullptr ? nullptr : dynamic_cast<sim_driver*>(w->io)) {
      std::ifstream in(at, std::ios::binary);
      world->write_file(at, std::string(std::istreambuf_iterator<char>(in), {}));
    }
    return at;
  }
  /// NAME.pem and NAME.key: "site" for localhost, "other" for other.example.org and
  /// *.wild.example.org, "client", and "stranger" by the other authority.
  [[nodiscard]] tls::certificate_files certificate(const std::string& name) const {
    return {path(name + ".pem"), path(name + ".key")};
  }
  [[nodiscard]] std::string authority() const { return path("ca.pem"); }

  void write(const std::string& name, const tls::pem_pair& pair) const {
    std::ofstream(folder_ + '/' + name + ".pem") << pair.certificate;
    std::ofstream(folder_ + '/' + name + ".key") << pair.key;
    static_cast<void>(certificate(name));
  }
  [[nodiscard]] const tls::pem_pair& ca() const noexcept { return ca_; }

 private:
  tls_files() : ca_(tls::make_authority("Heddle test")) {
    char name[] = "/tmp/heddle-tls-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    folder_ = name;
    write("ca", ca_);
    write("site", tls::issue(ca_, {.names = {"localhost", "127.0.0.1", "::1"}}));
    write("other", tls::issue(ca_, {.names = {"other.example.org", "*.wild.example.org"}}));
    write("client", tls::issue(ca_, {.names = {"client.example.org"}, .for_client = true}));
    const tls::pem_pair strange = tls::make_authority("Stranger");
    write("stranger_ca", strange);
    write("stranger", tls::issue(strange, {.names = {"localhost"}}));
    write("stranger_client", tls::issue(strange, {.names = {"s.example"}, .for_client = true}));
  }

  tls::pem_pair ca_;
  std::string folder_;
};

/// HEDDLE_TEST_TLS_RECORDS=own: servers of the tests seal their records themselves.
inline bool tests_own_records() noexcept {
  static const char* const asked = std::getenv("HEDDLE_TEST_TLS_RECORDS");
  return asked != nullptr && std::string_view(asked) == "own";
}

}  // namespace heddle::test
