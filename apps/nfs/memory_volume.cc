// SPDX-License-Identifier: MIT
// Operations of a memory_volume: each waits, fails if a test wants that, and works on the tree.
#include "memory_volume.hh"

#include <cstring>

#include "heddle/core/sleep.hh"

namespace nfs {

namespace {

memory_node& node_of(object& o) noexcept { return static_cast<memory_node&>(o); }

}  // namespace

memory_volume::memory_volume(const memory_options& options)
    : options_(options), tree_(options), delays_(options.seed) {}

heddle::task<nfsstat3> memory_volume::turn() {
  if (options_.delay_max.count() > 0)
    co_await heddle::sleep_for(heddle::nanoseconds(static_cast<std::int64_t>(
        delays_() % static_cast<std::uint64_t>(options_.delay_max.count() + 1))));
  if (faults_left_ == 0) co_return nfsstat3::NFS3_OK;
  --faults_left_;
  co_return fault_;
}

template <class F>
heddle::task<std::invoke_result_t<F&>> memory_volume::after_turn(F work) {
  const nfsstat3 fault = co_await turn();
  if (fault != nfsstat3::NFS3_OK) co_return std::unexpected(fault);
  co_return work();
}

std::optional<handle_place> memory_volume::locate(const handle& of) const noexcept {
  const auto export_number = tree_.locate(of);
  if (!export_number) return std::nullopt;
  return handle_place{*export_number, options_.place};
}

handle memory_volume::root(std::uint32_t export_number) const { return tree_.root(export_number); }

nfs3::writeverf3 memory_volume::verifier() const noexcept {
  const std::uint64_t number = options_.seed + losses_.load(std::memory_order_relaxed);
  nfs3::writeverf3 v;
  static_assert(sizeof v == sizeof number);
  std::memcpy(v.data(), &number, sizeof v);
  return v;
}

void memory_volume::crash() {
  tree_.lose_unstable();
  losses_.fetch_add(1, std::memory_order_relaxed);
}

outcome<void> memory_volume::sync(memory_node& of, nfs3::wcc_data& seen) {
  if (syncs_to_fail_ == 0) {
    const auto done = tree_.sync(of);
    if (done) ++syncs_;
    return done;
  }
  --syncs_to_fail_;
  tree_.lose_unstable(of);
  losses_.fetch_add(1, std::memory_order_relaxed);
  if (const auto now = tree_.attributes(of)) seen.after = *now;
  return std::unexpected(nfsstat3::NFS3ERR_IO);
}

heddle::task<outcome<object_ptr>> memory_volume::open(const handle& of) {
  auto n = tree_.open(of);
  if (!n) co_return std::unexpected(n.error());
  co_return object_ptr(std::move(*n));
}
heddle::task<outcome<nfs3::fattr3>> memory_volume::attributes(object& of) {
  co_return tree_.attributes(node_of(of));
}
heddle::task<outcome<void>> memory_volume::set(object& of, const nfs3::sattr3& to,
                                               const std::optional<nfs3::nfstime3>& guard,
                                               const identity& who, nfs3::wcc_data& seen) {
  return after_turn([this, &of, &to, &guard, &who, &seen] {
    return tree_.set(node_of(of), to, guard, who, seen);
  });
}
heddle::task<outcome<std::uint32_t>> memory_volume::access(object& of, std::uint32_t wanted,
                                                           const identity& who) {
  return after_turn([this, &of, wanted, &who] { return tree_.access(node_of(of), wanted, who); });
}
heddle::task<outcome<found>> memory_volume::lookup(object& dir, const std::string& name,
                                                   const identity& who) {
  return after_turn([this, &dir, &name, &who] { return tree_.lookup(node_of(dir), name, who); });
}
heddle::task<outcome<std::string>> memory_volume::read_link(object& of, const identity&) {
  return after_turn([this, &of] { return tree_.read_link(node_of(of)); });
}
heddle::task<outcome<read_data>> memory_volume::read(object& of, std::uint64_t at,
                                                     std::uint32_t count, const identity& who) {
  return after_turn(
      [this, &of, at, count, &who] { return tree_.read(node_of(of), at, count, who); });
}
heddle::task<outcome<nfs3::stable_how>> memory_volume::write(object& of, std::uint64_t at,
                                                             const heddle::chain& data,
                                                             nfs3::stable_how how,
                                                             const identity& who,
                                                             nfs3::wcc_data& seen) {
  return after_turn([this, &of, at, &data, how, &who, &seen]() -> outcome<nfs3::stable_how> {
    const auto written = tree_.write(node_of(of), at, data, who, seen);
    if (!written) return std::unexpected(written.error());
    if (how == nfs3::stable_how::UNSTABLE) return how;
    const auto stable = sync(node_of(of), seen);
    if (!stable) return std::unexpected(stable.error());
    return nfs3::stable_how::FILE_SYNC;
  });
}
heddle::task<outcome<void>> memory_volume::commit(object& of, nfs3::wcc_data& seen) {
  return after_turn([this, &of, &seen]() -> outcome<void> {
    const auto now = tree_.attributes(node_of(of));
    if (!now) return std::unexpected(now.error());
    seen.before = nfs3::wcc_attr{now->size, now->mtime, now->ctime};
    seen.after = *now;
    return sync(node_of(of), seen);
  });
}
heddle::task<outcome<found>> memory_volume::create(object& dir, const std::string& name,
                                                   const nfs3::createhow3& how, const identity& who,
                                                   nfs3::wcc_data& seen) {
  return after_turn([this, &dir, &name, &how, &who, &seen] {
    return tree_.create(node_of(dir), name, how, who, seen);
  });
}
heddle::task<outcome<found>> memory_volume::make_directory(object& dir, const std::string& name,
                                                           const nfs3::sattr3& with,
                                                           const identity& who,
                                                           nfs3::wcc_data& seen) {
  return after_turn([this, &dir, &name, &with, &who, &seen] {
    return tree_.make_directory(node_of(dir), name, with, who, seen);
  });
}
heddle::task<outcome<found>> memory_volume::make_link(object& dir, const std::string& name,
                                                      const nfs3::symlinkdata3& link,
                                                      const identity& who, nfs3::wcc_data& seen) {
  return after_turn([this, &dir, &name, &link, &who, &seen] {
    return tree_.make_link(node_of(dir), name, link, who, seen);
  });
}
heddle::task<outcome<found>> memory_volume::make_node(object& dir, const std::string& name,
                                                      const nfs3::mknoddata3& what,
                                                      const identity& who, nfs3::wcc_data& seen) {
  return after_turn([this, &dir, &name, &what, &who, &seen] {
    return tree_.make_node(node_of(dir), name, what, who, seen);
  });
}
heddle::task<outcome<void>> memory_volume::remove(object& dir, const std::string& name,
                                                  const identity& who, nfs3::wcc_data& seen) {
  return after_turn(
      [this, &dir, &name, &who, &seen] { return tree_.remove(node_of(dir), name, who, seen); });
}
heddle::task<outcome<void>> memory_volume::remove_directory(object& dir, const std::string& name,
                                                            const identity& who,
                                                            nfs3::wcc_data& seen) {
  return after_turn([this, &dir, &name, &who, &seen] {
    return tree_.remove_directory(node_of(dir), name, who, seen);
  });
}
heddle::task<outcome<void>> memory_volume::rename(object& from, const std::string& name,
                                                  const handle& to, const std::string& to_name,
                                                  const identity& who, nfs3::wcc_data& from_seen,
                                                  nfs3::wcc_data& to_seen) {
  return after_turn([this, &from, &name, &to, &to_name, &who, &from_seen, &to_seen] {
    return tree_.rename(node_of(from), name, to, to_name, who, from_seen, to_seen);
  });
}
heddle::task<outcome<void>> memory_volume::link(object& of, const handle& dir,
                                                const std::string& name, const identity& who,
                                                nfs3::wcc_data& dir_seen) {
  return after_turn([this, &of, &dir, &name, &who, &dir_seen] {
    return tree_.link(node_of(of), dir, name, who, dir_seen);
  });
}
heddle::task<outcome<listing>> memory_volume::list(object& dir, list_request what,
                                                   const identity& who) {
  return after_turn([this, &dir, what, &who] { return tree_.list(node_of(dir), what, who); });
}
heddle::task<outcome<nfs::space>> memory_volume::space(object& of) {
  return after_turn([this, &of]() -> outcome<nfs::space> {
    if (node_of(of).links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
    return tree_.space();
  });
}
heddle::task<outcome<nfs::limits>> memory_volume::limits(object& of) {
  return after_turn([this, &of]() -> outcome<nfs::limits> {
    if (node_of(of).links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
    return tree_.limits();
  });
}

}  // namespace nfs
