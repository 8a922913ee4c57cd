// SPDX-License-Identifier: MIT
// Errors have a code as in HTTP, and a more exact one of JetStream's own.
#include "nats/api.hh"

#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::nats::detail {
namespace {

constexpr nanoseconds between_tries = std::chrono::milliseconds(100);
constexpr int unavailable = 503;
constexpr int missing = 404;
constexpr int no_peers = 10005;              // 400: fewer servers have come than there are replicas
constexpr int not_leading = 10009;           // 500: the servers have not chosen who decides
constexpr int members_are_changing = 10202;  // 400
constexpr int stream_name_in_use = 10058;
constexpr int consumer_name_in_use = 10013;
constexpr int consumer_exists = 10148;

std::errc code_of(int code, int exact) noexcept {
  if (code == missing) return std::errc::no_such_file_or_directory;
  if (exact == stream_name_in_use || exact == consumer_name_in_use || exact == consumer_exists)
    return std::errc::file_exists;
  return std::errc::invalid_argument;
}

bool is_worth_another_try(std::error_code code) noexcept {
  return code == std::errc::timed_out || code == std::errc::connection_reset ||
         code == std::errc::connection_refused;
}

/// Whether servers that are still coming together say so, and may say otherwise soon.
bool is_passing(int code, int exact) noexcept {
  return code == unavailable || exact == no_peers || exact == not_leading ||
         exact == members_are_changing;
}

}  // namespace

task<json_value> ask(std::shared_ptr<connection_core> core, jetstream_options with,
                     message question) {
  const time_point due = runtime::here().read_clock() + with.all_tries;
  std::string why = "no answer";
  for (;;) {
    const result<message> got =
        co_await as_expected(with_timeout(core->request(question), with.each_try));
    if (got) {
      json_value answer = json_value::parse(got->body);
      const json_value& error = answer["error"];
      if (error.what() != json_value::kind::object) co_return answer;
      why = error["description"].text();
      const int code = static_cast<int>(error["code"].number());
      const int exact = static_cast<int>(error["err_code"].number());
      if (!is_passing(code, exact))
        throw failure(std::make_error_code(code_of(code, exact)), question.subject + ": " + why);
    } else if (!is_worth_another_try(got.error())) {
      throw failure(got.error(), question.subject);
    } else {
      why = got.error() == std::errc::connection_refused
                ? "nobody answers; does the server run JetStream (nats-server -js)?"
                : got.error().message();
    }
    if (runtime::here().read_clock() + between_tries >= due)
      throw failure(timed_out_error(), question.subject + ": " + why);
    co_await sleep_for(between_tries);
  }
}

void check_name(const std::string& name, const char* of_what) {
  if (is_subject(name) && name.find_first_of("./\\") == name.npos) return;
  throw failure(std::make_error_code(std::errc::invalid_argument),
                '"' + name + "\" cannot be the name of " + of_what +
                    ": take printable characters without '.', '*', '>', '/', '\\' and spaces");
}

}  // namespace heddle::nats::detail
