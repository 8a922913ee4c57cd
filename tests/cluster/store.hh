// SPDX-License-Identifier: MIT
// A small store for tests: a service that keeps values in a log, and a front that forwards to it.
// Both can be made with one of the mistakes that such services have in practice.
//
// A request is a line: get KEY | put KEY VALUE STAMP | put-if KEY OLD NEW | add KEY ITEM ID |
// acquire | read KEY NUMBER | write KEY VALUE NUMBER. Its answer is a line. `read` and `write` are
// for the holder of the lock with this number. "-" is the empty value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/task.hh"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sync/mutex.hh"

namespace heddle::test {

enum class mistake : std::uint8_t {
  none,
  answers_before_sync,  ///< a record is acknowledged before it is on the disk
  reads_before_sync,    ///< readers see a value before it is on the disk
  forgets_folder,       ///< the log is replaced by a rename, and its folder not synced
  takes_torn_records,   ///< the last record of the log is taken without a look at its checksum
  lost_update,          ///< put-if compares before it waits for its turn to write
  swapped_answers,      ///< requests of a connection run at once, and answer as they end
  says_failed,          ///< a record that could not be synced is refused, but stays in the log
  forgets_ids,          ///< the IDs of requests that were carried out are lost at the next start
  retries,              ///< the front repeats requests, and the store does not know them again
  stale_cache,          ///< the front keeps values for a while
  late_answer,          ///< after a timeout, the front takes the late answer for the next request's
  trusts_clocks,        ///< of two values the one with the later time stamp stays
  no_fencing,           ///< a holder whose lease has ended may still write
  count
};
[[nodiscard]] const char* to_string(mistake m) noexcept;

inline constexpr std::uint16_t store_port = 7000;

class store {
 public:
  explicit store(mistake m) noexcept : mistake_(m) {}

  /// Serves until the process ends.
  task<> serve();

 private:
  struct value {
    std::string text;
    nanoseconds stamp{0};
  };
  using words = std::vector<std::string>;

  task<> open();
  task<> replace_log(std::string content);
  task<> take_requests(scope& at_once, tcp_stream client);
  task<> converse(tcp_stream client);
  task<> answer_to(tcp_stream client, std::string line);
  task<std::string> answer(std::string line);
  task<std::string> change(words asked);
  /// Gives the new value, or an answer that changes nothing.
  std::optional<std::string> changed(const words& asked, std::string& answer);
  task<> keep(std::string key, std::string text, std::string id);
  std::string shown(const std::string& key);
  std::string acquire();
  bool passes(const std::string& number);

  mistake mistake_;
  mutex writes_;
  file log_;
  bool ready_ = false;
  std::uint64_t end_ = 0;
  std::map<std::string, value> values_;
  std::set<std::string> done_;  ///< IDs of items that were added
  std::uint64_t given_ = 0, used_ = 0;
  time_point lease_ends_ = time_point::min();
};

/// Forwards to the store; a time stamp is put in for "now".
class store_front {
 public:
  explicit store_front(mistake m) noexcept : mistake_(m) {}

  task<> serve();

 private:
  struct cached {
    std::string answer;
    time_point until;
  };

  task<> converse(tcp_stream client);
  task<std::string> forward(std::string line);
  task<std::string> ask_store(std::string line);
  task<std::string> exchange(std::string line);

  mistake mistake_;
  mutex turn_;  ///< one request at a time is on the connection to the store
  tcp_stream store_;
  std::map<std::string, cached> cache_;
};

[[nodiscard]] std::vector<std::string> words_of(std::string_view line);

}  // namespace heddle::test
