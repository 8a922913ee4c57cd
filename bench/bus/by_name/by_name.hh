// SPDX-License-Identifier: MIT
// What Rajagopalan and others, 2002, set out from, with the calls of class bus, so that the
// handlers of apps/ run on it: a raise marshals its arguments into an array of untyped values
// and looks the topic up by its name; each handler is an indirect call that finds its arguments in
// the array and checks their types. Raises that come later go through a bus, which knows when.
#pragma once

#include <algorithm>
#include <any>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "heddle/bus/bus.hh"

namespace by_name {

/// The type of an argument in the array: for a reference, a pointer.
template <class A>
struct marshalled {
  using type = std::decay_t<A>;
  static std::any in(const type& a) { return a; }
  static const type& out(const std::any& a) { return *std::any_cast<type>(&a); }
};
template <class A>
struct marshalled<A&> {
  static std::any in(A& a) { return &a; }
  static A& out(const std::any& a) { return **std::any_cast<A*>(&a); }
};

template <class Signature>
struct by_name_call;
template <class R, class... Args>
struct by_name_call<heddle::topic_signature<R, Args...>> {
  template <auto Member, class Object, std::size_t... I>
  static heddle::flow call(Object& o, std::span<const std::any> args, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      (o.*Member)(marshalled<Args>::out(args[I])...);
      return heddle::flow::go_on;
    } else {
      return (o.*Member)(marshalled<Args>::out(args[I])...);
    }
  }
  template <auto Member, class Object>
  static heddle::flow call(Object& o, std::span<const std::any> args) {
    return call<Member>(o, args, std::index_sequence_for<Args...>());
  }
  template <class Run>
  static heddle::flow marshal(Run&& run, Args... args) {
    if constexpr (sizeof...(Args) == 0) {
      return run(std::span<const std::any>());
    } else {
      const std::any all[] = {marshalled<Args>::in(args)...};
      return run(std::span<const std::any>(all));
    }
  }
};

class event_bus {
 public:
  template <class T, auto Member, class Object>
  void bind(Object* object, int order = 0) {
    std::vector<bound>& to = table_[name_of<T>()];
    const auto at = std::ranges::upper_bound(to, order, {}, &bound::order);
    to.insert(at, {order, [object](std::span<const std::any> args) {
                     return by_name_call<typename T::signature>::template call<Member>(*object,
                                                                                       args);
                   }});
  }

  template <class T, class... Us>
  auto raise(Us&&... args) -> typename T::signature::answer {
    const auto run = [this](std::span<const std::any> all) {
      const auto found = table_.find(name_of<T>());
      if (found == table_.end()) return heddle::flow::go_on;
      for (const bound& b : found->second)
        if (b.call(all) == heddle::flow::halt) return heddle::flow::halt;
      return heddle::flow::go_on;
    };
    const heddle::flow answer =
        by_name_call<typename T::signature>::marshal(run, std::forward<Us>(args)...);
    if constexpr (!std::is_void_v<typename T::signature::answer>) return answer;
  }

  template <class T>
  void post() {
    bind_later<T>();
    later_.post<later<T>>();
  }
  template <class T>
  heddle::delayed after(heddle::nanoseconds span) {
    bind_later<T>();
    return later_.after<later<T>>(span);
  }

  /// None is ever merged.
  template <class T>
  [[nodiscard]] static std::size_t merged() noexcept {
    return 0;
  }

 private:
  struct bound {
    int order;
    std::function<heddle::flow(std::span<const std::any>)> call;
  };
  template <class T>
  struct later : heddle::topic<> {};

  template <class T>
  [[nodiscard]] static const std::string& name_of() {
    static const std::string name(heddle::detail::type_name<T>.view());
    return name;
  }
  template <class T>
  void bind_later() {
    if (later_.handlers<later<T>>() == 0) later_.bind<later<T>>([this] { raise<T>(); });
  }

  std::unordered_map<std::string, std::vector<bound>> table_;
  heddle::bus later_;
};

}  // namespace by_name
