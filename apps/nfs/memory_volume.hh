// SPDX-License-Identifier: MIT
// A volume in the program, for the simulation, the fuzzer and tests: the same seed and the same
// calls give the same handles, times and statuses. Tests can make it wait, fail and crash.
//
//   memory_volume v({.bytes_max = 1 << 20});
//   ...                                            // clients write without asking for stability
//   v.crash();                                     // and have to write again
#pragma once

#include <atomic>
#include <random>
#include <type_traits>

#include "heddle/base/clock.hh"
#include "memory_tree.hh"

namespace nfs {

struct memory_options : memory_tree_options {
  heddle::color place{1};  ///< all objects belong to this color
  /// Each operation waits for a random time up to this before its work, so that operations of
  /// several clients mix.
  heddle::nanoseconds delay_max{0};
};

/// Thread: as volume; crash(), fail_syncs(), fail_next() and mistake(): the color `place`, or while
///   no operation runs.
/// Cancel: an operation that waits before its work changes nothing.
class memory_volume final : public volume {
 public:
  explicit memory_volume(const memory_options& options = {});

  /// All that was not made stable is lost, and the verifier changes, as after a restart.
  void crash();
  /// The next syncs fail with IO: the data of their file is lost and the verifier changes, as a
  /// disk's error makes the kernel drop its dirty pages.
  void fail_syncs(std::uint32_t count) noexcept { syncs_to_fail_ = count; }
  /// The next operations fail with this status before they do anything; open() and attributes()
  /// do not.
  void fail_next(nfsstat3 with, std::uint32_t operations = 1) noexcept {
    fault_ = with;
    faults_left_ = operations;
  }
  /// The first thing in the tree that contradicts another; empty if all is well.
  [[nodiscard]] std::string mistake() const { return tree_.mistake(); }
  /// Files that were made stable, by COMMIT or by a stable write.
  [[nodiscard]] std::uint64_t syncs() const noexcept { return syncs_; }

  [[nodiscard]] std::optional<handle_place> locate(const handle& of) const noexcept override;
  [[nodiscard]] handle root(std::uint32_t export_number) const override;
  [[nodiscard]] nfs3::writeverf3 verifier() const noexcept override;
  [[nodiscard]] heddle::task<outcome<object_ptr>> open(const handle& of) override;
  [[nodiscard]] heddle::task<outcome<nfs3::fattr3>> attributes(object& of) override;
  [[nodiscard]] heddle::task<outcome<void>> set(object& of, const nfs3::sattr3& to,
                                                const std::optional<nfs3::nfstime3>& guard,
                                                const identity& who, nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<std::uint32_t>> access(object& of, std::uint32_t wanted,
                                                            const identity& who) override;
  [[nodiscard]] heddle::task<outcome<found>> lookup(object& dir, const std::string& name,
                                                    const identity& who) override;
  [[nodiscard]] heddle::task<outcome<std::string>> read_link(object& of,
                                                             const identity& who) override;
  [[nodiscard]] heddle::task<outcome<read_data>> read(object& of, std::uint64_t at,
                                                      std::uint32_t count,
                                                      const identity& who) override;
  [[nodiscard]] heddle::task<outcome<nfs3::stable_how>> write(object& of, std::uint64_t at,
                                                              const heddle::chain& data,
                                                              nfs3::stable_how how,
                                                              const identity& who,
                                                              nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<void>> commit(object& of, nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<found>> create(object& dir, const std::string& name,
                                                    const nfs3::createhow3& how,
                                                    const identity& who,
                                                    nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<found>> make_directory(object& dir, const std::string& name,
                                                            const nfs3::sattr3& with,
                                                            const identity& who,
                                                            nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<found>> make_link(object& dir, const std::string& name,
                                                       const nfs3::symlinkdata3& link,
                                                       const identity& who,
                                                       nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<found>> make_node(object& dir, const std::string& name,
                                                       const nfs3::mknoddata3& what,
                                                       const identity& who,
                                                       nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<void>> remove(object& dir, const std::string& name,
                                                   const identity& who,
                                                   nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<void>> remove_directory(object& dir, const std::string& name,
                                                             const identity& who,
                                                             nfs3::wcc_data& seen) override;
  [[nodiscard]] heddle::task<outcome<void>> rename(object& from, const std::string& name,
                                                   const handle& to, const std::string& to_name,
                                                   const identity& who, nfs3::wcc_data& from_seen,
                                                   nfs3::wcc_data& to_seen) override;
  [[nodiscard]] heddle::task<outcome<void>> link(object& of, const handle& dir,
                                                 const std::string& name, const identity& who,
                                                 nfs3::wcc_data& dir_seen) override;
  [[nodiscard]] heddle::task<outcome<listing>> list(object& dir, list_request what,
                                                    const identity& who) override;
  [[nodiscard]] heddle::task<outcome<nfs::space>> space(object& of) override;
  [[nodiscard]] heddle::task<outcome<nfs::limits>> limits(object& of) override;

 private:
  [[nodiscard]] heddle::task<nfsstat3> turn();
  template <class F>
  [[nodiscard]] heddle::task<std::invoke_result_t<F&>> after_turn(F work);
  [[nodiscard]] outcome<void> sync(memory_node& of, nfs3::wcc_data& seen);

  memory_options options_;
  memory_tree tree_;
  std::mt19937_64 delays_;
  std::atomic<std::uint64_t> losses_{0};  // relaxed: read by replies, ordered by the color
  std::uint64_t syncs_ = 0;
  std::uint32_t syncs_to_fail_ = 0;
  nfsstat3 fault_ = nfsstat3::NFS3_OK;
  std::uint32_t faults_left_ = 0;
};

}  // namespace nfs
