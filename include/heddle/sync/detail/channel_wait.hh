// SPDX-License-Identifier: MIT
// The waiters of a channel: functions that push, functions that pop, and events that pop. A value
// moves only after both sides have committed their choices; two branches of one choice never
// exchange a value.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "heddle/base/compiler.hh"
#include "heddle/core/detail/choice.hh"
#include "heddle/core/event.hh"
#include "heddle/core/promise.hh"

namespace heddle {

template <class T>
class channel;

namespace detail {

template <class T>
class push_wait;
template <class T>
class pop_wait;
template <class T>
struct pop_event;

/// A function that waits to push.
template <class T>
struct push_place : list_hook {
  push_place(list<push_place>& line, push_wait<T>& c) noexcept
      : list_hook(linked_at_once()), chooser(&c) {
    line.push_back(*this);
  }
  /// Takes the function out of its line, wakes it and returns its value.
  [[nodiscard]] T take(worker& w) noexcept { return push_wait<T>::record::take(*this, w); }
  /// Wakes the function because the channel was closed. It must be out of its line already.
  void refuse(worker& w) noexcept { push_wait<T>::record::refuse(*this, w); }

  push_wait<T>* chooser;  ///< the awaiter, whose choice must be open
};

/// A function or an event that waits to pop.
template <class T>
struct pop_place : list_hook {
  pop_place(list<pop_place>& line, pop_wait<T>* c) noexcept
      : list_hook(linked_at_once()), chooser(c) {
    line.push_back(*this);
  }
  /// Gives the value to a waiter that is a function.
  void give_function(worker& w, T&& value) noexcept {
    pop_wait<T>::record::give(*this, w, std::move(value));
  }
  void give(worker& w, T&& value) noexcept {
    if (chooser != nullptr) {
      give_function(w, std::move(value));
    } else {
      pop_event<T>::give(*this, w, std::move(value));
    }
  }
  /// Ends the wait because the channel was closed. The waiter must be out of its line already.
  void refuse(worker& w) noexcept {
    if (chooser != nullptr) {
      pop_wait<T>::record::refuse(*this, w);
    } else {
      pop_event<T>::refuse(*this, w);
    }
  }

  pop_wait<T>* chooser;  ///< null for an event
};

/// first_for() when entries of the line belong to choices, some of which were made in this turn.
template <class Place>
[[nodiscard]] HEDDLE_RARE Place* first_choice_for(list<Place>& line,
                                                  const choosable* other) noexcept {
  Place* found = nullptr;
  line.each([&](Place& p) {
    const choosable* const c = p.chooser;
    if (found == nullptr &&
        (c == nullptr || (c->open() && (other == nullptr || !c->rivals(*other)))))
      found = &p;
  });
  return found;
}

/// The first waiter in line whose choice is open and not that of `other`.
template <class Place>
[[nodiscard]] Place* first_for(list<Place>& line, const choosable* other) noexcept {
  if (line.empty()) return nullptr;
  Place& first = line.front();
  if (first.chooser == nullptr || first.chooser->alone()) [[likely]]
    return &first;
  return first_choice_for(line, other);
}

template <class T>
class [[nodiscard("co_await it")]] push_wait : public choosable {
 public:
  push_wait(channel<T>& home, T&& value, bool at_front)
      : home_(home), value_(std::move(value)), front_(at_front) {}
  push_wait(push_wait&& other)  // before it waits
      : push_wait(other.home_, std::move(other.value_), other.front_) {}

  ~push_wait() {
    if (end_ == end::waits) [[unlikely]]
      std::destroy_at(&record_);
  }

  [[nodiscard, gnu::always_inline]] bool await_ready() {
    worker& w = worker::running();
    if (!plain(w) || front_) return meet(w);
    if (!home_.poppers_.empty()) {
      pop_place<T>& first = home_.poppers_.front();
      if (first.chooser == nullptr || !first.chooser->alone()) return meet(w);
      hand_over(first, w, std::move(value_));
    } else if (home_.takes_at_once()) {
      home_.queue_.push_back_in_room(std::move(value_));
    } else {
      return home_.closed_ || !home_.full() ? meet(w) : false;
    }
    end_ = end::done;
    return true;
  }
  void ask_to_end(worker& w) noexcept {
    if (end_ == end::waits) record_.ask_to_end(w);
  }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    end_ = end::waits;
    std::construct_at(&record_, *this, link_of(h), worker::running());
  }
  void await_resume() {
    if (end_ != end::done) [[unlikely]]
      throw_failure(error());
  }
  [[nodiscard]] result<void> await_result() noexcept {
    if (end_ != end::done) return std::unexpected(error());
    return {};
  }

