// SPDX-License-Identifier: MIT
// The heads of calls and replies (RFC 5531 section 9).
#pragma once

#include "heddle/rpc/call.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

namespace heddle::rpc::detail {

/// The head of a call, in front of the arguments.
struct call_head {
  std::uint32_t xid = 0;
  std::uint32_t rpc_version = 2;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
};

/// The outcome of reading a call's credentials.
enum class credential_state : std::uint8_t { good, bad, unknown_flavor };

enum class reply_status : std::uint32_t {
  success = 0,
  program_unavailable = 1,
  program_mismatch = 2,
  procedure_unavailable = 3,
  garbage_arguments = 4,
  system_error = 5,
};

/// The numbers of auth_stat that a server of ours sends.
inline constexpr std::uint32_t auth_bad_credentials = 1;
inline constexpr std::uint32_t auth_rejected = 2;

/// Reads the head of a call. False if the record is no call: its connection then makes no sense.
/// After an rpc_version other than 2, nothing but the xid is read.
[[nodiscard]] bool read_call(xdr::reader& in, call_head& head, credentials& who,
                             credential_state& state);
void write_call(xdr::writer& out, const call_head& head, const credentials& who);

/// The head of an accepted reply; a mismatch also gives the lowest and highest version.
void write_accepted(xdr::writer& out, std::uint32_t xid, reply_status status, std::uint32_t low = 0,
                    std::uint32_t high = 0);
void write_rpc_mismatch(xdr::writer& out, std::uint32_t xid);
void write_auth_error(xdr::writer& out, std::uint32_t xid, std::uint32_t reason);

/// The head of a reply, and the reason if it is a refusal. Its result follows in the reader.
struct reply_head {
  std::uint32_t xid = 0;
  std::error_code refusal;
  std::string text;  ///< for people, if refused
};
/// False if the record is no reply.
[[nodiscard]] bool read_reply(xdr::reader& in, reply_head& head);

}  // namespace heddle::rpc::detail
