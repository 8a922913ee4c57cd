// SPDX-License-Identifier: MIT
// A topic is a name with typed arguments, to which any number of handlers are bound while the
// program runs. It is a type: derive it from topic<Args...>.
//
//   struct packet_in : heddle::topic<packet&, std::uint32_t> {};
//   struct key_down : heddle::haltable_topic<int> {};      // a handler may end the raise
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "heddle/bus/detail/identity.hh"

namespace heddle {

/// The result of a handler of a haltable topic. A raise returns it too: halt if a handler halted
/// it.
enum class flow : std::uint8_t { go_on, halt };

/// R is the result type of handlers, Args are their arguments.
template <class R, class... Args>
struct topic_signature {
  static_assert((!std::is_rvalue_reference_v<Args> && ...),
                "several handlers get the same argument: take it by value or by reference");
  using answer = R;
  using copies = std::tuple<std::decay_t<Args>...>;  ///< the copies that a delayed raise keeps
};

/// A topic whose handlers return nothing.
template <class... Args>
struct topic {
  using signature = topic_signature<void, Args...>;
};

/// A topic whose handlers may return flow::halt, which ends this raise: the handlers after it do
/// not run. The raiser continues.
template <class... Args>
struct haltable_topic {
  using signature = topic_signature<flow, Args...>;
};

template <class T>
concept any_topic = requires { typename T::signature::answer; };

/// The result of co_await next<T>(): nothing, the one argument, or a tuple of them, as copies.
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

/// How an argument is passed from handler to handler: as declared if it is a reference or small,
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

/// One for each topic; its address is the topic's identity. It is not const, so that no linker
/// merges two of them; it is never written.
struct topic_info {
  std::uint64_t hash;
  const char* name;
  bool haltable;
};

/// The signature is part of the hash, because a plan's knowledge of a topic holds only for its
/// arguments.
template <any_topic T>
inline constexpr std::uint64_t topic_hash =
    hash_of(type_name<T>.view(), type_hash<typename T::signature>);

template <any_topic T>
inline constinit topic_info topic_info_of{topic_hash<T>, type_name<T>.text,
                                          std::is_same_v<typename T::signature::answer, flow>};

}  // namespace detail

/// A topic whose arguments can be copied, which tasks need to wait for it. Topics without this can
/// still be bound and raised.
template <class T>
concept copyable_topic = any_topic<T> && detail::copies_arguments<typename T::signature>;

}  // namespace heddle
