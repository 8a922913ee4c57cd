// SPDX-License-Identifier: MIT
// Records, and the heads of calls and replies, from any bytes: records are found whatever pieces
// the bytes arrive in, none is longer than its limit, and a head that is read is written to the
// same bytes again.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"

namespace {

using namespace heddle;

constexpr std::size_t bytes_max = 200;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// The records in these bytes, and "!" where an error ends them.
std::vector<std::string> records_of(byte_view bytes, std::size_t block) {
  std::vector<std::string> all;
  rpc::detail::record_input in(bytes_max);
  try {
    for (std::size_t at = 0; at < bytes.size(); at += block) {
      in.feed(received::copy_of(byte_view(bytes.text().substr(at, block))));
      while (const auto record = in.next()) {
        demand(record->size() <= bytes_max);
        all.push_back(record->to_string());
      }
    }
  } catch (const failure& e) {
    demand(e.code() == rpc::errc::bad_record);
    all.emplace_back("!");
  }
  return all;
}

void check_message(const std::string& bytes) {
  chain message;
  message.append_copy(byte_view(bytes));
  xdr::reader as_call(message);
  rpc::detail::call_head head;
  rpc::credentials who;
  rpc::detail::credential_state state{};
  if (read_call(as_call, head, who, state) && head.rpc_version == 2 &&
      state == rpc::detail::credential_state::good) {
    xdr::writer out;
    write_call(out, head, who);
    const std::string again = out.take().to_string();
    chain written;
    written.append_copy(byte_view(again));
    xdr::reader in(written);
    rpc::detail::call_head same;
    rpc::credentials also;
    demand(read_call(in, same, also, state) && in.left() == 0);
    demand(same.xid == head.xid && same.program == head.program && same.version == head.version &&
           same.procedure == head.procedure);
    demand(also.none == who.none && also.machine == who.machine && also.uid == who.uid &&
           also.gids == who.gids && also.gids.size() <= 16 && also.machine.size() <= 255);
  }
  xdr::reader as_reply(message);
  rpc::detail::reply_head reply;
  if (read_reply(as_reply, reply)) demand(static_cast<bool>(reply.refusal) != reply.text.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(data, size);
  const std::vector<std::string> whole = records_of(bytes, size + 1);
  demand(records_of(bytes, 1) == whole);
  demand(records_of(bytes, 7) == whole);
  for (const std::string& each : whole) check_message(each);
  check_message(std::string(bytes.text()));
  return 0;
}
