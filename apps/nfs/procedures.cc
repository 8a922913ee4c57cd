// SPDX-License-Identifier: MIT
// How calls get to their procedures: who may, in which color, and what a failure looks like.
#include "procedures.hh"

#include <algorithm>
#include <concepts>

#include "statuses.hh"

namespace nfs {

using heddle::task;
using namespace nfs3;

namespace {

// The first handle of each procedure's arguments.
template <class A>
const handle& first_handle(const A& a) {
  if constexpr (requires { a.what.dir; })
    return a.what.dir;
  else if constexpr (requires { a.where.dir; })
    return a.where.dir;
  else if constexpr (requires { a.from.dir; })
    return a.from.dir;
  else if constexpr (requires { a.object.dir; })
    return a.object.dir;
  else if constexpr (requires { a.object.data; })
    return a.object;
  else if constexpr (requires { a.symlink.data; })
    return a.symlink;
  else if constexpr (requires { a.file.data; })
    return a.file;
  else if constexpr (requires { a.fsroot; })
    return a.fsroot;
  else
    return a.dir;
}

// The bytes that large replies may take, which count while the call is under way.
std::size_t reply_bytes(const READ3args& a) { return std::min(a.count, transfer_bytes_max); }
std::size_t reply_bytes(const READDIR3args& a) { return std::min(a.count, transfer_bytes_max); }
std::size_t reply_bytes(const READDIRPLUS3args& a) {
  return std::min(a.maxcount, transfer_bytes_max);
}

template <class P, class... Ps>
concept one_of = (std::same_as<P, Ps> || ...);

using v3 = NFS_V3;
template <class P>
constexpr bool changes = one_of<P, v3::SETATTR, v3::WRITE, v3::CREATE, v3::MKDIR, v3::SYMLINK,
                                v3::MKNOD, v3::REMOVE, v3::RMDIR, v3::RENAME, v3::LINK>;

/// Gives a result the status of a failure, and keeps what a failure may say: attributes of the
/// object or directory, which the procedure has put into the successful form already.
template <class R>
void turn_into_failure(R& r, nfsstat3 status) {
  if constexpr (requires { r.resfail().dir_wcc; }) {
    auto seen = std::move(r.resok().dir_wcc);
    r.set(status);
    r.resfail().dir_wcc = std::move(seen);
  } else if constexpr (requires { r.resfail().obj_wcc; }) {
    auto seen = std::move(r.resok().obj_wcc);
    r.set(status);
    r.resfail().obj_wcc = std::move(seen);
  } else if constexpr (requires { r.resfail().file_wcc; }) {
    auto seen = std::move(r.resok().file_wcc);
    r.set(status);
    r.resfail().file_wcc = std::move(seen);
  } else if constexpr (requires { r.resfail().fromdir_wcc; }) {
    RENAME3resok seen = std::move(r.resok());
    r.set(status);
    r.resfail().fromdir_wcc = std::move(seen.fromdir_wcc);
    r.resfail().todir_wcc = std::move(seen.todir_wcc);
  } else if constexpr (requires { r.resfail().linkdir_wcc; }) {
    LINK3resok seen = std::move(r.resok());
    r.set(status);
    r.resfail().file_attributes = std::move(seen.file_attributes);
    r.resfail().linkdir_wcc = std::move(seen.linkdir_wcc);
  } else if constexpr (requires { r.resfail().dir_attributes; }) {
    auto seen = std::move(r.resok().dir_attributes);
    r.set(status);
    r.resfail().dir_attributes = std::move(seen);
  } else if constexpr (requires { r.resfail().obj_attributes; }) {
    auto seen = std::move(r.resok().obj_attributes);
    r.set(status);
    r.resfail().obj_attributes = std::move(seen);
  } else if constexpr (requires { r.resfail().file_attributes; }) {
    auto seen = std::move(r.resok().file_attributes);
    r.set(status);
    r.resfail().file_attributes = std::move(seen);
  } else if constexpr (requires { r.resfail().symlink_attributes; }) {
    auto seen = std::move(r.resok().symlink_attributes);
    r.set(status);
    r.resfail().symlink_attributes = std::move(seen);
  } else {
    r.set(status);
  }
}

}  // namespace

procedures::procedures(volume& of, const export_list& exports, procedure_options options)
    : volume_(of), exports_(exports), options_(options), repeats_(options.repeats) {}

task<post_op_attr> procedures::attributes_after(object& of) {
  outcome<fattr3> a = co_await volume_.attributes(of);
  post_op_attr known;
  if (a) known = *a;
  co_return known;
}

template <class P>
task<> procedures::run_inside(subject& s, const typename P::argument& a, typename P::result& r) {
  co_await heddle::enter(s.place.color);
  outcome<object_ptr> at = co_await volume_.open(first_handle(a));
  nfsstat3 status = at ? nfsstat3::NFS3_OK : at.error();
  if (at) {
    s.at = std::move(*at);
    status = co_await answer(P(), s, a, r);
    s.at.reset();  // in its own color
  }
  if (status != nfsstat3::NFS3_OK) turn_into_failure(r, listed_status(P::number, status));
}

template <class P>
task<typename P::result> procedures::run(const heddle::rpc::call& from,
                                         const typename P::argument& a) {
  counters_.calls.fetch_add(1, std::memory_order_relaxed);
  typename P::result r{};
  outcome<subject> s = admit(volume_, exports_, from, first_handle(a), changes<P>);
  if (s)
    co_await run_inside<P>(*s, a, r);
  else
    r.set(listed_status(P::number, s.error()));
  if (r.status != nfsstat3::NFS3_OK) counters_.refused.fetch_add(1, std::memory_order_relaxed);
  co_return r;
}

template <class P>
void procedures::serve(heddle::rpc::server& s) {
  const auto answered = [this](const heddle::rpc::call& from,
                               typename P::argument a) -> task<typename P::result> {
    co_return co_await run<P>(from, a);
  };
  if constexpr (requires(typename P::argument a) { reply_bytes(a); })
    s.on<P>(answered, [](const typename P::argument& a) { return reply_bytes(a); });
  else
    s.on<P>(answered);
}

template <class P>
void procedures::serve_once(heddle::rpc::server& s) {
  s.on<P>(
      [this](const heddle::rpc::call& from, typename P::argument a) -> task<typename P::result> {
        co_return co_await repeats_.once<P>(from, a, run<P>(from, a));
      });
}

void procedures::add_to(heddle::rpc::server& s) {
  serve<v3::GETATTR>(s);
  serve_once<v3::SETATTR>(s);
  serve<v3::LOOKUP>(s);
  serve<v3::ACCESS>(s);
  serve<v3::READLINK>(s);
  serve<v3::READ>(s);
  serve<v3::WRITE>(s);
  serve_once<v3::CREATE>(s);
  serve_once<v3::MKDIR>(s);
  serve_once<v3::SYMLINK>(s);
  serve_once<v3::MKNOD>(s);
  serve_once<v3::REMOVE>(s);
  serve_once<v3::RMDIR>(s);
  serve_once<v3::RENAME>(s);
  serve_once<v3::LINK>(s);
  serve<v3::READDIR>(s);
  serve<v3::READDIRPLUS>(s);
  serve<v3::FSSTAT>(s);
  serve<v3::FSINFO>(s);
  serve<v3::PATHCONF>(s);
  serve<v3::COMMIT>(s);
}

}  // namespace nfs
