// SPDX-License-Identifier: MIT
// A bus connects parts of a program that do not know each other: one part raises a topic, and the
// handlers that other parts have bound to it run in order. Parts (micro-protocols) are chosen when
// the program starts, and may bind and unbind at any time.
//
// Handlers run in ascending order of their number, and ties in the order of binding. A handler that
// is unbound during a raise no longer runs, not even in this raise. A handler that is bound during
// a raise runs from the next outermost raise on. Raises nest. An exception ends each raise that it
// passes through.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/bus/detail/delivery.hh"
#include "heddle/bus/detail/dispatch.hh"
#include "heddle/bus/detail/handler.hh"
#include "heddle/bus/detail/recorder.hh"
#include "heddle/bus/each.hh"
#include "heddle/bus/next.hh"

namespace heddle {

namespace detail {
template <class Signature, class... Us>
inline constexpr bool raised_with = false;
template <class R, class... Args, class... Us>
  requires(sizeof...(Args) == sizeof...(Us))
inline constexpr bool raised_with<topic_signature<R, Args...>, Us...> =
    (std::convertible_to<Us, pass_t<Args>> && ...);

/// Runs a raise; the arguments have the types that handlers get.
template <class T, class Plan, class R, class... Args>
[[gnu::always_inline]] inline R raise_topic(topic_signature<R, Args...>, bus& b,
                                            pass_t<Args>... args);
template <class T, class Plan, class Signature>
struct raise_of;

/// The part of a bus that a post under way refers to; it may outlive the bus.
struct bus_address {
  bus* at;  ///< null after the bus has ended; only the home color uses it
  /// The number of posts from other threads and colors that have not arrived. Any thread may change
  /// it.
  std::atomic<std::size_t> on_their_way = 0;
};
}  // namespace detail

struct bus_options {
  /// The scope for handlers that are tasks; null: the runtime's root scope. It must outlive the
  /// bus.
  scope* tasks = nullptr;
  std::size_t handlers_max = 65536;    ///< bound at one time; bind throws beyond it
  std::size_t deliveries_max = 65536;  ///< posted or delayed at one time; post throws beyond it
  /// The file to which the bus adds its profile at its end. Empty: the file that the environment
  /// variable HEDDLE_PROFILE names, if any; an unusable file is then only reported.
  std::string profile = {};
  /// The file to which the bus adds its trace. Empty: the file that the environment variable
  /// HEDDLE_BUS_TRACE names, if any; an unusable file is then only reported.
  std::string trace = {};
  /// The size of that file from which on nothing is added, also by other buses.
  std::uint64_t trace_bytes_max = std::uint64_t{256} << 20;
};

/// Thread: one color at a time. Only post() may be called from elsewhere; its topic is raised in
///   the color that built the bus. The bus must end before its runtime.
/// Owns: closures and arguments given to bind, but not the objects of member functions; unbind
///   these before the objects end. Destroying a bus during one of its raises is a misuse.
/// Cancel: the end of the bus drops posted raises and ends next() with operation_canceled.
/// Fails: bind and post throw failure beyond their limits; the constructor does if it cannot write
///   to bus_options::profile or trace. An exception of a handler leaves raise().
///
///   bus b;
///   b.bind<packet_in, &fec::on_packet>(&f, 30);
///   b.bind<packet_in>([](packet& p, std::uint32_t) { p.seen = true; }, 40);
///   b.raise<packet_in>(p, 0u);
class bus {
  // Functions that depend on the build's plan are always inlined, so that parts of a program built
  // with another plan, or with none, share none of them.
  using place = std::source_location;

 public:
  explicit bus(bus_options options = bus_options());
  bus(const bus&) = delete;
  bus& operator=(const bus&) = delete;
  ~bus();

  /// Binds a function; extra arguments are passed after the topic's.
  template <any_topic T, HEDDLE_BIND_TARGET Function, class... Bound>
    requires(!std::is_member_pointer_v<decltype(detail::pointer_of(Function))>)
  [[gnu::always_inline]] binding bind(int order = 0, Bound... bound);
  /// Binds a member function of an object.
  template <any_topic T, HEDDLE_BIND_TARGET Member, class Object, class... Bound>
    requires(std::is_member_function_pointer_v<decltype(detail::pointer_of(Member))>)
  [[gnu::always_inline]] binding bind(Object* object, int order = 0, Bound... bound);
  /// Binds a closure or another callable object; the bus keeps it.
  template <any_topic T, class F, class... Bound>
    requires(!std::is_pointer_v<F> || std::is_function_v<std::remove_pointer_t<F>>)
  [[gnu::always_inline]] binding bind(F f, int order = 0, Bound... bound);

