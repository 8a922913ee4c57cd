// SPDX-License-Identifier: MIT
// An error as PostgreSQL reports it: a code of five characters (manual, appendix "PostgreSQL Error
// Codes") and a sentence. Thrown by the parser, the store and the statements; a session sends it.
#pragma once

#include <stdexcept>
#include <string>

namespace heddle::fakes::detail {

class pg_error : public std::runtime_error {
 public:
  pg_error(const char* sqlstate, const std::string& text)
      : std::runtime_error(text), sqlstate_(sqlstate) {}
  [[nodiscard]] const char* sqlstate() const noexcept { return sqlstate_; }

 private:
  const char* sqlstate_;
};

namespace sqlstate {
inline constexpr const char* protocol_violation = "08P01";
inline constexpr const char* not_supported = "0A000";
inline constexpr const char* null_not_allowed = "23502";
inline constexpr const char* duplicate_key = "23505";
inline constexpr const char* row_changed_twice = "21000";
inline constexpr const char* bad_text = "22021";
inline constexpr const char* transaction_open = "25001";
inline constexpr const char* read_only_transaction = "25006";
inline constexpr const char* no_transaction = "25P01";
inline constexpr const char* transaction_failed = "25P02";
inline constexpr const char* no_statement = "26000";
inline constexpr const char* bad_authorization = "28000";
inline constexpr const char* bad_password = "28P01";
inline constexpr const char* no_portal = "34000";
inline constexpr const char* serialization_failure = "40001";
inline constexpr const char* syntax_error = "42601";
inline constexpr const char* duplicate_column = "42701";
inline constexpr const char* no_column = "42703";
inline constexpr const char* no_object = "42704";
inline constexpr const char* no_table = "42P01";
inline constexpr const char* no_parameter = "42P02";
inline constexpr const char* statement_exists = "42P05";
inline constexpr const char* table_exists = "42P07";
inline constexpr const char* disk_full = "53100";
inline constexpr const char* too_many_connections = "53300";
inline constexpr const char* limit_reached = "53400";
inline constexpr const char* too_complex = "54000";
inline constexpr const char* too_many_columns = "54011";
inline constexpr const char* wrong_state = "55000";
inline constexpr const char* query_canceled = "57014";
inline constexpr const char* starting_up = "57P03";
inline constexpr const char* io_failed = "58030";
}  // namespace sqlstate

}  // namespace heddle::fakes::detail
