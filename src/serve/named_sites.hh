// SPDX-License-Identifier: MIT
// --site "NAME DIR": another folder for requests to this name. A name that begins with `*.` is
// about all names below it. Requests to other names get the folder of the command line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/folder.hh"

namespace heddle::serve {

/// Whether a request to this authority (a host, perhaps with a port) is one to the name.
[[nodiscard]] bool is_named(std::string_view authority, std::string_view name) noexcept;

/// Thread: the shard's color. Owns: its binding and the folders' caches; do not destroy it while
/// busy(). Fails: the constructor throws failure if a folder cannot be used.
class named_sites {
 public:
  named_sites(bus& b, const serve_options& o);
  named_sites(const named_sites&) = delete;
  named_sites& operator=(const named_sites&) = delete;
  ~named_sites() { retire(); }

  flow on_asked(question& q);

  void retire() noexcept { bus_.unbind_all(this); }
  [[nodiscard]] bool busy() const noexcept;
  [[nodiscard]] folder_counters counters() const noexcept;

 private:
  struct one {
    std::string name;
    std::unique_ptr<folder> files;
  };
  bus& bus_;
  std::vector<one> all_;
};

}  // namespace heddle::serve
