// SPDX-License-Identifier: MIT
// Exports: which folders are served, to whom, and as whom.
//
//   /srv/data -rw 10.0.0.0/8 192.0.2.7 -ro 0.0.0.0/0 all_squash anonuid=1000
//
// The first network that contains the caller decides. Without -rw and -ro, only callers from
// loopback addresses may read and write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/network.hh"
#include "heddle/rpc/call.hh"
#include "volume.hh"

namespace nfs {

/// The callers whose user number is replaced by the anonymous one.
enum class squash : std::uint8_t {
  none,  ///< no_root_squash
  root,  ///< root_squash: root, and root's group
  all,   ///< all_squash
};

/// One export. Thread: any; it does not change.
struct exported {
  struct rule {
    heddle::network from;
    bool may_write = false;
  };
  std::string path;  ///< absolute, without a slash at the end
  std::vector<rule> rules;
  squash whom = squash::root;
  std::uint32_t anonymous_uid = 65534;
  std::uint32_t anonymous_gid = 65534;
  bool secure = false;  ///< refuse calls from ports from 1024 up

  /// Reads a line as above. Throws std::invalid_argument, which says what is wrong with which word.
  [[nodiscard]] static exported parse(std::string_view line);

  /// The rule for a caller; nullptr if it may not use the export.
  [[nodiscard]] const rule* rule_for(const heddle::address& caller) const noexcept;
  /// The caller's identity after squashing. A caller without credentials is anonymous.
  [[nodiscard]] identity identity_of(const heddle::rpc::credentials& who) const;
};

/// Reads a file of exports: a line each, '#' begins a comment. Throws std::invalid_argument:
/// "exports:3: ...".
[[nodiscard]] std::vector<exported> parse_exports(std::string_view text, const std::string& name);

/// The exports of a server; an export's number is its place here.
class export_list {
 public:
  /// Throws std::invalid_argument if a path is there twice.
  explicit export_list(std::vector<exported> all);

  [[nodiscard]] const std::vector<exported>& all() const noexcept { return all_; }
  /// The export that holds a path, and the rest of the path below it, without a slash at its start.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::string>> find(
      std::string_view path) const;

 private:
  std::vector<exported> all_;
};

}  // namespace nfs
