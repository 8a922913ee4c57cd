// SPDX-License-Identifier: MIT
// The store and its front: the log and its recovery, requests, the lock with its numbers, and the
// places where a mistake takes another way.
#include "cluster/store.hh"

#include <algorithm>
#include <charconv>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::test {

using namespace std::chrono_literals;

namespace {

constexpr const char* folder_path = "/data";
constexpr const char* log_path = "/data/log";
constexpr nanoseconds lease = 1s;
constexpr nanoseconds cached_for = 1s;
constexpr nanoseconds commit_pause = 60ms;  ///< a disk is slow, and one of the simulation is not
constexpr nanoseconds store_limit = 1s;

/// A checksum of a record (FNV-1a).
std::string sum_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::to_string(h);
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

/// A number greater than those of all earlier starts.
std::uint64_t number_now() {
  return static_cast<std::uint64_t>(clock::now().time_since_epoch().count());
}

std::string record_of(const std::string& key, const std::string& text, const std::string& id) {
  const std::string body = key + ' ' + text + ' ' + id;
  return body + ' ' + sum_of(body) + '\n';
}

/// Accepts until the process ends.
template <class Converse>
task<> accept_all(scope& clients, Converse converse) {
  const tcp_listener door = tcp_listener::listen(address::any_v4(store_port));
  for (;;) {
    auto client = co_await as_expected(door.accept());
    if (client) clients.spawn(converse(std::move(*client)));
    if (!client && client.error() == std::errc::operation_canceled) throw failure(client.error());
  }
}

}  // namespace

