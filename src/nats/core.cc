// SPDX-License-Identifier: MIT
// The questions of programs to a connection. A wait here ends with its session, because the next
// session knows nothing of earlier questions.
#include "nats/core.hh"

#include <array>

#include "heddle/base/error.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::nats::detail {
namespace {

constexpr int no_answer = -1;
constexpr int nobody_there = 503;

[[noreturn]] void refuse(std::errc code, const std::string& why) {
  throw failure(std::make_error_code(code), why);
}

/// Twenty-two letters and digits from the driver's random numbers, which are as good as unique.
std::string random_name() {
  constexpr std::string_view letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string made;
  for (int half = 0; half != 2; ++half) {
    std::uint64_t bits = runtime::here().io().random();
    for (int i = 0; i != 11; ++i, bits /= letters.size()) made += letters[bits % letters.size()];
  }
  return made;
}

}  // namespace

bool subscription_core::take(message&& m) {
  const std::size_t size = m.subject.size() + payload_size(m.fields, m.body);
  if (queue_.size() >= options.messages_max || bytes_ + size > options.bytes_max) {
    ++dropped;
    return false;
  }
  bytes_ += size;
  queue_.push_back(std::move(m));
  changed.notify_one();
  return true;
}

std::optional<message> subscription_core::pop() {
  if (queue_.empty()) return std::nullopt;
  message first = std::move(queue_.front());
  queue_.pop_front();
  bytes_ -= first.subject.size() + payload_size(first.fields, first.body);
  return first;
}

void subscription_core::close() noexcept {
  closed = true;
  changed.notify_all();
}

void subscription_core::leave() noexcept {
  if (const auto owner = owner_.lock()) owner->unsubscribe(number);
  close();
}

connection_core::connection_core(connection_options with)
    : options(std::move(with)),
      servers_(options.servers, options.servers_max),
      payload_max_(options.payload_max) {}

task<> connection_core::ready() {
  const auto self = shared_from_this();
  while (!connected()) {
    if (phase_ == phase::closed) refuse(std::errc::broken_pipe, "the connection to NATS has ended");
    co_await changed_.wait();
  }
}

void connection_core::send_ping(event<bool> answered) {
  pings_.push_back(std::move(answered));
  ++unsent_pings_;
  unsent_ += "PING\r\n";
  unsent_changed_.notify_one();
}

task<> connection_core::publish(message m) {
  const auto self = shared_from_this();
  if (!is_subject(m.subject))
    refuse(std::errc::invalid_argument, "nobody can publish to \"" + m.subject +
                                            "\": a subject is words with a dot between them");
  if (!m.reply.empty() && !is_subject(m.reply))
    refuse(std::errc::invalid_argument, "nobody can answer to \"" + m.reply + '"');
  check_fields(m.fields);
  while (unsent_.size() >= options.unsent_max && phase_ != phase::closed) co_await room_.wait();
  if (phase_ == phase::closed) refuse(std::errc::broken_pipe, "the connection to NATS has ended");
  const std::size_t size = payload_size(m.fields, m.body);
  if (size > payload_max_)
    refuse(std::errc::message_size, "a message of " + std::to_string(size) +
                                        " bytes is too long: the server and payload_max allow " +
                                        std::to_string(payload_max_));
  append_publish(unsent_, m.subject, m.reply, m.fields, m.body);
  ++counters.published;
  unsent_changed_.notify_one();
}

task<message> connection_core::request(message m) {
  const auto self = shared_from_this();
  if (inbox_.empty()) {
    const std::string name = new_inbox() + '.';
    answers_ = subscribe(name + '*', {});
    inbox_ = name;
  }
  const std::string key = std::to_string(++last_request_);
  const std::string subject = m.subject;
  m.reply = inbox_ + key;
  message answer{.subject = {}, .status = no_answer};
  // The registration ends after the rendezvous, so that its event is no longer expected.
  struct registration {
    std::unordered_map<std::string, event<message>>& from;
    const std::string& key;
    ~registration() { from.erase(key); }
  } registered{requests_, key};
  rendezvous<> answered;
  requests_.emplace(key, answered.make_event(answer));
  co_await publish(std::move(m));
  co_await answered;
  if (answer.status == no_answer)
    refuse(std::errc::connection_reset, "the connection to NATS was lost before an answer came");
  if (answer.status == nobody_there)
    refuse(std::errc::connection_refused, "nobody answers to \"" + subject + '"');
  co_return answer;
}

task<> connection_core::flush() {
  const auto self = shared_from_this();
  co_await ready();
  bool answered = false;
  rendezvous<> confirmed;
  send_ping(confirmed.make_event(answered));
  co_await confirmed;
  if (std::exchange(losses_, 0) != 0 || !answered) {
    refuse(std::errc::connection_reset,
           "the connection to NATS was lost, and perhaps some of what was published");
  }
}

std::shared_ptr<subscription_core> connection_core::subscribe(std::string pattern,
                                                              subscribe_options with) {
  if (!is_subject_pattern(pattern))
    refuse(std::errc::invalid_argument, "nobody can subscribe to \"" + pattern +
                                            "\": a pattern is words with a dot between them, '*' "
                                            "for one word, and '>' for the rest");
  if (!with.group.empty() && !is_subject(with.group))
    refuse(std::errc::invalid_argument, '"' + with.group + "\" is no name of a group");
  if (subscriptions_.size() >= options.subscriptions_max)
    refuse(std::errc::no_buffer_space,
           "there are too many subscriptions: "
           "connection_options::subscriptions_max allows " +
               std::to_string(options.subscriptions_max));
  const std::uint64_t number = ++last_number_;
  auto made = std::make_shared<subscription_core>(weak_from_this(), number, std::move(pattern),
                                                  std::move(with));
  subscriptions_.emplace(number, made);
  if (connected()) {
    append_subscribe(control_, made->pattern, made->options.group, number);
    unsent_changed_.notify_one();
  }
  return made;
}

void connection_core::unsubscribe(std::uint64_t number) noexcept {
  if (subscriptions_.erase(number) == 0 || !connected()) return;
  try {
    append_unsubscribe(control_, number);
  } catch (const std::bad_alloc&) {
    return;  // deliver() drops what still comes
  }
  unsent_changed_.notify_one();
}

std::string connection_core::new_inbox() { return "_INBOX." + random_name(); }

void connection_core::deliver(wire_item&& item) {
  const auto at = subscriptions_.find(item.subscription);
  if (at == subscriptions_.end()) return;  // from before the server knew
  ++counters.received;
  if (at->second != answers_) {
    if (!at->second->take(std::move(item.content))) ++counters.dropped;
    return;
  }
  const std::string& subject = item.content.subject;
  if (!subject.starts_with(inbox_)) return;
  const auto waiting = requests_.find(subject.substr(inbox_.size()));
  if (waiting == requests_.end()) return;  // the time limit was over
  const event<message> answer = waiting->second;
  answer.trigger(std::move(item.content));
}

void connection_core::wake_all() noexcept {
  changed_.notify_all();
  for (auto& [number, each] : subscriptions_) each->changed.notify_all();
}

void connection_core::close() noexcept {
  phase_ = phase::closed;
  wake_all();
  room_.notify_all();
  for (auto& [number, each] : subscriptions_) each->close();
  subscriptions_.clear();
}

}  // namespace heddle::nats::detail
