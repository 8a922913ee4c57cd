// SPDX-License-Identifier: MIT
// --upload: takes files. `curl -T FILE http://host/inbox/` stores one; a browser finds a form at
// /inbox/?upload.
//
// A file is written under a hidden name in its folder and gets its own name when it is whole and on
// disk, so no reader sees half of it, and a broken upload leaves nothing. If the process is killed,
// the hidden file stays for an hour. A file that is there stays, unless --upload-replace is on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "serve/options.hh"
#include "serve/pattern.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// When files of uploads that a killed process had begun were removed from these folders.
using tidied_folders = std::map<std::string, time_point>;

/// The rules of uploads. Uploads under way keep them when the settings change.
struct upload_rules {
  std::string folder;                ///< the served folder
  std::vector<path_pattern> places;  ///< where files may be put
  std::uint64_t bytes_max = 0;       ///< bytes of one request
  bool replace = false;
  bool hidden = false;  ///< names that begin with a dot are allowed
  std::shared_ptr<tidied_folders> tidied = std::make_shared<tidied_folders>();
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

/// Removes files of uploads that a killed process had begun, now and once an hour, from the folders
/// of these places. In folders below these the next upload removes them.
[[nodiscard]] task<> tidy_uploads(std::string served, std::vector<path_pattern> places);

}  // namespace heddle::serve
