// SPDX-License-Identifier: MIT
// class disk_volume: exported directories of local file systems, by the kernel's file handles.
// There is no table of inodes: a handle opens its object, wherever it was moved.
//
// Shards: the objects are divided by the hash of their handles; each shard is a color and owns its
// open descriptors, wcc locks, kept verdicts and merged syncs. Workers share nothing else but the
// verifier, counters, memory of READs and what never changes after the start.
//
// Calls: the worker makes only system calls that cannot wait (fstat, openat2 with RESOLVE_CACHED,
// reads of cached pages), after the caller's permissions are known. All others run in the pool, one
// call for each procedure, with the caller's file identity.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <type_traits>

#include "disk_object.hh"
#include "read_buffers.hh"
#include "state.hh"

namespace nfs {

struct disk_export {
  std::string path;
  std::uint8_t number = 0;  ///< server_state::number_of(path)
};

struct disk_options {
  /// Open descriptors, at most a quarter of RLIMIT_NOFILE.
  std::uint32_t open_max = 4096;
  heddle::nanoseconds idle = std::chrono::seconds(30);  ///< unused descriptors are closed after it
  /// Changes of directories and attributes are on disk before the reply (RFC 1813, 4.8).
  bool sync_changes = true;
  /// READs of at most so many bytes are made on the worker as far as the pages are cached, and in
  /// the pool from there on.
  std::uint32_t read_here_max = transfer_bytes_max;
  std::size_t read_buffer_bytes = 8 << 20;  ///< memory of READs that is kept for later ones
};

/// Numbers since the start. Thread: any.
struct disk_counters {
  std::atomic<std::uint64_t> syncs = 0;         ///< fsync and the like
  std::atomic<std::uint64_t> syncs_shared = 0;  ///< requests that another's sync has served
  std::atomic<std::uint64_t> failed_syncs = 0;  ///< each changed the verifier
  std::atomic<std::uint64_t> opens = 0;         ///< objects opened by handle
  std::atomic<std::uint64_t> here = 0;          ///< calls answered on the worker
  std::atomic<std::int64_t> open_now = 0;
};

/// Thread: locate(), root(), verifier(), counters(): any; others as class volume says.
/// Owns: descriptors. The process's umask becomes 0, because clients choose modes.
/// Cancel: a change that has begun is made; a call that has not begun gives JUKEBOX.
/// Fails: the constructor, with std::runtime_error whose text says what to do.
class disk_volume final : public volume {
 public:
  /// The export of number N is the Nth of the list; `number` is its name in handles.
  disk_volume(const std::vector<disk_export>& exports, const heddle::siphash_key& key,
              disk_options options = {});

  /// Closes descriptors that are not used; runs until it is cancelled. Spawn it once.
  [[nodiscard]] heddle::task<> close_idle();

  [[nodiscard]] const disk_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const read_buffers& buffers() const noexcept { return read_buffers_; }

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
  /// Writes of one file run side by side. `seen.before` is given if no other change of the file ran
  /// meanwhile: with it, a client could take another client's change for its own.
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
  static constexpr std::size_t shard_count = 64;
  template <class T>
  using task = heddle::task<T>;

  struct move_request;
  /// How often a call in the pool may be made: what only looks, or opens files, may be repeated.
  enum class runs { once, twice };

  [[nodiscard]] static heddle::color color_of(std::uint64_t hash) noexcept;
  [[nodiscard]] disk_shard& shard_of(std::uint64_t hash) noexcept {
    return shards_[hash % shard_count];
  }
  [[nodiscard]] task<outcome<std::shared_ptr<disk_object>>> open_object(const handle& of);
  /// The outcome of work() in the pool; JUKEBOX if it was not made, because the pool's queue is
  /// full or the caller was cancelled: the client tries again. If there was no descriptor for it,
  /// it makes room.
  template <runs Runs = runs::twice, class Work>
  [[nodiscard]] task<std::invoke_result_t<Work&>> in_pool(Work& work);
  /// Closes descriptors of a shard that calls do not use now, and gives how many: all that are
  /// idle, or half of the shard's descriptors, the least recently used first.
  enum class which { idle, half };
  task<std::size_t> close_unused(std::size_t shard, which those);
  /// Closes half of the descriptors of all shards. Whether any was closed.
  [[nodiscard]] task<bool> make_room();

  /// Makes all that was done to an object before survive a power failure. Calls that wait together
  /// share one sync. A failure changes the verifier.
  [[nodiscard]] task<outcome<void>> make_stable(disk_object& o);
  /// As make_stable(), for a change of names or attributes, unless options say otherwise.
  [[nodiscard]] task<outcome<void>> change_made(disk_object& o);
  /// Closes the descriptor of an object whose last name is gone.
  [[nodiscard]] heddle::task<> forget(handle gone);
  void new_verifier() noexcept;

  /// The object's status: on the worker, or in the pool if the file system is remote.
  [[nodiscard]] task<outcome<file_stat>> look(disk_object& o);
  /// The permissions and the status that they are for.
  [[nodiscard]] task<outcome<permissions>> ask(disk_object& o, const identity& who, file_stat& st);

  /// Runs work(fd) in the pool, as a change of that name in a directory on behalf of `who`.
  template <class T, class Work>
  [[nodiscard]] task<outcome<T>> change_directory(disk_object& dir, const identity& who,
                                                  nfs3::wcc_data& seen, const std::string& name,
                                                  Work& work);
  [[nodiscard]] task<outcome<void>> remove_entry(disk_object& dir, const std::string& name,
                                                 const identity& who, nfs3::wcc_data& seen,
                                                 int flags);
  [[nodiscard]] task<outcome<void>> lock_second(move_request& r, bool first_too);
  [[nodiscard]] task<outcome<void>> lock_first(move_request& r);
  [[nodiscard]] task<outcome<void>> move_entry(move_request& r);
  [[nodiscard]] task<outcome<void>> change_made_at(const handle& dir);
  [[nodiscard]] task<outcome<void>> link_in(const open_ptr& file, const handle& dir,
                                            const std::string& name, const identity& who,
                                            nfs3::wcc_data& dir_seen);

  const handle_seal seal_;
  disk_options options_;
  std::size_t open_max_each_;
  std::deque<export_root> exports_;
  std::array<std::int16_t, 256> index_of_{};  // by the number in handles; -1: not exported
  std::atomic<std::uint64_t> verifier_;
  disk_counters counters_;
  read_buffers read_buffers_;
  std::array<disk_shard, shard_count> shards_;
};

}  // namespace nfs
