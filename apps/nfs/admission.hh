// SPDX-License-Identifier: MIT
// Who may do what: a call's handle and its caller against the exports.
#pragma once

#include "exports.hh"
#include "volume.hh"

namespace nfs {

/// A call that may be served: the object that it is about, and the caller.
struct subject {
  handle_place place;
  identity who;
  bool may_write = false;
  object_ptr at;  ///< open once its color is entered
};

/// Fails with BADHANDLE if the volume did not make the handle, with ACCES if the caller may not use
/// the handle's export, and with ROFS if it may not change it but wants to. Thread: any.
[[nodiscard]] outcome<subject> admit(const volume& in, const export_list& exports,
                                     const heddle::rpc::call& from, const handle& of,
                                     bool to_change);

/// The status of a second handle of a call: it must be of the same export. Thread: any.
[[nodiscard]] nfsstat3 second_status(const volume& in, const subject& first, const handle& other);

}  // namespace nfs
