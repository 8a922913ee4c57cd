// SPDX-License-Identifier: MIT
// Admission: the handle must be ours, the caller must be in a network of the export, and a change
// needs a network that may write.
#include "admission.hh"

namespace nfs {

outcome<subject> admit(const volume& in, const export_list& exports, const heddle::rpc::call& from,
                       const handle& of, bool to_change) {
  const std::optional<handle_place> place = in.locate(of);
  if (!place || place->export_number >= exports.all().size())
    return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  const exported& e = exports.all()[place->export_number];
  const exported::rule* const rule = e.rule_for(from.peer);
  if (rule == nullptr) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
  if (to_change && !rule->may_write) return std::unexpected(nfsstat3::NFS3ERR_ROFS);
  return subject{*place, e.identity_of(from.who), rule->may_write, nullptr};
}

nfsstat3 second_status(const volume& in, const subject& first, const handle& other) {
  const std::optional<handle_place> place = in.locate(other);
  if (!place) return nfsstat3::NFS3ERR_BADHANDLE;
  return place->export_number == first.place.export_number ? nfsstat3::NFS3_OK
                                                           : nfsstat3::NFS3ERR_XDEV;
}

}  // namespace nfs
