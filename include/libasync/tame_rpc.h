/* SPDX-License-Identifier: MIT
 * tame_rpc::call() and rcall(): start a call that is given as a bundle, for the functions `w_NAME`
 * that rpcgen writes.
 */
#pragma once

#include "arpc.h"
#include "tame.h"

namespace tame_rpc {

inline callbase* rcall(ptr<aclnt> c, rpc_bundle_t b, event<clnt_stat>::ref done) {
  return c->call(b.proc(), b.arg(), b.res(), done);
}
inline void call(ptr<aclnt> c, rpc_bundle_t b, event<clnt_stat>::ref done) {
  tame_rpc::rcall(c, b, done);
}

}  // namespace tame_rpc
