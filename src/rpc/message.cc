// SPDX-License-Identifier: MIT
// Reads and writes the heads of messages, field by field.
#include "heddle/rpc/detail/message.hh"

namespace heddle::rpc::detail {
namespace {

constexpr std::uint32_t a_call = 0;
constexpr std::uint32_t a_reply = 1;
constexpr std::uint32_t auth_none = 0;
constexpr std::uint32_t auth_sys = 1;
constexpr std::uint32_t accepted = 0;
constexpr std::uint32_t denied = 1;
constexpr std::uint32_t rpc_version = 2;
constexpr std::uint32_t auth_bytes_max = 400;

using auth_body = xdr::bytes<auth_bytes_max>;

/// The body of AUTH_SYS.
struct sys_body {
  std::uint32_t stamp = 0;
  xdr::text<255> machine;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  xdr::list<std::uint32_t, 16> gids;

  template <class A, xdr::form_of<sys_body> V>
  friend bool describe(A& a, V& v) {
    return a("stamp", v.stamp) && a("machinename", v.machine) && a("uid", v.uid) &&
           a("gid", v.gid) && a("gids", v.gids);
  }
};

void put(xdr::writer& out, auto... numbers) { (out.write(std::uint32_t{numbers}), ...); }

credential_state read_credentials(std::uint32_t flavor, const auth_body& body, credentials& who) {
  if (flavor == auth_none) return body.empty() ? credential_state::good : credential_state::bad;
  if (flavor != auth_sys) return credential_state::unknown_flavor;
  chain bytes;
  bytes.append_copy(byte_view(body));
  auto read = xdr::decode<sys_body>(bytes);
  if (!read) return credential_state::bad;
  who = {false, read->stamp, std::move(read->machine), read->uid, read->gid, std::move(read->gids)};
  return credential_state::good;
}

const char* text_of_auth(std::uint32_t reason) noexcept {
  switch (reason) {
    case 1:
      return "the credentials are malformed (AUTH_BADCRED)";
    case 2:
      return "the server does not know this kind of credentials (AUTH_REJECTEDCRED)";
    case 3:
      return "the verifier is malformed (AUTH_BADVERF)";
    case 4:
      return "the verifier has expired (AUTH_REJECTEDVERF)";
    case 5:
      return "the server wants stronger credentials (AUTH_TOOWEAK)";
    default:
      return "the server does not accept the credentials (AUTH_ERROR)";
  }
}

bool read_denied(xdr::reader& in, reply_head& head) {
  std::uint32_t status = 0;
  if (!in.read(status)) return false;
  if (status == 0) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    if (!in.read(low) || !in.read(high)) return false;
    head.refusal = errc::rpc_mismatch;
    head.text = "the server wants version " + std::to_string(low) + " to " + std::to_string(high) +
                " of RPC (RPC_MISMATCH)";
    return true;
  }
  std::uint32_t reason = 0;
  if (status != 1 || !in.read(reason)) return false;
  head.refusal = errc::authentication;
  head.text = text_of_auth(reason);
  return true;
}

}  // namespace

bool read_call(xdr::reader& in, call_head& head, credentials& who, credential_state& state) {
  std::uint32_t type = 0;
  if (!in.read(head.xid) || !in.read(type) || type != a_call) return false;
  if (!in.read(head.rpc_version)) return false;
  if (head.rpc_version != rpc_version) return true;
  if (!in.read(head.program) || !in.read(head.version) || !in.read(head.procedure)) return false;
  std::uint32_t flavor = 0;
  auth_body body;
  if (!in.read(flavor) || !in.read(body)) return false;
  state = read_credentials(flavor, body, who);
  return in.read(flavor) && in.read(body);  // the verifier, which these two kinds do not use
}

void write_call(xdr::writer& out, const call_head& head, const credentials& who) {
  put(out, head.xid, a_call, rpc_version, head.program, head.version, head.procedure);
  if (who.none) {
    put(out, auth_none, 0u);
  } else {
    sys_body sys;
    sys.stamp = who.stamp;
    static_cast<std::string&>(sys.machine) = who.machine;
    sys.uid = who.uid;
    sys.gid = who.gid;
    static_cast<std::vector<std::uint32_t>&>(sys.gids) = who.gids;
    put(out, auth_sys);
    out.write(auth_body(xdr::encode(sys).to_string()));
  }
  put(out, auth_none, 0u);
}

void write_accepted(xdr::writer& out, std::uint32_t xid, reply_status status, std::uint32_t low,
                    std::uint32_t high) {
  put(out, xid, a_reply, accepted, auth_none, 0u, static_cast<std::uint32_t>(status));
  if (status == reply_status::program_mismatch) put(out, low, high);
}

void write_rpc_mismatch(xdr::writer& out, std::uint32_t xid) {
  put(out, xid, a_reply, denied, 0u, rpc_version, rpc_version);
}

void write_auth_error(xdr::writer& out, std::uint32_t xid, std::uint32_t reason) {
  put(out, xid, a_reply, denied, 1u, reason);
}

bool read_reply(xdr::reader& in, reply_head& head) {
  std::uint32_t type = 0;
  std::uint32_t stat = 0;
  if (!in.read(head.xid) || !in.read(type) || type != a_reply || !in.read(stat)) return false;
  if (stat == denied) return read_denied(in, head);
  std::uint32_t flavor = 0;
  auth_body verifier;
  std::uint32_t status = 0;
  if (stat != accepted || !in.read(flavor) || !in.read(verifier) || !in.read(status)) return false;
  switch (static_cast<reply_status>(status)) {
    case reply_status::success:
      return true;
    case reply_status::program_unavailable:
      head.refusal = errc::program_unavailable;
      head.text = "the server does not have the program (PROG_UNAVAIL)";
      return true;
    case reply_status::program_mismatch: {
      std::uint32_t low = 0;
      std::uint32_t high = 0;
      if (!in.read(low) || !in.read(high)) return false;
      head.refusal = errc::program_mismatch;
      head.text = "the server has versions " + std::to_string(low) + " to " + std::to_string(high) +
                  " of the program (PROG_MISMATCH)";
      return true;
    }
    case reply_status::procedure_unavailable:
      head.refusal = errc::procedure_unavailable;
      head.text = "the server does not have the procedure (PROC_UNAVAIL)";
      return true;
    case reply_status::garbage_arguments:
      head.refusal = errc::garbage_arguments;
      head.text = "the server could not read the arguments (GARBAGE_ARGS); compare the .x files";
      return true;
    case reply_status::system_error:
      head.refusal = errc::system_error;
      head.text = "the procedure failed (SYSTEM_ERR); see the log of the server";
      return true;
  }
  return false;
}

}  // namespace heddle::rpc::detail
