// SPDX-License-Identifier: MIT
// The templates of class bus, instantiated for each topic and each handler. Only bus.hh includes
// this file.
#pragma once

#include "heddle/bus/bus.hh"
#include "heddle/bus/detail/hot.hh"
#include "heddle/bus/detail/raise.hh"

namespace heddle {

namespace detail {

template <class Who>
inline constexpr handler_info handler_info_of{
    handler_name<Who>::hash, occurrence<handler_name<Who>::hash, Who>(), handler_name<Who>::text};

/// The functions that the untyped half of a bus needs for a topic.
template <class Plan, class Signature, class T>
struct calls_for;
template <class Plan, class R, class... Args, class T>
struct calls_for<Plan, topic_signature<R, Args...>, T> {
  using waiters = waiters_handler<topic_signature<R, Args...>, T>;

  static R tombstone(void*, pass_t<Args>...) {
    if constexpr (!std::is_void_v<R>) return flow::go_on;
  }
  static topic_calls make() {
    return {reinterpret_cast<any_function>(&tombstone),
            reinterpret_cast<any_function>(&waiters::call),
            &handler_info_of<waiters>,
            reinterpret_cast<any_function>(&run_filtered<R, Args...>),
            reinterpret_cast<any_function>(&run_recorded<R, Args...>),
            compiler_name,
            hot_number<Plan, topic_signature<R, Args...>, waiters>::get(),
            Plan::variants_of(topic_hash<T>)};
  }
};

template <class T, class Plan>
inline constexpr make_topic_calls make_calls_of = &calls_for<Plan, typename T::signature, T>::make;

/// A delivery with its arguments.
template <class T, class Plan>
struct delivery_of : delivery {
  using copies = typename T::signature::copies;

