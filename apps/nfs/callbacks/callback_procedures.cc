// SPDX-License-Identifier: MIT
// CREATE, WRITE and READDIRPLUS in steps. begin() starts an operation and names the step that goes
// on; an object of the call keeps what later steps need.
#include "callbacks/callback_procedures.hh"

#include <algorithm>

#include "heddle/core/callback.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/start.hh"
#include "names.hh"
#include "statuses.hh"

namespace nfs::callbacks {

using heddle::task;
using namespace nfs3;
using enum nfsstat3;

namespace {

/// Starts an operation, which calls a member function of the call at its end. The call lives as
/// long as an operation of its own is under way.
template <class Call, class T>
void begin(heddle::task<T> operation, const std::shared_ptr<Call>& call, void (Call::*next)(T)) {
  heddle::start(std::move(operation), heddle::function_event<T>([call, next](T result) {
                  ((*call).*next)(std::move(result));
                }));
}

/// Runs a call in its color, and waits for its reply.
template <class Call, class Result, class... Args>
task<> run_in(heddle::color where, Result& r, volume& of, subject& s, Args&... args) {
  co_await heddle::enter(where);
  heddle::rendezvous<> done;
  heddle::event<> over = done.make_event();
  const reply<Result> answer = [&r, &over](Result&& result) {
    r = std::move(result);
    over.trigger();
  };
  const auto call = std::make_shared<Call>(of, std::move(s), args..., answer);
  call->start();
  co_await done;
}

}  // namespace

create_call::create_call(volume& of, subject&& s, const CREATE3args& a, reply<CREATE3res> done)
    : volume_(of), subject_(std::move(s)), arguments_(a), done_(std::move(done)) {}

void create_call::start() {
  begin(volume_.open(arguments_.where.dir), shared_from_this(), &create_call::opened);
}

void create_call::opened(outcome<object_ptr> at) {
  if (!at) {
    finish(at.error());
    return;
  }
  subject_.at = std::move(*at);
  const std::string& name = arguments_.where.name;
  nfsstat3 bad = is_dot_name(name) ? NFS3ERR_EXIST : name_status(name);
  if (bad == NFS3_OK && arguments_.how.mode != createmode3::EXCLUSIVE)
    bad = attributes_status(arguments_.how.obj_attributes());
  if (bad != NFS3_OK) {
    finish(bad);
    return;
  }
  begin(volume_.create(*subject_.at, name, arguments_.how, subject_.who, seen_), shared_from_this(),
        &create_call::made);
}

void create_call::made(outcome<found> f) {
  if (!f) {
    finish(f.error());
    return;
  }
  result_.resok().obj = std::move(f->file);
  result_.resok().obj_attributes = std::move(f->attributes);
  finish(NFS3_OK);
}

void create_call::finish(nfsstat3 status) {
  if (status == NFS3_OK) {
    result_.resok().dir_wcc = std::move(seen_);
  } else {
    result_.set(listed_status(NFS_V3::CREATE::number, status));
    result_.resfail().dir_wcc = std::move(seen_);
  }
  subject_.at.reset();
  done_(std::move(result_));
}

write_call::write_call(volume& of, subject&& s, const WRITE3args& a, reply<WRITE3res> done)
    : volume_(of), subject_(std::move(s)), arguments_(a), done_(std::move(done)) {}

void write_call::start() {
  begin(volume_.open(arguments_.file), shared_from_this(), &write_call::opened);
}

void write_call::opened(outcome<object_ptr> at) {
  if (!at) {
    finish(at.error());
    return;
  }
  subject_.at = std::move(*at);
  if (arguments_.count != arguments_.data.size() || arguments_.count > transfer_bytes_max) {
    finish(NFS3ERR_INVAL);
    return;
  }
  result_.resok().verf = volume_.verifier();
  begin(volume_.write(*subject_.at, arguments_.offset, arguments_.data, arguments_.stable,
                      subject_.who, seen_),
        shared_from_this(), &write_call::written);
}

void write_call::written(outcome<stable_how> how) {
  if (!how) {
    finish(how.error());
    return;
  }
  result_.resok().count = arguments_.count;
  result_.resok().committed = *how;
  finish(NFS3_OK);
}

void write_call::finish(nfsstat3 status) {
  if (status == NFS3_OK) {
    result_.resok().file_wcc = std::move(seen_);
  } else {
    result_.set(listed_status(NFS_V3::WRITE::number, status));
    result_.resfail().file_wcc = std::move(seen_);
  }
  subject_.at.reset();
  done_(std::move(result_));
}

list_call::list_call(volume& of, subject&& s, const READDIRPLUS3args& a, std::uint32_t bytes_max,
                     reply<READDIRPLUS3res> done)
    : volume_(of),
      subject_(std::move(s)),
      arguments_(a),
      bytes_max_(bytes_max),
      done_(std::move(done)) {}

void list_call::start() {
  begin(volume_.open(arguments_.dir), shared_from_this(), &list_call::opened);
}

void list_call::opened(outcome<object_ptr> at) {
  if (!at) {
    status_ = at.error();
    finish();
    return;
  }
  subject_.at = std::move(*at);
  begin(volume_.attributes(*subject_.at), shared_from_this(), &list_call::got_attributes_before);
}

void list_call::got_attributes_before(outcome<fattr3> now) {
  if (now) attributes_ = *now;
  const std::uint32_t count = std::min(arguments_.maxcount, bytes_max_);
  if (arguments_.cookie != 0 && arguments_.cookieverf != list_verifier)
    status_ = NFS3ERR_BAD_COOKIE;
  else if (count < list_overhead)
    status_ = NFS3ERR_TOOSMALL;
  if (status_ != NFS3_OK) {
    finish();
    return;
  }
  const list_request what{.cookie = arguments_.cookie,
                          .bytes_max = count - list_overhead,
                          .names_bytes_max = arguments_.dircount,
                          .with_handles = true};
  begin(volume_.list(*subject_.at, what, subject_.who), shared_from_this(),
        &list_call::listed_part);
}

void list_call::listed_part(outcome<listing> part) {
  if (part)
    part_ = std::move(*part);
  else
    status_ = part.error();
  begin(volume_.attributes(*subject_.at), shared_from_this(), &list_call::got_attributes_after);
}

void list_call::got_attributes_after(outcome<fattr3> now) {
  attributes_.reset();
  if (now) attributes_ = *now;
  finish();
}

void list_call::finish() {
  if (status_ == NFS3_OK) {
    heddle::xdr::list_builder<entryplus3> entries(result_.resok().reply.entries);
    for (listed& e : part_.entries) {
      entryplus3& to = entries.append();
      to.fileid = e.fileid;
      to.name = std::move(e.name);
      to.cookie = e.cookie;
      to.name_attributes = std::move(e.attributes);
      to.name_handle = std::move(e.file);
    }
    result_.resok().reply.eof = part_.end;
    result_.resok().dir_attributes = std::move(attributes_);
  } else {
    result_.set(listed_status(NFS_V3::READDIRPLUS::number, status_));
    result_.resfail().dir_attributes = std::move(attributes_);
  }
  subject_.at.reset();
  done_(std::move(result_));
}

procedures::procedures(volume& of, const export_list& exports, procedure_options options)
    : volume_(of), exports_(exports), options_(options), repeats_(options.repeats) {}

task<CREATE3res> procedures::create(const heddle::rpc::call& from, const CREATE3args& a) {
  CREATE3res r;
  outcome<subject> s = admit(volume_, exports_, from, a.where.dir, true);
  if (!s) {
    r.set(listed_status(NFS_V3::CREATE::number, s.error()));
    co_return r;
  }
  co_await run_in<create_call>(s->place.color, r, volume_, *s, a);
  co_return r;
}

task<WRITE3res> procedures::write(const heddle::rpc::call& from, const WRITE3args& a) {
  WRITE3res r;
  outcome<subject> s = admit(volume_, exports_, from, a.file, true);
  if (!s) {
    r.set(listed_status(NFS_V3::WRITE::number, s.error()));
    co_return r;
  }
  co_await run_in<write_call>(s->place.color, r, volume_, *s, a);
  co_return r;
}

task<READDIRPLUS3res> procedures::list(const heddle::rpc::call& from, const READDIRPLUS3args& a) {
  READDIRPLUS3res r;
  outcome<subject> s = admit(volume_, exports_, from, a.dir, false);
  if (!s) {
    r.set(listed_status(NFS_V3::READDIRPLUS::number, s.error()));
    co_return r;
  }
  co_await run_in<list_call>(s->place.color, r, volume_, *s, a, options_.list_bytes_max);
  co_return r;
}

void procedures::add_to(heddle::rpc::server& s) {
  s.on<NFS_V3::CREATE>([this](const heddle::rpc::call& from, CREATE3args a) -> task<CREATE3res> {
    co_return co_await repeats_.once<NFS_V3::CREATE>(from, a, create(from, a));
  });
  s.on<NFS_V3::WRITE>([this](const heddle::rpc::call& from, WRITE3args a) -> task<WRITE3res> {
    co_return co_await write(from, a);
  });
  s.on<NFS_V3::READDIRPLUS>(
      [this](const heddle::rpc::call& from, READDIRPLUS3args a) -> task<READDIRPLUS3res> {
        co_return co_await list(from, a);
      });
}

}  // namespace nfs::callbacks
