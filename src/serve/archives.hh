// SPDX-License-Identifier: MIT
// --archives: a folder as one file. /folder/?archive=zip and ?archive=tar send all that is below
// the folder, as it is read: an archive of any size takes some kilobytes of memory, and a path for
// each file of a zip.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "serve/options.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The rules of archives; archives under way keep them when the settings change.
struct archive_rules {
  std::string folder;  ///< the served folder
  bool hidden = false;
  std::size_t files_max = 0;  ///< more: the archive is cut off, and the client sees an error
};

/// Thread: the shard's color. Owns: its binding.
class archives {
 public:
  archives(bus& b, const serve_options& o);
  archives(const archives&) = delete;
  archives& operator=(const archives&) = delete;
  ~archives() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  bus& bus_;
  std::shared_ptr<const archive_rules> rules_;
};

}  // namespace heddle::serve
