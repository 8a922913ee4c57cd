// SPDX-License-Identifier: MIT
// A bus connects programs made of parts that do not know each other: a part raises a topic, and the
// handlers that others have bound to it run, in order. Parts (micro-protocols) are chosen when the
// program starts, and may bind and unbind at any time.
//
// Order: ascending, ties in the order of binding. A handler that is unbound during a raise does not
// run any more, not even in this raise; one that is bound during a raise runs from the next
// outermost raise on. Raises nest. An exception ends the raise that it passes through.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/bus/delivery.hh"
#include "heddle/bus/dispatch.hh"
#include "heddle/bus/handler.hh"
#include "heddle/bus/next.hh"
#include "heddle/bus/recorder.hh"

namespace heddle {

namespace detail {
/// A raise; the arguments as handlers get them.
template <class T, class Plan, class R, class... Args>
[[gnu::always_inline]] inline R raise_topic(topic_signature<R, Args...>, bus& b,
                                            pass_t<Args>... args);
template <class T, class Plan, class R, class... Args>
[[gnu::always_inline]] inline R raise_here(topic_signature<R, Args...>, bus& b,
                                           pass_t<Args>... args);

/// What a post that is on its way knows of the bus, which it may outlive.
struct bus_address {
  bus* at;  ///< null when the bus is gone; the home color's
  /// Posts of other threads and colors that have not arrived; anybody's.
  std::atomic<std::size_t> on_their_way = 0;
};
}  // namespace detail

/// Names one bound handler, also when it is bound no more.
struct binding {
  detail::topic_info* topic = nullptr;
  std::uint64_t serial = 0;
  friend bool operator==(const binding&, const binding&) = default;
};

struct bus_options {
  /// Where handlers that are tasks run; null: the runtime's root scope. It must outlive the bus.
  scope* tasks = nullptr;
  std::size_t handlers_max = 65536;    ///< bound at one time; bind throws beyond
  std::size_t deliveries_max = 65536;  ///< posted or delayed at one time; post throws beyond
  /// The file to which the bus adds its profile when it ends. Empty: what HEDDLE_PROFILE of the
  /// environment names, and no profile without it.
  std::string profile = {};
};

/// Thread: one color's at a time; only post() may be called from elsewhere, and what it posts is
///   raised in the color that built the bus. It ends before the runtime that it was built in.
/// Owns: closures and arguments given to bind; not the objects of member functions, which must be
///   unbound before they go. Destroying a bus during one of its raises is a misuse.
/// Cancel: destroying it forgets what was posted, and ends next() with operation_canceled.
/// Fails: bind and post throw failure beyond their limits, the constructor when the profile cannot
///   be kept; a handler's exception leaves raise().
///
///   bus b;
///   b.bind<packet_in, &fec::on_packet>(&f, 30);
///   b.bind<packet_in>([](packet& p, std::uint32_t) { p.seen = true; }, 40);
///   b.raise<packet_in>(p, 0u);
class bus {
 public:
  explicit bus(bus_options options = {});
  bus(const bus&) = delete;
  bus& operator=(const bus&) = delete;
  ~bus();

  /// Binds a function, with arguments that are passed behind the topic's.
  template <any_topic T, auto Function, class Plan = detail::plan, class... Bound>
    requires(!std::is_member_pointer_v<decltype(Function)>)
  binding bind(int order = 0, Bound... bound);
  /// Binds a member function of an object.
  template <any_topic T, auto Member, class Plan = detail::plan, class Object, class... Bound>
    requires(std::is_member_function_pointer_v<decltype(Member)>)
  binding bind(Object* object, int order = 0, Bound... bound);
  /// Binds a closure or another callable object, which the bus keeps.
  template <any_topic T, class Plan = detail::plan, class F, class... Bound>
    requires(!std::is_pointer_v<F> || std::is_function_v<std::remove_pointer_t<F>>)
  binding bind(F f, int order = 0, Bound... bound);

  /// From now on this handler does not run, not even in a raise that is under way. False when it
  /// was not bound any more.
  bool unbind(const binding& b) noexcept;
  /// Unbinds all member functions of this object; gives their number.
  std::size_t unbind_all(const void* object) noexcept;

  /// Runs the handlers. For a haltable topic, tells whether one halted.
  template <any_topic T, class Plan = detail::plan, class... Us>
  [[gnu::always_inline]] auto raise(Us&&... args) -> typename T::signature::answer {
    return detail::raise_topic<T, Plan>(typename T::signature(), *this, std::forward<Us>(args)...);
  }

  /// Raises T later, from the queue, behind everything that is ready; with copies of the arguments.
  /// Thread: any.
  template <any_topic T, class Plan = detail::plan, class... Us>
  void post(Us&&... args);
  /// Raises T after this span; at once from the queue when it is not positive.
  template <any_topic T, class Plan = detail::plan, class... Us>
  delayed after(nanoseconds span, Us&&... args);

