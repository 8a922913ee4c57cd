// SPDX-License-Identifier: MIT
// Options of fakes::postgres_server: identity, the place of its data, and every limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "heddle/base/clock.hh"

namespace heddle::fakes {

/// Identity, place of the data, and every limit. A client that reaches a limit gets an error that
/// names the option.
struct postgres_options {
  std::string user = {};      ///< the only user that may connect; empty: any
  std::string password = {};  ///< asked for in clear text; empty: no password (trust)
  /// A folder for the log of commits, made with its parents if it is missing; empty: all is in
  /// memory only.
  std::string folder = {};
  /// Whether a commit waits until its record is synced. Without it a power failure loses commits:
  /// only for tests that must see such a loss. It also says how the log was written: if it is true,
  /// a damaged record before whole ones fails the start; if not, the log ends there.
  bool sync_commits = true;

  std::uint32_t connections_max = 100;             ///< 53300 beyond
  std::uint32_t transactions_max = 100;            ///< open at once; 53400 beyond
  std::uint32_t message_bytes_max = 1024 * 1024;   ///< a longer message ends the connection
  std::uint32_t statement_bytes_max = 256 * 1024;  ///< bytes of a text of SQL; 54000 beyond
  std::uint32_t statements_max = 1000;             ///< prepared by a connection, and portals; 54000
  std::uint32_t rows_max = 100'000;                ///< in all tables, and tables; 53100
  std::uint64_t data_bytes_max = std::uint64_t{256} << 20;  ///< keys and values; 53100 beyond
  /// Rows that a transaction reads by key or writes, and rows in portals of a connection; 54000.
  std::uint32_t transaction_rows_max = 100'000;
  /// Bytes of the keys that a transaction reads by key and of the rows that it writes; of the rows
  /// of a result; and of rows and parameters in portals of a connection; 54000.
  std::uint32_t transaction_bytes_max = std::uint32_t{256} << 20;
  std::uint64_t log_bytes_max = std::uint64_t{64} << 20;  ///< bytes of the log; 53100 beyond
  nanoseconds startup_time = std::chrono::seconds(60);    ///< from accept to the first query
};

}  // namespace heddle::fakes