  /// Binds a handler that runs only in raises for which `guard(args...)` is true. The guard gets
  /// the topic's arguments, and must not change them. In merged code both are inlined.
  template <any_topic T, HEDDLE_BIND_TARGET Function, class Guard>
    requires(!std::is_member_pointer_v<decltype(detail::pointer_of(Function))>)
  [[gnu::always_inline]] binding bind_if(Guard guard, int order = 0);
  template <any_topic T, HEDDLE_BIND_TARGET Member, class Guard, class Object>
    requires(std::is_member_function_pointer_v<decltype(detail::pointer_of(Member))>)
  [[gnu::always_inline]] binding bind_if(Guard guard, Object* object, int order = 0);
  template <any_topic T, class Guard, class F>
  [[gnu::always_inline]] binding bind_if(Guard guard, F f, int order = 0);

  /// Binds a filter: `flow f(args...)`, which runs before all handlers. If it returns flow::halt,
  /// no later filter and no handler runs, whether or not T is haltable. Filters run in ascending
  /// order. While a topic has a filter, its raises are not merged.
  template <any_topic T, class F>
  [[gnu::always_inline]] binding filter(F f, int order = 0);

  /// Unbinds a handler or a filter: it no longer runs, not even in a current raise. False if it was
  /// not bound.
  bool unbind(const binding& b) noexcept;
  /// Unbinds all member functions of this object; returns their number.
  std::size_t unbind_all(const void* object) noexcept;

  /// Runs the handlers. For a haltable topic, returns whether one halted.
  template <any_topic T, class... Us>
  [[gnu::always_inline]] auto raise(Us&&... args) -> typename T::signature::answer {
    constexpr bool fits = detail::raised_with<typename T::signature, Us&&...>;
    static_assert(fits, "raise<T>(...) is given other arguments than topic<...> says for T");
    if constexpr (fits)
      return detail::raise_topic<T, detail::plan>(typename T::signature(), *this,
                                                  std::forward<Us>(args)...);
  }

