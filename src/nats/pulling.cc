// SPDX-License-Identifier: MIT
// Statuses: 404 no message, 408 the time of the question is over, 409 the consumer has ended or
// moved to another server, 503 no server has it, 100 a sign of life.
#include "nats/pulling.hh"

#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"
#include "nats/api.hh"

namespace heddle::nats {
namespace {

constexpr nanoseconds question_time = std::chrono::seconds(30);
constexpr nanoseconds before_another = std::chrono::milliseconds(100);
// The questions bound the messages that come; one dropped here would come again only after
// ack_wait.
const subscribe_options roomy{.group = {}, .bytes_max = ~std::size_t{0}};

}  // namespace

puller::state::state(std::shared_ptr<detail::connection_core> over, jetstream_options options,
                     std::string place, std::uint32_t batch)
    : core(std::move(over)),
      inbox(core->subscribe(core->new_inbox(), roomy)),
      options_(std::move(options)),
      place_(std::move(place)),
      batch_(batch == 0 ? 1 : batch) {}

task<delivered> puller::state::next() {
  for (;;) {
    if (auto m = inbox->pop()) {
      if (m->status != 0) {
        co_await take_note(std::move(*m));
        continue;
      }
      if (open_ != 0) --open_;
      co_return delivered(std::move(*m), core);
    }
    if (inbox->closed)
      throw failure(std::make_error_code(std::errc::broken_pipe),
                    "the connection to NATS has ended");
    const bool over = runtime::here().read_clock() >= due_;
    if (open_ == 0 || over || session_ != core->counters.connects) {
      if (open_ != 0 && over) co_await check_consumer();
      co_await ask_for_messages();
      continue;
    }
    const result<void> woken = co_await as_expected(with_deadline(inbox->changed.wait(), due_));
    if (!woken && woken.error() != std::errc::timed_out) throw failure(woken.error());
  }
}

task<> puller::state::ask_for_messages() {
  co_await core->ready();
  session_ = core->counters.connects;
  open_ = batch_;
  due_ = runtime::here().read_clock() + question_time + options_.each_try;
  const std::string text = R"({"batch":)" + std::to_string(batch_) + R"(,"expires":)" +
                           std::to_string(question_time.count()) + '}';
  message question{.subject = options_.prefix + ".CONSUMER.MSG.NEXT." + place_,
                   .reply = inbox->pattern,
                   .body = text};
  co_await core->publish(std::move(question));
}

task<> puller::state::take_note(message m) {
  constexpr int sign_of_life = 100, no_message = 404, time_over = 408;
  if (m.status == sign_of_life) co_return;
  open_ = 0;
  if (m.status == no_message || m.status == time_over) co_return;
  co_await check_consumer();
  co_await sleep_for(before_another);
}

task<> puller::state::check_consumer() {
  message question{.subject = options_.prefix + ".CONSUMER.INFO." + place_};
  try {
    co_await detail::ask(core, options_, std::move(question));
  } catch (const failure& e) {
    if (e.code() != std::errc::timed_out) throw;  // a server may come back at any time
  }
}

puller::puller(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
puller::puller(puller&&) noexcept = default;
puller& puller::operator=(puller&&) noexcept = default;
puller::~puller() = default;
task<delivered> puller::next() { return state_->next(); }

}  // namespace heddle::nats
