/* SPDX-License-Identifier: MIT
 * This header of libasync needs remote procedure calls, which Heddle does not have yet.
 */
#pragma once

#error "libasync: <tame_rpcserver.h> needs RPC, which is not part of Heddle yet"
