// SPDX-License-Identifier: MIT
// Streams and consumers, by questions in JSON. (NATS documentation, "JetStream wire API".)
#include "heddle/nats/jetstream.hh"

#include "heddle/base/error.hh"
#include "heddle/probe/json.hh"
#include "nats/api.hh"
#include "nats/pulling.hh"

namespace heddle::nats {
namespace {

using detail::json_value;

/// Writes the members of one JSON object.
class json_object {
 public:
  json_object& add(std::string_view name, std::string_view text) {
    return add_value(name, json_quoted(text));
  }
  json_object& add(std::string_view name, std::int64_t number) {
    return add_value(name, std::to_string(number));
  }
  json_object& add(std::string_view name, const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& each : texts)
      list.append(list.empty() ? "" : ",").append(json_quoted(each));
    return add_value(name, '[' + list + ']');
  }
  json_object& add_value(std::string_view name, const std::string& value) {
    members_.append(members_.empty() ? "" : ",")
        .append(json_quoted(name))
        .append(":")
        .append(value);
    return *this;
  }
  [[nodiscard]] std::string text() const { return '{' + members_ + '}'; }

 private:
  std::string members_;
};

/// In JetStream a limit that is none is -1.
std::int64_t limit(std::uint64_t value) noexcept {
  return value == 0 ? -1 : static_cast<std::int64_t>(value);
}

std::string text_of(const stream_config& o) {
  static constexpr std::string_view retentions[] = {"limits", "interest", "workqueue"};
  json_object made;
  made.add("name", o.name)
      .add("subjects", o.subjects)
      .add("num_replicas", o.replicas)
      .add("storage", o.storage == stream_storage::file ? "file" : "memory")
      .add("retention", retentions[static_cast<std::size_t>(o.retention)])
      .add("max_age", o.age_max.count())
      .add("max_bytes", limit(o.bytes_max))
      .add("max_msgs", limit(o.messages_max))
      .add("duplicate_window", o.duplicate_window.count());
  return made.text();
}

std::string text_of(const std::string& stream, const pull_options& o) {
  json_object config;
  config.add("durable_name", o.name)
      .add("deliver_policy", o.from == start_at::all ? "all" : "new")
      .add("ack_policy", "explicit")
      .add("replay_policy", "instant")
      .add("ack_wait", o.ack_wait.count())
      .add("max_deliver", o.deliveries_max)
      .add("max_ack_pending", o.unacknowledged_max);
  if (!o.filter.empty()) config.add("filter_subject", o.filter);
  json_object made;
  made.add("stream_name", stream).add_value("config", config.text());
  return made.text();
}

std::uint64_t count_of(const json_value& value) noexcept {
  const double n = value.number();
  constexpr double most = 9007199254740992.0;  // 2^53: a double is exact up to here
  return n > 0 && n < most ? static_cast<std::uint64_t>(n) : 0;
}

/// The number at this place among the words of "$JS.ACK....", counted from the stream's name.
std::uint64_t word_of(std::string_view reply, std::size_t place) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t dot = reply.find('.');
    words.push_back(reply.substr(0, dot));
    if (dot == reply.npos) break;
    reply.remove_prefix(dot + 1);
  }
  // Servers put a domain and a hash before the stream's name, or neither.
  const std::size_t at = (words.size() >= 11 ? 4 : 2) + place;
  if (words.size() < 9 || words[0] != "$JS" || words[1] != "ACK") return 0;
  std::uint64_t number = 0;
  for (const char c : words[at]) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

}  // namespace

delivered::delivered(message m, std::weak_ptr<detail::connection_core> of)
    : content_(std::move(m)),
      of_(std::move(of)),
      sequence_(word_of(content_.reply, 3)),
      deliveries_(word_of(content_.reply, 2)) {}

task<> delivered::answer(std::string text) const {
  const auto core = of_.lock();
  if (!core)
    throw failure(std::make_error_code(std::errc::broken_pipe),
                  "the connection to NATS has ended, so this message comes again");
  return core->publish({.subject = content_.reply, .body = std::move(text)});
}

task<> delivered::nak(nanoseconds after) const {
  if (after <= nanoseconds::zero()) return answer("-NAK");
  return answer(R"(-NAK {"delay":)" + std::to_string(after.count()) + '}');
}

jetstream::jetstream(connection& over, jetstream_options options)
    : core_(over.core_), options_(std::move(options)) {}

task<> jetstream::make_stream(stream_config with) {
  detail::check_name(with.name, "a stream");
  const std::string text = text_of(with);
  message question{.subject = options_.prefix + ".STREAM.CREATE." + with.name, .body = text};
  bool exists = false;
  try {
    co_await detail::ask(core_, options_, question);
  } catch (const failure& e) {
    if (e.code() != std::errc::file_exists) throw;
    exists = true;
  }
  if (!exists) co_return;
  question.subject = options_.prefix + ".STREAM.UPDATE." + with.name;
  co_await detail::ask(core_, options_, question);
}

task<stream_state> jetstream::state_of(std::string stream) {
  detail::check_name(stream, "a stream");
  message question{.subject = options_.prefix + ".STREAM.INFO." + stream};
  const json_value answer = co_await detail::ask(core_, options_, std::move(question));
  const json_value& state = answer["state"];
  co_return stream_state{count_of(state["messages"]), count_of(state["bytes"]),
                         count_of(state["first_seq"]), count_of(state["last_seq"])};
}

task<> jetstream::delete_stream(std::string stream) {
  detail::check_name(stream, "a stream");
  message question{.subject = options_.prefix + ".STREAM.DELETE." + stream};
  co_await detail::ask(core_, options_, std::move(question));
}

task<stored> jetstream::publish(std::string subject, std::string body, std::string id,
                                std::vector<field> fields) {
  message m{.subject = std::move(subject), .fields = std::move(fields), .body = std::move(body)};
  if (!id.empty()) m.fields.push_back({"Nats-Msg-Id", std::move(id)});
  const json_value answer = co_await detail::ask(core_, options_, std::move(m));
  co_return stored{std::string(answer["stream"].text()), count_of(answer["seq"]),
                   answer["duplicate"].truth()};
}

task<puller> jetstream::make_puller(std::string stream, pull_options with) {
  detail::check_name(stream, "a stream");
  detail::check_name(with.name, "a consumer");
  const std::string place = stream + '.' + with.name;
  message question{.subject = options_.prefix + ".CONSUMER.DURABLE.CREATE." + place,
                   .body = text_of(stream, with)};
  co_await detail::ask(core_, options_, std::move(question));
  auto state = std::make_unique<puller::state>(core_, options_, place, with.batch);
  co_return puller(std::move(state));
}

task<> jetstream::delete_consumer(std::string stream, std::string name) {
  detail::check_name(stream, "a stream");
  detail::check_name(name, "a consumer");
  message question{.subject = options_.prefix + ".CONSUMER.DELETE." + stream + '.' + name};
  co_await detail::ask(core_, options_, std::move(question));
}

}  // namespace heddle::nats
