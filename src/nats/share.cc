// SPDX-License-Identifier: MIT
// Some tasks take queued raises to the servers; one gets those of others. The field Heddle-From
// names the program that raised, so that it does not raise the same again.
#include "heddle/nats/share.hh"

#include <algorithm>
#include <deque>

#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/sync/condition.hh"
#include "nats/api.hh"

namespace heddle::nats::detail {
namespace {

constexpr std::string_view from_field = "Heddle-From";

std::string stream_of(const std::string& subject, const share_options& o) {
  std::string made = o.stream.empty() ? subject : o.stream;
  if (o.stream.empty()) std::ranges::replace(made, '.', '_');
  return made;
}

}  // namespace

struct share_core::parts {
  parts(connection& connection_, std::string subject_, share_options options_,
        std::function<bool(const std::string&)> raise_)
      : over(connection_),
        servers(connection_, options_.servers),
        subject(std::move(subject_)),
        options(std::move(options_)),
        raise(std::move(raise_)),
        stream(stream_of(subject, options)),
        life(over.new_inbox().substr(7)),
        from(options.name.empty() ? life : options.name) {
    if (!is_subject(subject))
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    '"' + subject + "\" is no subject: write words with a dot between them");
    check_name(stream, "a stream");
    check_name(from, "a program");
  }

  struct queued_raise {
    std::string id;
    std::string body;
  };

  connection& over;
  jetstream servers;
  const std::string subject;
  const share_options options;
  const std::function<bool(const std::string&)> raise;
  const std::string stream;
  const std::string life;  // the name of this object, with which its ids begin
  const std::string from;
  std::deque<queued_raise> queue;
  std::size_t unstored = 0;  // in the queue, and on their way
  std::size_t unstored_bytes = 0;
  std::uint64_t last_id = 0;
  bool arriving = false;  // the next raise is one of others
  condition added;        // to the queue
  condition stored;
  share_counters counters;

  void tell(const std::string& text) const {
    if (options.log) options.log("nats: " + subject + ": " + text);
  }

  /// Puts a raise back if it could not be stored.
  struct on_its_way {
    parts& of;
    queued_raise what;
    bool is_stored = false;
    ~on_its_way() {
      if (is_stored) {
        --of.unstored;
        of.unstored_bytes -= what.body.size();
        of.stored.notify_all();
      } else {
        of.queue.push_front(std::move(what));
      }
    }
  };

  task<> send() {
    for (;;) {
      while (queue.empty()) co_await added.wait();
      on_its_way now{*this, std::move(queue.front())};
      queue.pop_front();
      std::vector<field> fields{{std::string(from_field), from}};
      co_await servers.publish(subject, now.what.body, now.what.id, std::move(fields));
      now.is_stored = true;
      ++counters.stored;
    }
  }

  task<> receive() {
    pull_options with;
    with.name = options.name;
    with.filter = subject;
    with.ack_wait = options.ack_wait;
    puller all = co_await servers.pull(stream, with);
    for (;;) {
      const delivered m = co_await all.next();
      if (m.content().find(from_field) == from) {
        co_await m.ack();
        continue;
      }
      if (m.deliveries() > 1) ++counters.again;
      bool read = false;
      std::string thrown;
      try {
        arriving = true;
        read = raise(m.content().body);
      } catch (const std::exception& e) {
        thrown = e.what();
      }
      arriving = false;
      if (!thrown.empty()) {
        tell("a handler threw, so the raise will come again: " + thrown);
        co_await m.nak(options.raise_again);
      } else if (!read) {
        ++counters.unreadable;
        tell("message " + std::to_string(m.sequence()) +
             " is dropped: its bytes are not the arguments of the topic");
        co_await m.drop();
      } else {
        ++counters.raised;
        co_await m.ack();
      }
    }
  }

  task<> run() {
    stream_config kept;
    kept.name = stream;
    kept.subjects = {subject};
    kept.replicas = options.replicas;
    co_await servers.add_stream(kept);
    const auto all = [this](scope& s) -> task<> {
      for (std::size_t i = 0; i != std::max<std::size_t>(options.at_once, 1); ++i) s.spawn(send());
      if (!options.name.empty()) s.spawn(receive());
      co_return;
    };
    co_await with_scope(all);
  }
};

share_core::share_core(connection& over, std::string subject, share_options options,
                       std::function<bool(const std::string&)> raise)
    : parts_(std::make_unique<parts>(over, std::move(subject), std::move(options),
                                     std::move(raise))) {}
share_core::~share_core() = default;

void share_core::raised(const std::function<std::string()>& encode) {
  parts& p = *parts_;
  if (std::exchange(p.arriving, false)) return;
  std::string body = encode();
  if (p.unstored >= p.options.unstored_max ||
      p.unstored_bytes + body.size() > p.options.unstored_bytes_max)
    throw failure(std::make_error_code(std::errc::no_buffer_space),
                  "too many raises of \"" + p.subject +
                      "\" are not stored: await settled(), or see whether the servers are there "
                      "(share_options::unstored_max, unstored_bytes_max)");
  const std::size_t size = body.size();
  p.queue.push_back({p.life + '.' + std::to_string(++p.last_id), std::move(body)});
  ++p.unstored;
  p.unstored_bytes += size;
  p.added.notify_one();
}

task<> share_core::run() { return parts_->run(); }

task<> share_core::settled() {
  parts& p = *parts_;
  while (p.unstored != 0) co_await p.stored.wait();
}

std::size_t share_core::unstored() const noexcept { return parts_->unstored; }
const share_counters& share_core::counters() const noexcept { return parts_->counters; }

chain chain_of(const std::string& bytes) {
  chain made;
  made.append_view(bytes);
  return made;
}

}  // namespace heddle::nats::detail