  /// Whether the function at this place wants its value before all others.
  [[nodiscard]] static bool at_front(const push_place<T>& p) noexcept { return p.chooser->front_; }

 private:
  enum class end : std::uint8_t { canceled, done, closed, waits };

  /// Gives the value to a waiting function that makes no choice.
  [[gnu::noinline]] static void hand_over(pop_place<T>& to, worker& w, T&& value) noexcept {
    to.give_function(w, std::move(value));
  }
  /// Handles the rarer cases of await_ready(), for example a choice or another waiter.
  [[nodiscard, gnu::noinline]] bool meet(worker& w) {
    if (refused(w)) [[unlikely]]
      return true;
    if (home_.closed_) [[unlikely]] {
      end_ = end::closed;
      return true;
    }
    pop_place<T>* const to = home_.popper_for(this);
    if ((to == nullptr && home_.full()) || !commit()) return false;
    end_ = end::done;
    if (to != nullptr) {
      to->give(w, std::move(value_));
    } else {
      home_.enqueue(std::move(value_), front_);
    }
    return true;
  }

  friend struct push_place<T>;
  struct record : wait, push_place<T> {
    record(push_wait& p, link frame, worker& w) noexcept
        : wait(kind_of_wait, frame, w), push_place<T>(p.home_.pushers_, p) {}
    ~record() { push_place<T>::take_out(); }
    static T take(push_place<T>& p, worker& w) noexcept {
      push_wait& self = *p.chooser;
      p.take_out();
      static_cast<void>(self.commit());  // the choice was open: the popper asked
      self.end_ = end::done;
      wake(static_cast<record&>(p), w);
      return std::move(self.value_);
    }
    static void refuse(push_place<T>& p, worker& w) noexcept {
      push_wait& self = *p.chooser;
      if (!self.open()) return;  // the function ends by its choice
      self.end_ = end::closed;
      wake(static_cast<record&>(p), w);
    }
    static void cancel(wait& x, worker& w) noexcept {
      push_place<T>& p = static_cast<record&>(x);
      p.take_out();
      p.chooser->end_ = end::canceled;
      wake(x, w);
    }
    static constexpr wait_kind kind_of_wait{"push", &cancel};
  };

  [[nodiscard]] std::error_code error() const noexcept {
    return end_ == end::closed ? std::make_error_code(std::errc::broken_pipe) : canceled_error();
  }

  channel<T>& home_;
  T value_;
  end end_ = end::canceled;
  bool front_;
  union {
    record record_;  // only while it waits: most channels have room
  };
};

template <class T>
class [[nodiscard("co_await it")]] pop_wait : public choosable {
 public:
  pop_wait(channel<T>& home, bool back) noexcept : home_(home), back_(back) {}
  pop_wait(const pop_wait& other) noexcept : pop_wait(other.home_, other.back_) {}  // not yet begun
  ~pop_wait() {
    if (end_ == end::value) [[unlikely]]
      home_.give_again(take());  // the function was ended between the wake and the run
    if (end_ == end::waits) [[unlikely]]
      std::destroy_at(&record_);
  }

  [[nodiscard, gnu::always_inline]] bool await_ready() {
    worker& w = worker::running();
    if (!plain(w) || back_) return meet(w);
    if (home_.queue_.empty()) return home_.closed_ || !home_.pushers_.empty() ? meet(w) : false;
    T value = home_.queue_.pop_front();
    home_.refill(w);
    keep(std::move(value));
    return true;
  }
  void ask_to_end(worker& w) noexcept {
    if (end_ == end::waits) record_.ask_to_end(w);
  }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    end_ = end::waits;
    std::construct_at(&record_, *this, link_of(h), worker::running());
  }
  [[nodiscard]] std::optional<T> await_resume() {
    if (end_ == end::canceled) [[unlikely]]
      throw_failure(canceled_error());
    return result_of_end();
  }
  [[nodiscard]] result<std::optional<T>> await_result() {
    if (end_ == end::canceled) return std::unexpected(canceled_error());
    return result_of_end();
  }

 private:
  enum class end : std::uint8_t { canceled, closed, value, waits };

  void keep(T&& value) noexcept {
    std::construct_at(std::addressof(value_), std::move(value));
    end_ = end::value;
  }
  [[nodiscard]] T take() noexcept {
    T value = std::move(value_);
    std::destroy_at(std::addressof(value_));
    end_ = end::closed;
    return value;
  }
  [[nodiscard]] std::optional<T> result_of_end() noexcept {
    if (end_ == end::value) [[likely]]
      return take();
    return std::nullopt;
  }

