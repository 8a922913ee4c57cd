// SPDX-License-Identifier: MIT
// --upload: takes files. `curl -T FILE http://host/inbox/` stores one; a browser finds a form at
// /inbox/?upload.
//
// A file is written under a hidden name in its folder and gets its own name when it is whole and on
// disk, so no reader sees half of it, and a broken upload leaves nothing. A file that is there
// stays, unless --upload-replace is on.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "serve/options.hh"
#include "serve/pattern.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The rules of uploads. Uploads under way keep them when the settings change.
struct upload_rules {
  std::string folder;                ///< the served folder
  std::vector<path_pattern> places;  ///< where files may be put
  std::uint64_t bytes_max = 0;       ///< bytes of one request
  bool replace = false;
  bool hidden = false;  ///< names that begin with a dot are allowed
  /// The folders without files of uploads that a process which was killed had begun.
  std::shared_ptr<std::set<std::string>> tidied = std::make_shared<std::set<std::string>>();
};

/// Thread: the shard's color. Owns: its binding.
class uploads {
 public:
  uploads(bus& b, const serve_options& o);
  uploads(const uploads&) = delete;
  uploads& operator=(const uploads&) = delete;
  ~uploads() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  bus& bus_;
  std::shared_ptr<const upload_rules> rules_;
};

}  // namespace heddle::serve
