// SPDX-License-Identifier: MIT
// A file system in the program: objects, names, contents, permissions and limits, without waits.
// memory_volume makes a volume of it. Its functions have the names and the meaning of `volume`'s.
#pragma once

#include "heddle/base/clock.hh"
#include "memory_node.hh"

namespace nfs {

/// Limits of a tree, and what its root directories are.
struct memory_tree_options {
  std::uint32_t exports = 1;
  std::uint64_t seed = 1;                                 ///< of the handles' checksums
  std::uint64_t bytes_max = std::uint64_t{256} << 20;     ///< of all contents; then NOSPC
  std::uint64_t files_max = 65536;                        ///< objects of all kinds; then NOSPC
  std::uint64_t file_bytes_max = std::uint64_t{1} << 40;  ///< of one file; then FBIG
  std::uint32_t links_max = 32000;
  std::uint32_t root_mode = 0755, root_uid = 0, root_gid = 0;
};

/// Thread: one color, except handle_of(), locate() and root().
/// Fails: with the statuses that Linux gives, where they are among the procedure's in RFC 1813;
///   otherwise with the nearest one that is. An object that was removed gives STALE.
class memory_tree {
 public:
  explicit memory_tree(const memory_tree_options& options);
  ~memory_tree();
  memory_tree(const memory_tree&) = delete;
  memory_tree& operator=(const memory_tree&) = delete;

  /// The export of a handle that this tree made.
  [[nodiscard]] std::optional<std::uint32_t> locate(const handle& of) const noexcept;
  [[nodiscard]] handle root(std::uint32_t export_number) const;

  [[nodiscard]] outcome<std::shared_ptr<memory_node>> open(const handle& of) const;
  [[nodiscard]] outcome<nfs3::fattr3> attributes(const memory_node& of) const;
  [[nodiscard]] outcome<void> set(memory_node& of, const nfs3::sattr3& to,
                                  const std::optional<nfs3::nfstime3>& guard, const identity& who,
                                  nfs3::wcc_data& seen);
  [[nodiscard]] outcome<std::uint32_t> access(const memory_node& of, std::uint32_t wanted,
                                              const identity& who) const;
  [[nodiscard]] outcome<found> lookup(memory_node& dir, const std::string& name,
                                      const identity& who) const;
  [[nodiscard]] outcome<std::string> read_link(const memory_node& of) const;

  [[nodiscard]] outcome<read_data> read(memory_node& of, std::uint64_t at, std::uint32_t count,
                                        const identity& who);
  [[nodiscard]] outcome<void> write(memory_node& of, std::uint64_t at, const heddle::chain& data,
                                    const identity& who, nfs3::wcc_data& seen);
  /// Makes the content of a file what a crash leaves.
  [[nodiscard]] outcome<void> sync(memory_node& of);
  /// Takes all contents back to what was made stable: a crash.
  void lose_unstable();
  void lose_unstable(memory_node& of);

  [[nodiscard]] outcome<found> create(memory_node& dir, const std::string& name,
                                      const nfs3::createhow3& how, const identity& who,
                                      nfs3::wcc_data& seen);
  [[nodiscard]] outcome<found> make_directory(memory_node& dir, const std::string& name,
                                              const nfs3::sattr3& with, const identity& who,
                                              nfs3::wcc_data& seen);
  [[nodiscard]] outcome<found> make_link(memory_node& dir, const std::string& name,
                                         const nfs3::symlinkdata3& link, const identity& who,
                                         nfs3::wcc_data& seen);
  [[nodiscard]] outcome<found> make_node(memory_node& dir, const std::string& name,
                                         const nfs3::mknoddata3& what, const identity& who,
                                         nfs3::wcc_data& seen);
  [[nodiscard]] outcome<void> remove(memory_node& dir, const std::string& name, const identity& who,
                                     nfs3::wcc_data& seen);
  [[nodiscard]] outcome<void> remove_directory(memory_node& dir, const std::string& name,
                                               const identity& who, nfs3::wcc_data& seen);
  [[nodiscard]] outcome<void> rename(memory_node& from, const std::string& name, const handle& to,
                                     const std::string& to_name, const identity& who,
                                     nfs3::wcc_data& from_seen, nfs3::wcc_data& to_seen);
  [[nodiscard]] outcome<void> link(memory_node& of, const handle& dir, const std::string& name,
                                   const identity& who, nfs3::wcc_data& dir_seen);
  [[nodiscard]] outcome<listing> list(memory_node& dir, const list_request& what,
                                      const identity& who) const;
  [[nodiscard]] nfs::space space() const noexcept;
  [[nodiscard]] nfs::limits limits() const noexcept;

  /// The first thing in the tree that contradicts another; empty if all is well. For tests.
  [[nodiscard]] std::string mistake() const;

 private:
  class change;  // fills a wcc_data

  [[nodiscard]] handle handle_of(std::uint64_t id, std::uint32_t export_number) const;
  [[nodiscard]] found found_at(const memory_node& n) const;
  [[nodiscard]] nfs3::fattr3 describe(const memory_node& n) const noexcept;
  [[nodiscard]] nfs3::nfstime3 now();
  void touch(memory_node& n);  // its content changed

  [[nodiscard]] nfsstat3 resize(memory_node& of, std::uint64_t size);
  [[nodiscard]] nfsstat3 may_set(const memory_node& of, const nfs3::sattr3& to,
                                 const identity& who) const;

  /// OK if the caller may change the directory's entries.
  [[nodiscard]] static nfsstat3 may_change(const memory_node& dir, const identity& who) noexcept;
  /// OK if the caller may add an entry, and its name is free.
  [[nodiscard]] static nfsstat3 may_add(const memory_node& dir, const std::string& name,
                                        const identity& who);
  /// The entry of a name that the caller may take away, or the reason.
  [[nodiscard]] static outcome<std::shared_ptr<memory_node>> removable(const memory_node& dir,
                                                                       const std::string& name,
                                                                       const identity& who);
  [[nodiscard]] outcome<std::shared_ptr<memory_node>> make(memory_node& dir,
                                                           const std::string& name,
                                                           nfs3::ftype3 type, std::uint32_t mode,
                                                           const nfs3::sattr3* with,
                                                           const identity& who);
  [[nodiscard]] outcome<std::shared_ptr<memory_node>> existing_for_create(
      const memory_node& dir, const std::string& name, const nfs3::createhow3& how,
      const identity& who);
  void enter_name(memory_node& dir, const std::string& name, std::shared_ptr<memory_node> n,
                  std::uint64_t cookie = 0);
  memory_entry take_name(memory_node& dir, const std::string& name);
  void drop_link(memory_node& n);
  [[nodiscard]] std::string mistake_below(const memory_node& dir,
                                          std::map<const memory_node*, std::uint32_t>& links) const;

  memory_tree_options options_;
  std::map<std::uint64_t, std::shared_ptr<memory_node>> nodes_;
  std::uint64_t last_id_ = 0;
  std::uint64_t bytes_ = 0;  // of all contents
  heddle::time_point last_time_{};
};

}  // namespace nfs