  /// Waits for the next raise of T, and gives copies of its arguments. It is served behind all
  /// handlers, and not when one of them halts the raise. During a raise: waits for a later one.
  template <copyable_topic T>
  [[nodiscard("co_await it")]] next_raise<T> next() noexcept {
    return next_raise<T>(*this);
  }

  /// How many handlers are bound to T.
  template <any_topic T>
  [[nodiscard]] std::size_t handlers() const noexcept {
    return count_handlers(detail::topic_info_of<T>);
  }
  /// Whether a raise is under way.
  [[nodiscard]] bool in_raise() const noexcept { return raising_; }
  /// How many handlers of T are merged into one function now; 0 without a plan, or while the
  /// bindings differ from it.
  template <any_topic T>
  [[nodiscard]] std::size_t merged() const noexcept {
    return count_merged(detail::topic_info_of<T>);
  }
  /// Posted and delayed raises that have not run.
  [[nodiscard]] std::size_t deliveries() const noexcept {
    return delivery_count_.load(std::memory_order_relaxed);
  }

 private:
  template <any_topic T>
  friend class next_raise;
  friend struct detail::delivery;
  template <class T, class Plan, class R, class... Args>
  friend R detail::raise_here(topic_signature<R, Args...>, bus&, detail::pass_t<Args>...);

  struct entry {
    detail::topic_info* key;
    detail::topic_record* record;
  };
  struct pending_bind {
    detail::topic_record* record;
    detail::slot slot;
    detail::slot_info info;
  };
  /// While one exists, the arrays that raises walk stay as they are. It stores a constant and puts
  /// back what was there: counting would chain every raise of a cascade to the one before it.
  class raising {
   public:
    explicit raising(bus& b) noexcept : bus_(b), outer_(b.raising_) { b.raising_ = true; }
    raising(const raising&) = delete;
    raising& operator=(const raising&) = delete;
    ~raising() {
      bus_.raising_ = outer_;
      if (!outer_ && bus_.unsettled_) [[unlikely]]
        bus_.settle();
    }

   private:
    bus& bus_;
    bool outer_;
  };

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
  binding bind_slot(detail::topic_record& r, detail::slot s, detail::slot_info info);
  void insert(detail::topic_record& r, detail::slot s, const detail::slot_info& info);
  template <class Which>
  std::size_t unbind_where(Which which) noexcept;
  void unbind_everything() noexcept;
  void remove(detail::topic_record& r, std::size_t at) noexcept;
  void refresh(detail::topic_record& r) noexcept;
  void settle() noexcept;
  void wait_for(detail::topic_info& topic, detail::make_topic_calls calls,
                detail::topic_waiter& waiter);
  template <any_topic T, class Plan>
  void note_request();
  template <any_topic T, class Plan, class... Us>
  detail::delivery& deliver(nanoseconds span, Us&&... args);
  void drop_pending(pending_bind& p) noexcept;
  void check_deliveries() const;
  void check_room_behind(std::size_t waiting) const;
  void count_deliveries(std::ptrdiff_t change) noexcept;
  void deliver_later(detail::delivery& d, nanoseconds span);
  void deliver_from_elsewhere(std::move_only_function<void(bus&)> f);
  [[nodiscard]] std::size_t count_handlers(const detail::topic_info& topic) const noexcept;

  [[nodiscard]] std::size_t count_merged(const detail::topic_info& topic) const noexcept;

  void set_active(detail::topic_record& r, const detail::variant* v) noexcept;
  void take_plan(const detail::variant_table& table);

  entry* table_;
  std::size_t table_mask_ = 0;
  bool raising_ = false;    // inside of a raise
  bool unsettled_ = false;  // settle() has work
  detail::merged_block merged_;
  std::uint64_t serial_ = 0;
  std::size_t handler_count_ = 0;
  std::atomic<std::size_t> delivery_count_ = 0;  // written by the home color; relaxed: a number
  std::unique_ptr<std::byte[]> merged_memory_;
  std::unique_ptr<detail::recorder> recorder_;
  detail::topic_record nobody_;  // stands for every topic to which nothing was ever bound
  std::vector<std::unique_ptr<detail::topic_record>> records_;
  std::vector<entry> entries_;
  std::vector<pending_bind> pending_;
  list<detail::delivery> delivered_later_;
  std::shared_ptr<detail::bus_address> self_;  // told of the end, for posts on their way
  scheduler* home_;                            // of the runtime that it was made in
  std::uint32_t home_color_ = 0;               // the color that it belongs to: a place in the table
  bus_options options_;
};

}  // namespace heddle

#include "heddle/bus/bus_impl.hh"
