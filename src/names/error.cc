// SPDX-License-Identifier: MIT
// The category of look-ups, and what its codes mean to people.
#include "heddle/names/found.hh"

namespace heddle::names {
namespace {

class name_errors final : public std::error_category {
 public:
  const char* name() const noexcept override { return "names"; }
  std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::no_such_name:
        return "there is no such name";
      case errc::no_address:
        return "the name has no address of this version";
      case errc::bad_name:
        return "this is not the name of a host";
      case errc::server_failed:
        return "the name servers have a failure";
      case errc::no_answer:
        return "no name server answers";
      case errc::bad_answer:
        return "a name server's answer is damaged";
      case errc::no_server:
        return "no name server is known";
      case errc::too_many:
        return "too many names are being looked up at once";
      case errc::bad_file:
        return "a file that names are looked up in cannot be read";
      case errc::not_built:
        return "this build cannot ask name servers itself (it has no c-ares)";
    }
    return "unknown code " + std::to_string(code);
  }
  std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<errc>(code)) {
      case errc::no_such_name:
      case errc::no_address:
        return std::errc::address_not_available;
      case errc::bad_name:
        return std::errc::invalid_argument;
      case errc::server_failed:
      case errc::no_server:
        return std::errc::resource_unavailable_try_again;
      case errc::no_answer:
        return std::errc::timed_out;
      case errc::bad_answer:
        return std::errc::bad_message;
      case errc::too_many:
        return std::errc::device_or_resource_busy;
      case errc::bad_file:
        return std::errc::io_error;
      case errc::not_built:
        return std::errc::not_supported;
    }
    return {code, *this};
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const name_errors all;
  return all;
}

}  // namespace heddle::names
