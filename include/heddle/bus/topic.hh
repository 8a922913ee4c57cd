// SPDX-License-Identifier: MIT
// A topic is a name with typed arguments, to which any number of handlers are bound while the
// program runs. It is a type: deriving from topic<Args...> is all that it takes.
//
//   struct packet_in : heddle::topic<packet&, std::uint32_t> {};
//   struct key_down : heddle::haltable_topic<int> {};      // a handler may end the raise
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "heddle/bus/identity.hh"

namespace heddle {

/// What a handler of a haltable topic answers. A raise gives it too: halt when a handler halted it.
enum class flow : std::uint8_t { go_on, halt };

/// R is what a handler answers, Args what it is called with.
template <class R, class... Args>
struct topic_signature {
  static_assert((!std::is_rvalue_reference_v<Args> && ...),
                "several handlers get the same argument: take it by value or by reference");
  using answer = R;
  using copies = std::tuple<std::decay_t<Args>...>;  ///< what a delayed raise keeps
};

/// Handlers answer nothing.
template <class... Args>
struct topic {
  using signature = topic_signature<void, Args...>;
};

/// A handler that returns flow::halt ends this raise: the handlers behind it do not run. The raiser
/// goes on.
template <class... Args>
struct haltable_topic {
  using signature = topic_signature<flow, Args...>;
};

template <class T>
concept any_topic = requires { typename T::signature::answer; };

/// What co_await next<T>() gives: nothing, the one argument, or a tuple of them; as copies.
template <any_topic T>
struct topic_value {
  using copies = typename T::signature::copies;
  static constexpr std::size_t count = std::tuple_size_v<copies>;
  template <std::size_t N, class Tuple>
  struct choose {
    using type = Tuple;
  };
  template <class Tuple>
  struct choose<1, Tuple> {
    using type = std::tuple_element_t<0, Tuple>;
  };
  template <class Tuple>
  struct choose<0, Tuple> {
    using type = void;
  };
  using type = typename choose<count, copies>::type;
};

namespace detail {

/// How an argument goes from handler to handler: as it is declared when it is a reference or small,
/// else by reference to the raiser's object.
template <class A>
using pass_t = std::conditional_t<std::is_reference_v<A> || (std::is_trivially_copyable_v<A> &&
                                                             sizeof(A) <= 2 * sizeof(void*)),
                                  A, const A&>;

template <class Signature>
inline constexpr bool copies_arguments = false;
template <class R, class... Args>
inline constexpr bool copies_arguments<topic_signature<R, Args...>> =
    std::is_constructible_v<typename topic_signature<R, Args...>::copies, pass_t<Args>&...>;

/// One for each topic; its address is the topic's identity. Never written: not const, so that no
/// linker folds two of them.
struct topic_info {
  std::uint64_t hash;
  const char* name;
  bool haltable;
};

/// The signature is part of it: what a plan knows of a topic holds for these arguments only.
template <any_topic T>
inline constexpr std::uint64_t topic_hash =
    hash_of(type_name<T>.view(), type_hash<typename T::signature>);

template <any_topic T>
inline constinit topic_info topic_info_of{topic_hash<T>, type_name<T>.text,
                                          std::is_same_v<typename T::signature::answer, flow>};

}  // namespace detail

/// A topic whose arguments can be copied, which tasks that wait for it need. Others can be bound
/// and raised all the same.
template <class T>
concept copyable_topic = any_topic<T> && detail::copies_arguments<typename T::signature>;

}  // namespace heddle
