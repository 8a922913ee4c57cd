// SPDX-License-Identifier: MIT
// A call as its procedure sees it, and the errors of calls (RFC 5531 sections 8 and 9).
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "heddle/io/address.hh"

namespace heddle::rpc {

/// The caller, as it names itself. AUTH_SYS (RFC 5531 appendix A) proves nothing: believe it from
/// machines that you trust.
struct credentials {
  bool none = true;  ///< AUTH_NONE; otherwise AUTH_SYS
  std::uint32_t stamp = 0;
  std::string machine;  ///< at most 255 bytes
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> gids;  ///< at most 16
};

/// One call, for the procedure that answers it.
struct call {
  std::uint32_t xid = 0;  ///< the caller's number of this call; a repeat has the same one
  address peer;           ///< empty for a Unix socket
  credentials who;
};

/// The reasons for which a server refuses a call or a reply cannot be used.
enum class errc : std::uint8_t {
  program_unavailable = 1,  ///< PROG_UNAVAIL: the server does not have the program
  program_mismatch,         ///< PROG_MISMATCH: it has other versions of it
  procedure_unavailable,    ///< PROC_UNAVAIL
  garbage_arguments,        ///< GARBAGE_ARGS: the server could not read the arguments
  system_error,             ///< SYSTEM_ERR: the procedure failed
  rpc_mismatch,             ///< RPC_MISMATCH: the server wants another version of RPC than 2
  authentication,           ///< AUTH_ERROR: the server does not accept these credentials
  bad_reply,                ///< the reply breaks RFC 5531, or its result cannot be read
  bad_record,               ///< a record is too long, or no message of RPC
};

/// The category of errc. A failure's text names the procedure.
[[nodiscard]] const std::error_category& category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), category()};
}

}  // namespace heddle::rpc

template <>
struct std::is_error_code_enum<heddle::rpc::errc> : std::true_type {};
