// SPDX-License-Identifier: MIT
// The time, the queue of events, and the computers. See world.hh.
#include "sim/world.hh"

#include <algorithm>
#include <utility>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

// Linux sends a segment again after ever longer pauses, of at most 120 s (TCP_RTO_MAX).
constexpr nanoseconds resend_pause_max{120'000'000'000};

}  // namespace

world::world(sim_options o)
    : options(std::move(o)),
      choices{options.choices},
      log(options.trace_lines_max),
      chance(options.seed, 'w', &choices, &calm["turns"]),
      net(options),
      time_(options.start) {}

world::~world() = default;

computer& world::lone_computer() {
  return *computers_.emplace_back(
      std::make_unique<computer>(options, time_, 0U, "", chance, random_stream(0, 0)));
}

computer& world::add_computer(std::string name) {
  const auto number = static_cast<unsigned>(computers_.size() + 1);
  log.names.push_back(name);
  random_stream own = stream(name + ".wire");
  return *computers_.emplace_back(
      std::make_unique<computer>(options, time_, number, std::move(name), chance, own));
}

process& world::start(computer& on, sim_driver& io) {
  process& made = *processes_.emplace_back(std::make_unique<process>(*this, on, io));
  on.last = &made;
  ++on.started;
  return made;
}

void world::record(trace_kind kind, unsigned computer, std::int64_t value) {
  log.add({time_, computer}, kind, 0, op_code::poll, -1, value);
}

void world::cut(const computer& from, const computer& to) {
  record(trace_kind::cut, from.number, to.number);
  between.cut(from.number, to.number, time_);
}

void world::heal(const computer& from, const computer& to) {
  if (!is_cut(from, to)) return;
  record(trace_kind::heal, from.number, to.number);
  // A sender tries again ever more rarely, so it finds out later by a part of the time.
  links::healed now = between.heal(from.number, to.number);
  const nanoseconds latest = std::min(time_ - now.cut_at, resend_pause_max);
  for (links::waiter& w : now.waiting) after(w.wire->up_to(latest), std::move(w.what));
}

computer* world::at_address(const address& a, computer& from) noexcept {
  if (a.family() == AF_UNIX || a.on_loopback() || from.has(a)) return &from;
  for (const auto& c : computers_)
    if (c->has(a)) return c.get();
  return nullptr;
}

random_stream world::stream(const std::string& name) {
  return {options.seed, hash_bytes(name.data(), name.size()), &choices, &calm[name]};
}

void world::at(time_point when, std::move_only_function<void()> what) {
  queue_.emplace(key{std::max(when, time_), ++steps_}, std::move(what));
}

void world::after(nanoseconds span, std::move_only_function<void()> what) {
  if (span.count() <= 0)
    what();
  else
    at(add_saturated(time_, span), std::move(what));
}

void world::changed(object& o) {
  if (o.stirred) return;
  o.stirred = true;
  stirred_.push_back(o.shared_from_this());
}

void world::settle() {
  while (!stirred_.empty()) {
    const std::shared_ptr<object> o = std::move(stirred_.front());
    stirred_.pop_front();
    o->stirred = false;
    o->owner.try_waiting(*o);
  }
}

void world::advance(nanoseconds span) noexcept { time_ = add_saturated(time_, span); }

void world::jump(time_point to) {
  if (to <= time_) return;
  record(trace_kind::jump, 0, (to - time_).count());
  time_ = to;
}

void world::run_due() {
  while (!queue_.empty() && queue_.begin()->first.first <= time_) {
    auto event = queue_.extract(queue_.begin());
    event.mapped()();
    settle();
  }
}

}  // namespace heddle::sim
