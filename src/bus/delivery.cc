// SPDX-License-Identifier: MIT
// Delayed raises: queueing, cancelling, and reporting their exceptions.
#include "heddle/bus/detail/delivery.hh"

#include "heddle/bus/bus.hh"
#include "heddle/sched/runtime.hh"

namespace heddle {

namespace detail {

namespace {

heddle_link run_frame(frame* f, heddle_worker*) {
  static_cast<delivery*>(f)->run(worker::running());
  return no_link;
}
void destroy_frame(frame* f, heddle_worker*) { static_cast<delivery*>(f)->leave(); }

/// Reports the exception of a posted raise, which no task joins. At the end of the program a
/// cancelled wait is not reported.
void report_exception(worker& w, raise_origin from) noexcept {
  if (w.sched.root().canceled()) {
    try {
      throw;
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) return;
    } catch (...) {
    }
  }
  w.sched.report({diagnostic_kind::unhandled_exception,
                  from.asked_at,
                  0,
                  1,
                  std::current_exception(),
                  {},
                  {},
                  from.topic->name});
}

}  // namespace

delivery::delivery(bus& b, const type& t, site from) noexcept
    : frame{&run_frame, &destroy_frame, no_link, 0, 0}, owner(&b), is(t), asked_at(from) {}

void delivery::alarm::fire(timer_node& t, worker& w) noexcept {
  w.post(link_of(static_cast<alarm&>(t).owner));
}

void delivery::run(worker& w) noexcept {
  if (bus* const b = std::exchange(owner, nullptr)) {
    static_cast<list_node&>(*this).unlink();
    b->count_deliveries(-1);
    try {
      is.raise_now(*this, *b);
    } catch (...) {
      report_exception(w, {is.topic, asked_at});
    }
    is.drop_arguments(*this);
  }
  leave();
}

bool delivery::cancel() noexcept {
  bus* const b = std::exchange(owner, nullptr);
  if (b == nullptr) return false;
  static_cast<list_node&>(*this).unlink();
  b->count_deliveries(-1);
  const bool timed = timer.armed();
  timer.disarm();
  ++uses;  // the arguments may hold the last handle
  is.drop_arguments(*this);
  if (timed) leave();
  leave();
  return true;
}

void delivery::leave() noexcept {
  if (--uses != 0) return;
  const std::size_t cell_bytes = is.bytes;
  worker* const w = worker::current();
  std::destroy_at(this);
  if (w != nullptr) {
    w->memory.release(this, cell_bytes);
  } else {
    slabs::release_elsewhere(this, cell_bytes);
  }
}

}  // namespace detail

void bus::check_deliveries() const {
  const worker* const w = worker::current();
  HEDDLE_ASSERT(
      home_ != nullptr && w != nullptr && &w->sched == home_ && w->color == home_color_,
      "post() and after() need a runtime: build it first, then the bus, in the color that "
      "uses it");
  check_room_behind(deliveries());
}

void bus::check_room_behind(std::size_t waiting) const {
  if (waiting < options_.deliveries_max) return;
  throw failure(std::make_error_code(std::errc::no_buffer_space),
                std::to_string(waiting) +
                    " raises are posted or delayed; post fewer, or raise "
                    "bus_options::deliveries_max");
}

void bus::count_deliveries(std::ptrdiff_t change) noexcept {
  // Only this thread writes it, so no locked instruction is needed.
  delivery_count_.store(deliveries() + static_cast<std::size_t>(change), std::memory_order_relaxed);
}

void bus::deliver_later(detail::delivery& d, nanoseconds span) {
  delivered_later_.push_back(d);
  count_deliveries(1);
  if (span <= nanoseconds::zero()) {
    worker::running().post(link_of(d));
  } else {
    worker& w = worker::running();
    w.sched.arm_after(w, d.timer, span);
  }
}

namespace {

/// Counts a post as under way until it has arrived or is dropped.
class place_on_the_way {
 public:
  explicit place_on_the_way(std::shared_ptr<detail::bus_address> to) noexcept
      : to_(std::move(to)),
        // acquire: pairs with the release below, by which the bus counts posts that have arrived
        ahead_(to_->on_their_way.fetch_add(1, std::memory_order_acquire)) {}
  place_on_the_way(place_on_the_way&&) noexcept = default;
  place_on_the_way& operator=(place_on_the_way&&) = delete;
  ~place_on_the_way() {
    if (to_ != nullptr) to_->on_their_way.fetch_sub(1, std::memory_order_release);
  }
  [[nodiscard]] std::size_t ahead() const noexcept { return ahead_; }
  [[nodiscard]] bus* goal() const noexcept { return to_->at; }

 private:
  std::shared_ptr<detail::bus_address> to_;
  std::size_t ahead_;
};

}  // namespace

void bus::deliver_from_elsewhere(detail::raise_origin from, std::move_only_function<void(bus&)> f) {
  HEDDLE_ASSERT(home_ != nullptr, "post() needs a runtime: build it first, then the bus");
  place_on_the_way place(self_);
  check_room_behind(place.ahead() + deliveries());
  auto call = [place = std::move(place), f = std::move(f), from]() mutable {
    bus* const b = place.goal();
    if (b == nullptr) return;
    try {
      f(*b);
    } catch (...) {  // the code that posted it has already gone on
      detail::report_exception(worker::running(), from);
    }
  };
  if (worker* const w = worker::current(); w != nullptr && &w->sched == home_) {
    send_message(*w, home_color_, std::move(call));
    return;
  }
  // A thread that is not a worker posts through color 0.
  static_cast<runtime*>(home_)->post([to = home_color_, call = std::move(call)]() mutable {
    send_message(worker::running(), to, std::move(call));
  });
}

}  // namespace heddle
