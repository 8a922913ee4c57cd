// SPDX-License-Identifier: MIT
// Asking for files, and writing them down.
#include "client.hh"

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/file.hh"

namespace sealed {
namespace {

constexpr heddle::nanoseconds removal_timeout = std::chrono::seconds(5);

heddle::task<> receive_into(client& from, const heddle::file& out) {
  std::uint64_t at = 0;
  for (;;) {
    const std::string_view part = co_await from.next();
    if (part.empty()) break;
    at += co_await out.write_at(at, part);
  }
  co_await out.sync(true);
}

}  // namespace

heddle::task<> client::connect(heddle::address server) {
  const key_pair own;
  conn_ = co_await heddle::tcp_connect(server);
  const client_greeting ours = greet_server(own);
  co_await conn_.write(ours);
  server_greeting theirs;
  const bool whole = co_await read_greeting(conn_, theirs);
  if (!whole) throw trouble("the server left before it had greeted: is it `sealed serve`?");
  chosen_ = read_agreement(theirs);
  const session_secrets secrets = secrets_of_client(own, key_, ours, theirs);
  opener_.emplace(chosen_.algorithm, secrets.from_server);
  sealer_.emplace(chosen_.algorithm, secrets.from_client);
}

heddle::task<std::uint64_t> client::ask(std::string name) {
  HEDDLE_ASSERT(sealer_.has_value(), "connect() first");
  HEDDLE_ASSERT(left_ == 0, "take the file before to its end");
  if (name.size() > text_bytes_max)
    throw trouble("a name of " + std::to_string(name.size()) + " bytes; at most " +
                  std::to_string(text_bytes_max) + " are possible");
  std::string record(name.size() + record_overhead, '\0');
  sealer_->seal(record_type::request, name, record);
  co_await conn_.write(std::string_view(record));
  co_await read(text_bytes_max);
  if (came_.header.type == record_type::refusal)
    throw refusal(std::string(came_.text()) + ": " + name);
  const auto size = size_of_text(came_.text());
  if (came_.header.type != record_type::answer || !size)
    throw trouble("the server sent something else than an answer");
  size_ = left_ = *size;
  co_return size_;
}

heddle::task<std::string_view> client::next() {
  if (left_ == 0) co_return std::string_view();
  co_await read(chosen_.record_bytes);
  if (came_.header.type != record_type::data || came_.header.size == 0 || came_.header.size > left_)
    throw trouble("the server sent something else than the next part of the file");
  left_ -= came_.header.size;
  co_return came_.text();
}

heddle::task<> client::read(std::size_t content_max) {
  const bool more = co_await read_record(conn_, content_max, came_);
  if (!more && !proven_)
    throw trouble("the server ended the connection and gave no answer: has it the same key?");
  if (!more)
    throw trouble("the stream ended " + std::to_string(left_) + " bytes too early, of " +
                  std::to_string(size_));
  if (!opener_->open(came_.head, came_.body))
    throw trouble(proven_ ? "a record was changed on its way"
                          : "the answer was not sealed with our key, or was changed on its way");
  proven_ = true;
}

heddle::task<std::uint64_t> fetch(client& from, std::string name, std::string target) {
  const std::uint64_t size = co_await from.ask(name);
  const std::string partial = target + ".partial";
  heddle::file out =
      co_await heddle::open_file(partial, {.write = true, .create = true, .truncate = true});
  std::exception_ptr error;
  try {
    co_await receive_into(from, out);
    co_await heddle::rename_file(partial, target);
  } catch (...) {
    error = std::current_exception();
  }
  out.close();
  if (error) {
    // Also when we are cancelled: what was begun is not left lying about.
    static_cast<void>(co_await heddle::as_expected(
        heddle::shield(heddle::remove_file(partial), removal_timeout)));
    std::rethrow_exception(error);
  }
  co_return size;
}

}  // namespace sealed