  template <class... Us>
  explicit delivery_of(bus& b, site from, Us&&... args) : delivery(b, type_of, from) {
    std::construct_at(std::addressof(arguments), std::forward<Us>(args)...);
  }
  static void raise_now_of(delivery& d, bus& b) {
    std::apply(
        [&](auto&... args) {
          static_cast<void>(raise_topic<T, Plan>(typename T::signature(), b, args...));
        },
        static_cast<delivery_of&>(d).arguments);
  }
  static void drop_of(delivery& d) noexcept {
    std::destroy_at(std::addressof(static_cast<delivery_of&>(d).arguments));
  }
  static const type type_of;
  union {
    copies arguments;  // until they are dropped
  };
};
template <class T, class Plan>
constexpr delivery::type delivery_of<T, Plan>::type_of{&raise_now_of, &drop_of, &topic_info_of<T>,
                                                       sizeof(delivery_of)};

template <class T, class Plan, class... Us>
[[nodiscard]] delivery& make_delivery(bus& b, site from, Us&&... args) {
  using record = delivery_of<T, Plan>;
  worker& w = worker::here();
  void* const cell = w.memory.allocate(sizeof(record));
  try {
    return *new (cell) record(b, from, std::forward<Us>(args)...);
  } catch (...) {
    w.memory.release(cell, sizeof(record));
    throw;
  }
}

}  // namespace detail

template <any_topic T, class Plan, class Who>
binding bus::bind_handler(void* self, int order, const void* object, void (*destroy)(void*)) {
  return bind_slot(
      obtain(detail::topic_info_of<T>, detail::make_calls_of<T, Plan>),
      {reinterpret_cast<detail::any_function>(&Who::call), self},
      {&detail::handler_info_of<Who>, detail::hot_number<Plan, typename T::signature, Who>::get(),
       order, 0, object, destroy});
}

template <any_topic T, class Plan, class F>
binding bus::bind_callable(F f, int order, const void* object) {
  using signature = typename T::signature;
  if constexpr (detail::is_task<typename detail::answer_type<signature, F&>::type>) {
    using who = detail::task_handler<signature, F>;
    auto cell = std::make_unique<typename who::cell>(std::move(f), options_.tasks);
    const binding b = bind_handler<T, Plan, who>(cell.get(), order, object, &who::destroy);
    static_cast<void>(cell.release());
    return b;
  } else {
    using who = detail::callable_handler<signature, F>;
    if constexpr (who::stateless) {
      return bind_handler<T, Plan, who>(nullptr, order, object, nullptr);
    } else {
      auto kept = std::make_unique<F>(std::move(f));
      const binding b = bind_handler<T, Plan, who>(kept.get(), order, object, &who::destroy);
      static_cast<void>(kept.release());
      return b;
    }
  }
}

template <any_topic T, HEDDLE_BIND_TARGET Function, class... Bound>
  requires(!std::is_member_pointer_v<decltype(detail::pointer_of(Function))>)
inline binding bus::bind(int order, Bound... bound) {
  using signature = typename T::signature;
  constexpr auto function = detail::pointer_of(Function);
  using callable = detail::bound_function<function, Bound...>;
  using answer = typename detail::answer_type<signature, decltype(detail::pointer_of(Function)),
                                              detail::around<>, detail::around<Bound&...>>::type;
  if constexpr (sizeof...(Bound) == 0 && !detail::is_task<answer>) {
    constexpr detail::binding_file file =
        detail::file_if_local<function, detail::file_of(Function)>;
    return bind_handler<T, detail::plan, detail::function_handler<signature, function, file>>(
        nullptr, order, nullptr, nullptr);
  } else {
    return bind_callable<T, detail::plan>(callable{{std::move(bound)...}}, order, nullptr);
  }
}

template <any_topic T, HEDDLE_BIND_TARGET Member, class Object, class... Bound>
  requires(std::is_member_function_pointer_v<decltype(detail::pointer_of(Member))>)
inline binding bus::bind(Object* object, int order, Bound... bound) {
  using signature = typename T::signature;
  constexpr auto member = detail::pointer_of(Member);
  using callable = detail::bound_member<member, Object, Bound...>;
  HEDDLE_ASSERT(object != nullptr, "bind a member function of an object, not of a null pointer");
  const void* const key = object;
  using answer =
      typename detail::answer_type<signature, decltype(detail::pointer_of(Member)),
                                   detail::around<Object&>, detail::around<Bound&...>>::type;
  if constexpr (sizeof...(Bound) == 0 && !detail::is_task<answer>) {
    constexpr detail::binding_file file = detail::file_if_local<member, detail::file_of(Member)>;
    return bind_handler<T, detail::plan, detail::member_handler<signature, member, Object, file>>(
        const_cast<void*>(key), order, key, nullptr);
  } else {
    return bind_callable<T, detail::plan>(callable{object, {std::move(bound)...}}, order, key);
  }
}

template <any_topic T, class F, class... Bound>
  requires(!std::is_pointer_v<F> || std::is_function_v<std::remove_pointer_t<F>>)
inline binding bus::bind(F f, int order, Bound... bound) {
  if constexpr (sizeof...(Bound) == 0) {
    return bind_callable<T, detail::plan>(std::move(f), order, nullptr);
  } else {
    using callable = detail::bound_callable<F, Bound...>;
    return bind_callable<T, detail::plan>(callable{std::move(f), {std::move(bound)...}}, order,
                                          nullptr);
  }
}

template <any_topic T, HEDDLE_BIND_TARGET Function, class Guard>
  requires(!std::is_member_pointer_v<decltype(detail::pointer_of(Function))>)
inline binding bus::bind_if(Guard guard, int order) {
  constexpr auto function = detail::pointer_of(Function);
  return bind_guarded<T, detail::plan>(std::move(guard), detail::direct_function<function>(), order,
                                       nullptr);
}

template <any_topic T, HEDDLE_BIND_TARGET Member, class Guard, class Object>
  requires(std::is_member_function_pointer_v<decltype(detail::pointer_of(Member))>)
inline binding bus::bind_if(Guard guard, Object* object, int order) {
  HEDDLE_ASSERT(object != nullptr, "bind a member function of an object, not of a null pointer");
  constexpr auto member = detail::pointer_of(Member);
  return bind_guarded<T, detail::plan>(
      std::move(guard), detail::direct_member<member, Object>{object}, order, object);
}

template <any_topic T, class Guard, class F>
inline binding bus::bind_if(Guard guard, F f, int order) {
  return bind_guarded<T, detail::plan>(std::move(guard), std::move(f), order, nullptr);
}

template <any_topic T, class Plan, class Guard, class F>
binding bus::bind_guarded(Guard guard, F f, int order, const void* object) {
  static_assert(detail::guards<Guard, typename T::signature>,
                "a guard takes the topic's arguments, values as const, and returns a bool");
  return bind_callable<T, Plan>(detail::guarded<Guard, F>{std::move(guard), std::move(f)}, order,
                                object);
}

template <any_topic T, class F>
inline binding bus::filter(F f, int order) {
  return bind_filter<T, detail::plan>(std::move(f), order);
}

template <any_topic T, class Plan, class F>
binding bus::bind_filter(F f, int order) {
  using who = detail::filter_handler<typename T::signature, F>;
  auto kept = std::make_unique<F>(std::move(f));
  const binding b = bind_slot(obtain(detail::topic_info_of<T>, detail::make_calls_of<T, Plan>),
                              {reinterpret_cast<detail::any_function>(&who::call), kept.get()},
                              {&detail::handler_info_of<who>,
                               {},
                               detail::slot_info::filter_order(order),
                               0,
                               nullptr,
                               &who::destroy,
                               detail::slot_kind::filter});
  static_cast<void>(kept.release());
  return b;
}

template <copyable_topic T>
inline raise_queue<T> bus::each(std::size_t len_max) {
  return queue_each<T, detail::plan>(len_max);
}

template <copyable_topic T, class Plan>
raise_queue<T> bus::queue_each(std::size_t len_max) {
  using who = detail::each_handler<typename T::signature, T>;
  HEDDLE_ASSERT(len_max > 0, "each() needs room for one raise");
  auto cell =
      std::make_unique<typename who::cell>(std::make_shared<detail::each_state<T>>(*this, len_max));
  const auto state = cell->state;
  state->bound = bind_slot(
      obtain(detail::topic_info_of<T>, detail::make_calls_of<T, Plan>),
      {reinterpret_cast<detail::any_function>(&who::call), cell.get()},
      {&detail::handler_info_of<who>, detail::hot_number<Plan, typename T::signature, who>::get(),
       std::numeric_limits<std::int64_t>::max(), 0, nullptr, &who::destroy,
       detail::slot_kind::waiters});
  static_cast<void>(cell.release());
  return raise_queue<T>(state);
}

template <any_topic T, class Plan>
void bus::note_request(nanoseconds span) {
  if (recorder_ != nullptr) [[unlikely]]
    recorder_->asked_for(obtain(detail::topic_info_of<T>, detail::make_calls_of<T, Plan>), span);
}

template <any_topic T, class Plan, class... Us>
detail::delivery& bus::deliver(site from, nanoseconds span, Us&&... args) {
  note_request<T, Plan>(span);
  detail::delivery& d = detail::make_delivery<T, Plan>(*this, from, std::forward<Us>(args)...);
  deliver_later(d, span);
  return d;
}

template <any_topic T, class Plan, class... Us>
void bus::post_from(site from, Us&&... args) {
  if (worker* const w = worker::current();
      w != nullptr && &w->sched == home_ && w->color == home_color_) [[likely]] {
    check_deliveries();
    deliver<T, Plan>(from, nanoseconds::zero(), std::forward<Us>(args)...);
    return;
  }
  using copies = typename T::signature::copies;
  deliver_from_elsewhere({&detail::topic_info_of<T>, from},
                         [from, kept = copies(std::forward<Us>(args)...)](bus& b) mutable {
                           std::apply(
                               [&](auto&... each) {
                                 b.deliver<T, Plan>(from, nanoseconds::zero(), std::move(each)...);
                               },
                               kept);
                         });
}

template <any_topic T, class Plan, class... Us>
delayed bus::after_from(site from, nanoseconds span, Us&&... args) {
  check_deliveries();
  return delayed(deliver<T, Plan>(from, span, std::forward<Us>(args)...));
}

template <copyable_topic T>
void raise_queue<T>::end() noexcept {
  if (state_ == nullptr) return;
  state_->queue.close();
  if (state_->owner != nullptr) state_->owner->unbind(state_->bound);
  state_ = nullptr;
}

template <any_topic T>
template <frame_promise P>
bool next_raise<T>::await_suspend(std::coroutine_handle<P> h) {
  worker& w = worker::running();
  if (w.current_context().canceled()) return false;
  bus_.wait_for(detail::topic_info_of<T>, detail::make_calls_of<T, detail::plan>, *this);
  closed = &end_wait;
  park(*this, link_of(h), w);
  return true;
}

}  // namespace heddle

#undef HEDDLE_BIND_TARGET