  /// Raises T later, from the ready queue after all frames that are ready, with copies of the
  /// arguments. If a handler throws, the report names the topic and the calling line. Thread: any.
  template <any_topic T, class... Us>
    requires(sizeof...(Us) > 6)
  [[gnu::always_inline]] void post(Us&&... args) {
    post_from<T, detail::plan>(site(), std::forward<Us>(args)...);
  }
  /// Raises T after this span; with a span of zero or less it acts like post().
  template <any_topic T, class... Us>
    requires(sizeof...(Us) > 6)
  [[gnu::always_inline]] delayed after(nanoseconds span, Us&&... args) {
    return after_from<T, detail::plan>(site(), span, std::forward<Us>(args)...);
  }
  // Overloads of post() and after() with the calling line. A parameter after a pack cannot have a
  // default, so there is an overload for each number of arguments up to six.
  template <any_topic T>
  [[gnu::always_inline]] void post(place where = place::current()) {
    post_from<T, detail::plan>(site_of(where));
  }
  template <any_topic T, class U0>
  [[gnu::always_inline]] void post(U0&& a0, place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0));
  }
  template <any_topic T, class U0, class U1>
  [[gnu::always_inline]] void post(U0&& a0, U1&& a1, place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0), std::forward<U1>(a1));
  }
  template <any_topic T, class U0, class U1, class U2>
  [[gnu::always_inline]] void post(U0&& a0, U1&& a1, U2&& a2, place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0), std::forward<U1>(a1),
                               std::forward<U2>(a2));
  }
  template <any_topic T, class U0, class U1, class U2, class U3>
  [[gnu::always_inline]] void post(U0&& a0, U1&& a1, U2&& a2, U3&& a3,
                                   place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0), std::forward<U1>(a1),
                               std::forward<U2>(a2), std::forward<U3>(a3));
  }
  template <any_topic T, class U0, class U1, class U2, class U3, class U4>
  [[gnu::always_inline]] void post(U0&& a0, U1&& a1, U2&& a2, U3&& a3, U4&& a4,
                                   place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0), std::forward<U1>(a1),
                               std::forward<U2>(a2), std::forward<U3>(a3), std::forward<U4>(a4));
  }
  template <any_topic T, class U0, class U1, class U2, class U3, class U4, class U5>
  [[gnu::always_inline]] void post(U0&& a0, U1&& a1, U2&& a2, U3&& a3, U4&& a4, U5&& a5,
                                   place where = place::current()) {
    post_from<T, detail::plan>(site_of(where), std::forward<U0>(a0), std::forward<U1>(a1),
                               std::forward<U2>(a2), std::forward<U3>(a3), std::forward<U4>(a4),
                               std::forward<U5>(a5));
  }
  template <any_topic T>
  [[gnu::always_inline]] delayed after(nanoseconds span, place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span);
  }
  template <any_topic T, class U0>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span, std::forward<U0>(a0));
  }
  template <any_topic T, class U0, class U1>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, U1&& a1,
                                       place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span, std::forward<U0>(a0),
                                       std::forward<U1>(a1));
  }
  template <any_topic T, class U0, class U1, class U2>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, U1&& a1, U2&& a2,
                                       place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span, std::forward<U0>(a0),
                                       std::forward<U1>(a1), std::forward<U2>(a2));
  }
  template <any_topic T, class U0, class U1, class U2, class U3>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, U1&& a1, U2&& a2, U3&& a3,
                                       place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span, std::forward<U0>(a0),
                                       std::forward<U1>(a1), std::forward<U2>(a2),
                                       std::forward<U3>(a3));
  }
  template <any_topic T, class U0, class U1, class U2, class U3, class U4>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, U1&& a1, U2&& a2, U3&& a3,
                                       U4&& a4, place where = place::current()) {
    return after_from<T, detail::plan>(site_of(where), span, std::forward<U0>(a0),
                                       std::forward<U1>(a1), std::forward<U2>(a2),
                                       std::forward<U3>(a3), std::forward<U4>(a4));
  }
  template <any_topic T, class U0, class U1, class U2, class U3, class U4, class U5>
  [[gnu::always_inline]] delayed after(nanoseconds span, U0&& a0, U1&& a1, U2&& a2, U3&& a3,
                                       U4&& a4, U5&& a5, place where = place::current()) {
    return after_from<T, detail::plan>(
        site_of(where), span, std::forward<U0>(a0), std::forward<U1>(a1), std::forward<U2>(a2),
        std::forward<U3>(a3), std::forward<U4>(a4), std::forward<U5>(a5));
  }

  /// Waits for the next raise of T and gives copies of its arguments. The wait ends after all
  /// handlers, and goes on if one of them halts the raise. Called during a raise, next() waits for
  /// a later one.
  template <copyable_topic T>
  [[nodiscard("co_await it")]] next_raise<T> next() noexcept {
    return next_raise<T>(*this);
  }

  /// Queues copies of the arguments of every raise of T from now on, at most `len_max` of them.
  /// Unlike next(), it misses no raise between two waits. Needs a runtime.
  ///
  ///   auto clicks = b.each<click>(16);
  ///   for (;;) show(co_await clicks.next());
  template <copyable_topic T>
  [[gnu::always_inline]] [[nodiscard]] raise_queue<T> each(std::size_t len_max = 1024);

  /// The number of handlers bound to T, without filters and waiting tasks.
  template <any_topic T>
  [[nodiscard]] std::size_t handlers() const noexcept {
    return count_handlers(detail::topic_info_of<T>);
  }
  /// Whether a raise is in progress.
  [[nodiscard]] bool in_raise() const noexcept { return raising_ || in_merged_raise(); }
  /// The number of T's handlers that are now merged into one function; 0 without a plan, or while
  /// the bindings do not match it.
  template <any_topic T>
  [[nodiscard]] std::size_t merged() const noexcept {
    return count_merged(detail::topic_info_of<T>);
  }
  /// The number of posted and delayed raises that have not run.
  [[nodiscard]] std::size_t deliveries() const noexcept {
    return delivery_count_.load(std::memory_order_relaxed);
  }

 private:
  template <any_topic T>
  friend class next_raise;
  friend struct detail::delivery;
  template <class T, class Plan, class Signature>
  friend struct detail::raise_of;

  struct entry {
    detail::topic_info* key;
    detail::topic_record* record;
  };
  struct pending_bind {
    detail::topic_record* record;
    detail::slot slot;
    detail::slot_info info;
  };
  /// While a `raising` exists, the arrays that raises walk do not change. It stores a constant and
  /// restores the previous value, because a counter would chain every raise of a cascade to the one
  /// before it.
  class raising {
   public:
    explicit raising(bus& b) noexcept : bus_(b), outer_(b.raising_) { b.raising_ = true; }
    raising(const raising&) = delete;
    raising& operator=(const raising&) = delete;
    ~raising() {
      bus_.raising_ = outer_;
      if (!outer_ && bus_.unsettled_) [[unlikely]]
        bus_.settle_behind_raises();
    }

   private:
    bus& bus_;
    bool outer_;
  };
  class merging;  // the same for a merged raise

  template <any_topic T>
  [[nodiscard]] detail::topic_record& find() noexcept {
    const entry& e = table_[detail::topic_hash<T> & table_mask_];
    if (e.key == &detail::topic_info_of<T>) [[likely]]
      return *e.record;
    return find_slow(detail::topic_info_of<T>);
  }
  [[gnu::noinline]] detail::topic_record& find_slow(detail::topic_info& topic) noexcept;
  [[nodiscard]] detail::topic_record* look_up(const detail::topic_info& topic) const noexcept;
  [[nodiscard]] detail::topic_record& obtain(detail::topic_info& topic,
                                             detail::make_topic_calls calls);
  void rebuild_table();

  template <any_topic T, class Plan, class Who>
  binding bind_handler(void* self, int order, const void* object, void (*destroy)(void*));
  template <any_topic T, class Plan, class F>
  binding bind_callable(F f, int order, const void* object);
  template <any_topic T, class Plan, class Guard, class F>
  binding bind_guarded(Guard guard, F f, int order, const void* object);
  template <any_topic T, class Plan, class F>
  binding bind_filter(F f, int order);
  template <copyable_topic T, class Plan>
  [[nodiscard]] raise_queue<T> queue_each(std::size_t len_max);
  binding bind_slot(detail::topic_record& r, detail::slot s, detail::slot_info info);
  void insert(detail::topic_record& r, detail::slot s, const detail::slot_info& info);
  template <class Which>
  std::size_t unbind_where(Which which) noexcept;
  void unbind_everything() noexcept;
  void remove(detail::topic_record& r, std::size_t at) noexcept;
  void refresh(detail::topic_record& r) noexcept;
  void settle() noexcept;
  void settle_behind_raises() noexcept;
  void note_change() noexcept;
  [[gnu::cold]] void leave_changed() noexcept;
  [[nodiscard]] bool in_merged_raise() const noexcept;
  void wait_for(detail::topic_info& topic, detail::make_topic_calls calls,
                detail::topic_waiter& waiter);
  template <any_topic T, class Plan>
  void note_request(nanoseconds span);
  template <any_topic T, class Plan, class... Us>
  void post_from(site from, Us&&... args);
  template <any_topic T, class Plan, class... Us>
  delayed after_from(site from, nanoseconds span, Us&&... args);
  template <any_topic T, class Plan, class... Us>
  detail::delivery& deliver(site from, nanoseconds span, Us&&... args);
  void drop_pending(pending_bind& p) noexcept;
  void check_deliveries() const;
  void check_room_behind(std::size_t waiting) const;
  void count_deliveries(std::ptrdiff_t change) noexcept;
  void deliver_later(detail::delivery& d, nanoseconds span);
  void deliver_from_elsewhere(detail::raise_origin from, std::move_only_function<void(bus&)> f);
  [[nodiscard]] std::size_t count_handlers(const detail::topic_info& topic) const noexcept;

  [[nodiscard]] std::size_t count_merged(const detail::topic_info& topic) const noexcept;

  void set_active(detail::topic_record& r, const detail::variant* v) noexcept;
  void take_plan(const detail::variant_table& table);

  entry* table_;
  std::size_t table_mask_ = 0;
  bool raising_ = false;    // a generic raise is in progress
  bool unsettled_ = false;  // settle() has work
  // Merged raises in progress whose chain's state no longer says so, because bindings changed.
  std::uint32_t changed_raises_ = 0;
  detail::merged_block merged_;
  std::uint64_t serial_ = 0;
  std::size_t handler_count_ = 0;
  std::atomic<std::size_t> delivery_count_ = 0;  // written by the home color only; relaxed
  detail::merged_memory merged_memory_;
  std::unique_ptr<detail::recorder> recorder_;
  detail::topic_record without_handlers_;  // the record of every topic without handlers
  std::vector<std::unique_ptr<detail::topic_record>> records_;
  std::vector<entry> entries_;
  std::vector<pending_bind> pending_;
  list<detail::delivery> delivered_later_;
  std::shared_ptr<detail::bus_address> self_;  // cleared at the end, for posts under way
  scheduler* home_;                            // the runtime that the bus was made in
  std::uint32_t home_color_ = 0;  // the color that the bus belongs to: a place in the table
  bus_options options_;
};

}  // namespace heddle

#include "heddle/bus/detail/bus_impl.hh"