const char* to_string(mistake m) noexcept {
  static constexpr const char* names[] = {
      "none",        "answers-before-sync", "reads-before-sync", "forgets-folder", "takes-torn",
      "lost-update", "swapped-answers",     "says-failed",       "forgets-ids",    "retries",
      "stale-cache", "late-answer",         "trusts-clocks",     "no-fencing"};
  static_assert(std::size(names) == static_cast<std::size_t>(mistake::count));
  return names[static_cast<std::size_t>(m)];
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line)
    if (c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

// ---- The log ----

/// Reads the log, and writes a new one of its whole records.
task<> store::open() {
  ready_ = false;
  log_ = {};
  const auto text = co_await as_expected(read_file(log_path));
  if (!text && text.error() != std::errc::no_such_file_or_directory) throw failure(text.error());
  std::string whole;
  std::map<std::string, value> values;
  std::set<std::string> done;
  std::string_view left = text ? std::string_view(*text) : std::string_view();
  while (!left.empty()) {
    const std::string_view record = left.substr(0, left.find('\n'));
    const std::size_t sum_at = record.rfind(' ');
    const bool fine = record.size() != left.size() && sum_at != std::string_view::npos &&
                      record.substr(sum_at + 1) == sum_of(record.substr(0, sum_at));
    if (!fine && mistake_ != mistake::takes_torn_records) break;
    const words parts = words_of(record);
    if (parts.size() > 1) values[parts[0]] = {parts[1]};
    if (parts.size() > 2 && mistake_ != mistake::forgets_ids) done.insert(parts[2]);
    (whole += record) += '\n';
    left.remove_prefix(std::min(record.size() + 1, left.size()));
  }
  // Readers see what they saw before, until all of this would survive a power failure.
  co_await replace_log(whole);
  values_ = std::move(values);
  done_ = std::move(done);
  log_ = co_await open_file(log_path, {.write = true});
  end_ = whole.size();
  ready_ = true;
}

task<> store::replace_log(std::string content) {
  if (mistake_ != mistake::forgets_folder) {
    co_await write_file(log_path, std::string_view(content));
    co_return;
  }
  const std::string beside = std::string(folder_path) + "/new";
  const file f = co_await open_file(beside, {.write = true, .create = true, .truncate = true});
  co_await f.write_at(0, std::string_view(content));
  co_await f.sync();
  co_await rename_file(beside, log_path);
}

/// Writes a record, and lets readers see it once it would survive a power failure.
task<> store::keep(std::string key, std::string text, std::string id) {
  const std::string record = record_of(key, text, id);
  ready_ = false;
  co_await log_.write_at(end_, std::string_view(record));
  const bool early = mistake_ == mistake::reads_before_sync;
  if (early) values_[key].text = text;
  co_await sleep_for(early ? 10 * commit_pause : commit_pause);
  if (mistake_ != mistake::answers_before_sync) co_await log_.sync(true);
  if (!early) values_[key].text = text;
  done_.insert(id);
  end_ += record.size();
  ready_ = true;
}

// ---- Requests ----

std::string store::acquire() {
  if (clock::now() < lease_ends_) return "held";
  lease_ends_ = clock::now() + lease;
  given_ = std::max(given_ + 1, number_now());
  return "number " + std::to_string(given_);
}

/// Whether the holder with this number may use the lock; a smaller one may not from now on.
bool store::passes(const std::string& number) {
  const std::uint64_t asked = number_in(number);
  if (mistake_ == mistake::no_fencing) return true;
  if (asked < used_ || asked > given_) return false;
  used_ = asked;
  return true;
}

std::optional<std::string> store::changed(const words& asked, std::string& answer) {
  const std::string& key = asked[1];
  value& now = values_[key];
  answer = "ok";
  if (asked[0] == "put") {
    const nanoseconds stamp(static_cast<std::int64_t>(number_in(asked[3])));
    if (mistake_ == mistake::trusts_clocks && stamp < now.stamp) return std::nullopt;
    now.stamp = stamp;
    return asked[2];
  }
  if (asked[0] == "put-if") {
    if (now.text == asked[2] || mistake_ == mistake::lost_update) return asked[3];
    answer = "differs";
    return std::nullopt;
  }
  if (asked[0] == "add") {
    const std::string id = asked[3];
    if (mistake_ != mistake::retries && done_.contains(id)) return std::nullopt;
    return now.text.empty() ? asked[2] : now.text + ',' + asked[2];
  }
  if (passes(asked[3])) return asked[2];
  answer = "refused";
  return std::nullopt;
}

task<std::string> store::change(words asked) {
  std::string answer;
  if (mistake_ == mistake::lost_update && asked[0] == "put-if" &&
      values_[asked[1]].text != asked[2])
    co_return "differs";
  const auto turn = co_await writes_.lock();
  if (!ready_) co_await open();
  const std::optional<std::string> text = changed(asked, answer);
  if (!text) co_return answer;
  std::string id = "-";
  if (asked[0] == "add") id = asked[3];
  const auto kept = co_await as_expected(keep(asked[1], *text, id));
  // The record may be on the disk or not, so there is no answer.
  if (!kept && mistake_ != mistake::says_failed) throw failure(kept.error());
  co_return kept ? answer : "refused";
}

std::string store::shown(const std::string& key) {
  const std::string& text = values_[key].text;
  return "value " + (text.empty() ? "-" : text);
}

task<std::string> store::answer(std::string line) {
  static const std::map<std::string, std::size_t> verbs{
      {"get", 2}, {"put", 4}, {"put-if", 4}, {"add", 4}, {"acquire", 1}, {"read", 3}, {"write", 4}};
  const words asked = words_of(line);
  const auto verb = verbs.find(asked[0]);
  if (verb == verbs.end() || verb->second != asked.size()) co_return "bad request";
  if (asked[0] == "acquire") co_return acquire();
  if (asked[0] == "get") co_return shown(asked[1]);
  if (asked[0] == "read") {
    // A write that has passed with an older number ends first.
    const auto turn = co_await writes_.lock();
    co_return passes(asked[2]) ? shown(asked[1]) : "refused";
  }
  const std::string done = co_await change(asked);
  co_return done;
}

task<> store::answer_to(tcp_stream client, std::string line) {
  const std::string text = co_await answer(std::move(line)) + '\n';
  co_await client.write(std::string_view(text));
}

task<> store::take_requests(scope& at_once, tcp_stream client) {
  line_reader lines(client);
  for (;;) {
    std::string line(co_await lines.line());
    if (mistake_ == mistake::swapped_answers)
      at_once.spawn(answer_to(client, std::move(line)));
    else
      co_await answer_to(client, std::move(line));
  }
}

task<> store::converse(tcp_stream client) {
  try {
    const auto take = [this, &client](scope& at_once) { return take_requests(at_once, client); };
    co_await with_scope(take);
  } catch (const failure&) {
    client.close();
  }
}

task<> store::serve() {
  co_await open();
  // Numbers of an earlier start are too old: who used them last is not known.
  given_ = used_ = number_now();
  const auto accept = [this](scope& clients) {
    return accept_all(clients, [this](tcp_stream c) { return converse(std::move(c)); });
  };
  co_await with_scope(accept);
}

// ---- The front ----

task<std::string> store_front::exchange(std::string line) {
  if (!store_) store_ = co_await tcp_connect("store", store_port);
  line += '\n';
  co_await store_.write(std::string_view(line));
  line_reader lines(store_);
  const std::string answer(co_await lines.line());
  co_return answer;
}

task<std::string> store_front::ask_store(std::string line) {
  const auto turn = co_await turn_.lock();
  const auto answer = co_await as_expected(with_timeout(exchange(line), store_limit));
  if (answer) co_return *answer;
  const bool late = answer.error() == std::errc::timed_out;
  if (!late || mistake_ != mistake::late_answer) store_ = {};
  throw failure(answer.error());
}

task<std::string> store_front::forward(std::string line) {
  const std::vector<std::string> asked = words_of(line);
  const bool caches = mistake_ == mistake::stale_cache && asked.size() > 1;
  if (caches && asked[0] == "get" && cache_.contains(asked[1]) &&
      clock::now() < cache_[asked[1]].until)
    co_return cache_[asked[1]].answer;
  if (caches && asked[0] != "get") cache_.erase(asked[1]);
  auto answer = co_await as_expected(ask_store(line));
  // An item has an ID by which the store knows it again.
  if (!answer && asked[0] == "add") answer = co_await as_expected(ask_store(line));
  if (!answer) throw failure(answer.error());
  if (caches && asked[0] == "get") cache_[asked[1]] = {*answer, clock::now() + cached_for};
  co_return *answer;
}

task<> store_front::converse(tcp_stream client) {
  try {
    line_reader lines(client);
    for (;;) {
      std::string line(co_await lines.line());
      if (line.ends_with(" now")) {
        line.resize(line.size() - 3);
        line += std::to_string(runtime::here().io().wall_time().count());
      }
      const std::string answer = co_await forward(std::move(line)) + '\n';
      co_await client.write(std::string_view(answer));
    }
  } catch (const failure&) {
    client.close();
  }
}

task<> store_front::serve() {
  const auto accept = [this](scope& clients) {
    return accept_all(clients, [this](tcp_stream c) { return converse(std::move(c)); });
  };
  co_await with_scope(accept);
}

}  // namespace heddle::test