  /// Handles the rarer cases of await_ready(), for example a choice or another waiter.
  [[nodiscard, gnu::noinline]] bool meet(worker& w) {
    if (refused(w)) [[unlikely]]
      return true;
    if (!home_.queue_.empty()) {
      if (!commit()) return true;
      keep(back_ ? home_.queue_.pop_back() : home_.queue_.pop_front());
      home_.refill(w);
      return true;
    }
    if (push_place<T>* const from = home_.pusher_for(this)) {
      if (!commit()) return true;
      keep(from->take(w));
      return true;
    }
    if (home_.closed_ && commit_end()) end_ = end::closed;
    return home_.closed_;
  }

  friend struct pop_place<T>;
  struct record : wait, pop_place<T> {
    record(pop_wait& p, link frame, worker& w) noexcept
        : wait(kind_of_wait, frame, w), pop_place<T>(p.home_.poppers_, &p) {}
    ~record() { pop_place<T>::take_out(); }
    static void give(pop_place<T>& p, worker& w, T&& value) noexcept {
      pop_wait& self = *p.chooser;
      p.take_out();
      static_cast<void>(self.commit());  // the choice was open: the pusher asked
      self.keep(std::move(value));
      wake(static_cast<record&>(p), w);
    }
    static void refuse(pop_place<T>& p, worker& w) noexcept {
      pop_wait& self = *p.chooser;
      if (!self.commit_end()) return;  // the function ends by its choice
      self.end_ = end::closed;
      wake(static_cast<record&>(p), w);
    }
    static void cancel(wait& x, worker& w) noexcept {
      pop_place<T>& p = static_cast<record&>(x);
      p.take_out();
      p.chooser->end_ = end::canceled;
      wake(x, w);
    }
    static constexpr wait_kind kind_of_wait{"pop", &cancel};
  };

  channel<T>& home_;
  union {
    T value_;  // only if end_ is value; not an optional, whose parts would be read as one word
  };
  end end_ = end::canceled;
  bool back_;
  union {
    record record_;  // only while it waits
  };
};

/// A pop that takes more values once it has one.
template <class T>
class [[nodiscard("co_await it")]] pop_many_wait : public pop_wait<T> {
 public:
  pop_many_wait(channel<T>& home, std::vector<T>& out, std::size_t most) noexcept
      : pop_wait<T>(home, false), from_(home), out_(out), most_(most) {
    HEDDLE_ASSERT(most > 0, "pop_many needs room for one value");
  }
  [[nodiscard]] std::size_t await_resume() { return append(pop_wait<T>::await_resume()); }
  [[nodiscard]] result<std::size_t> await_result() {
    auto first = pop_wait<T>::await_result();
    if (!first) return std::unexpected(first.error());
    return append(std::move(*first));
  }

 private:
  [[nodiscard]] std::size_t append(std::optional<T> first) {
    if (!first) return 0;
    const std::size_t before = out_.size();
    out_.push_back(std::move(*first));
    from_.take_ready(out_, most_ - 1);
    return out_.size() - before;
  }
  channel<T>& from_;
  std::vector<T>& out_;
  std::size_t most_;
};

/// A waiter that pops for an event. It is freed when the event ends.
template <class T>
struct pop_event final : pop_place<T>, event_notifier {
  static void make(list<pop_place<T>>& line, event<T> done) {
    worker& w = worker::here();
    auto* self = new (w.memory.allocate(sizeof(pop_event))) pop_event(line, std::move(done));
    add_notifier(*self->target.record(), *self);
  }

 private:
  friend struct pop_place<T>;
  pop_event(list<pop_place<T>>& line, event<T> done) noexcept
      : pop_place<T>(line, nullptr), event_notifier(&ended), target(std::move(done)) {}

  /// Frees the waiter, which is in no line any more, and returns its event.
  [[nodiscard]] static event<T> leave(pop_event& self, worker& w) noexcept {
    event<T> target = std::move(self.target);
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(pop_event));
    return target;
  }
  static void give(pop_place<T>& p, worker& w, T&& value) noexcept {
    auto& self = static_cast<pop_event&>(p);
    remove_notifier(*self.target.record(), self);
    self.take_out();
    leave(self, w).trigger(std::move(value));
  }
  static void refuse(pop_place<T>& p, worker& w) noexcept {
    auto& self = static_cast<pop_event&>(p);
    remove_notifier(*self.target.record(), self);
    leave(self, w).unblock();
  }
  static void ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<pop_event&>(n);
    self.take_out();
    static_cast<void>(leave(self, w));
  }

  event<T> target;
};

}  // namespace detail
}  // namespace heddle
