/* SPDX-License-Identifier: MIT
 * The outcomes of calls (RFC 5531 section 9) by the names and numbers of ONC RPC's C library: for
 * clients clnt_stat, whose zero is success, and for servers accept_stat and auth_stat.
 */
#pragma once

enum clnt_stat : int {
  RPC_SUCCESS = 0,
  RPC_CANTENCODEARGS = 1,
  RPC_CANTDECODERES = 2,
  RPC_CANTSEND = 3,
  RPC_CANTRECV = 4,
  RPC_TIMEDOUT = 5,
  RPC_VERSMISMATCH = 6,
  RPC_AUTHERROR = 7,
  RPC_PROGUNAVAIL = 8,
  RPC_PROGVERSMISMATCH = 9,
  RPC_PROCUNAVAIL = 10,
  RPC_CANTDECODEARGS = 11,
  RPC_SYSTEMERROR = 12,
  RPC_UNKNOWNHOST = 13,
  RPC_FAILED = 16,
};
enum accept_stat : int {
  SUCCESS = 0,
  PROG_UNAVAIL = 1,
  PROG_MISMATCH = 2,
  PROC_UNAVAIL = 3,
  GARBAGE_ARGS = 4,
  SYSTEM_ERR = 5,
};
enum auth_stat : int {
  AUTH_OK = 0,
  AUTH_BADCRED = 1,
  AUTH_REJECTEDCRED = 2,
  AUTH_BADVERF = 3,
  AUTH_REJECTEDVERF = 4,
  AUTH_TOOWEAK = 5,
};

/// The outcome in words.
[[nodiscard]] const char* clnt_sperrno(clnt_stat how) noexcept;
/// The text that `warn << how` writes.
[[nodiscard]] inline const char* libasync_text(clnt_stat how) noexcept { return clnt_sperrno(how); }
