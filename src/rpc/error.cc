// SPDX-License-Identifier: MIT
// The error category of calls.
#include "heddle/rpc/call.hh"

namespace heddle::rpc {
namespace {

class call_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rpc"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::program_unavailable:
        return "the server does not have the program";
      case errc::program_mismatch:
        return "the server has other versions of the program";
      case errc::procedure_unavailable:
        return "the server does not have the procedure";
      case errc::garbage_arguments:
        return "the server could not read the arguments";
      case errc::system_error:
        return "the procedure failed";
      case errc::rpc_mismatch:
        return "the server wants another version of RPC";
      case errc::authentication:
        return "the server does not accept the credentials";
      case errc::bad_reply:
        return "the reply cannot be read";
      case errc::bad_record:
        return "a record is too long or no message";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const call_category only;
  return only;
}

}  // namespace heddle::rpc
