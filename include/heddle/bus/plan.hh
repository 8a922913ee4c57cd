// SPDX-License-Identifier: MIT
// A plan tells which handlers of which topics a build merges. Without a plan (the usual case) this
// file costs nothing. `heddle optimize` writes a plan from a profile: a header of integer
// constants, which the build names in HEDDLE_BUS_PLAN. It refers to types and functions of the
// program only by hashes of their names. So entries for code that no longer exists are never found
// and cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/bus/detail/record.hh"

namespace heddle::detail {

// The elements of a plan's constants.
/// Where most raises of a topic come from.
enum class raised_from : std::uint8_t {
  outside,   ///< code outside of the topic's chain
  chain,     ///< handlers of the topic's chain
  anywhere,  ///< often the one, often the other
};
struct planned_topic {
  std::uint64_t hash;
  int first_variant;
  int variant_count;
  int chain;
  raised_from from;
  bool several_raise;  ///< more than one handler raises it
  bool inlined;        ///< GCC: a raise of it may be inlined into the raiser
};
struct planned_chain {
  int lead;  ///< the variant that names its state
  int len;   ///< topics
};
struct planned_handler {
  std::uint64_t hash;
  int occurrence;
};
struct planned_variant {
  int first;  ///< index in `sequence`
  int len;
};

/// A build without a plan.
struct no_plan {
  [[nodiscard]] static consteval int topic_of(std::uint64_t) { return -1; }
  [[nodiscard]] static consteval int number_of(std::uint64_t, int) { return -1; }
  [[nodiscard]] static constexpr variant_table variants_of(std::uint64_t) { return {}; }
};

/// A build with the plan whose constants are in Data. Every function that depends on the plan has
/// it as a template argument, so that parts of a program built with another plan, or with none,
/// have functions of other names.
template <class Data>
struct planned {
  [[nodiscard]] static consteval int topic_of(std::uint64_t hash) {
    for (int i = 0; i < Data::topic_count; ++i)
      if (Data::topics[i].hash == hash) return i;
    return -1;
  }
  [[nodiscard]] static consteval int number_of(std::uint64_t hash, int occurrence) {
    for (int i = 0; i < Data::handler_count; ++i)
      if (Data::handlers[i].hash == hash && Data::handlers[i].occurrence == occurrence) return i;
    return -1;
  }
  [[nodiscard]] static consteval planned_topic topic(int i) { return Data::topics[i]; }
  [[nodiscard]] static consteval int len_of(int v) { return Data::variants[v].len; }
  [[nodiscard]] static consteval int number_at(int v, int i) {
    return Data::sequence[Data::variants[v].first + i];
  }
  [[nodiscard]] static consteval planned_chain chain(int i) { return Data::chains[i]; }
  /// The offset of a topic's objects in merged_block::objects.
  [[nodiscard]] static consteval std::uint32_t objects_at(int topic) {
    std::uint32_t at = 0;
    for (int i = 0; i < topic; ++i) {
      int longest = 0;
      for (int v = 0; v < Data::topics[i].variant_count; ++v)
        longest = std::max(longest, len_of(Data::topics[i].first_variant + v));
      at += static_cast<std::uint32_t>(longest);
    }
    return at;
  }
  static constexpr plan_size size() {
    return {static_cast<std::uint32_t>(Data::topic_count),
            static_cast<std::uint32_t>(Data::chain_count), objects_at(Data::topic_count)};
  }
  /// Whether its data are inside of a bus.
  [[nodiscard]] static consteval bool is_near() {
    return size().chains <= merged_block::near_chains &&
           size().objects <= merged_block::near_objects;
  }
  [[nodiscard]] static constexpr variant_table variants_of(std::uint64_t hash);
};

/// A plan made from another compiler's names would match nothing, or by chance the wrong thing.
/// Such a plan is ignored.
template <class Data>
using plan_if_names_agree =
    std::conditional_t<std::string_view(Data::compiler) == compiler_name, planned<Data>, no_plan>;

/// The plan's sequences for the untyped half of a bus: one array in each shared library.
template <class Data>
struct variant_array {
  variant all[Data::variant_count];
  consteval variant_array() : all{} {
    for (int v = 0; v < Data::variant_count; ++v) {
      all[v].numbers = &Data::sequence[Data::variants[v].first];
      all[v].len = static_cast<std::uint32_t>(Data::variants[v].len);
    }
  }
};
template <class Data>
[[gnu::visibility("hidden")]] inline constexpr variant_array<Data> variants_in;

template <class Plan>
struct variants_of_plan;
template <class Data>
struct variants_of_plan<planned<Data>> {
  [[nodiscard]] static constexpr const void* id() { return &variants_in<Data>; }
  [[nodiscard]] static constexpr const variant* at(int v) { return &variants_in<Data>.all[v]; }
};

template <class Data, int... Topic>
constexpr variant_table variants_among(std::uint64_t hash, std::integer_sequence<int, Topic...>) {
  variant_table found;
  const auto look_at = [&]<int I>(std::integral_constant<int, I>) {
    if (Data::topics[I].hash != hash || found.count != 0) return;
    constexpr planned_topic topic = Data::topics[I];
    constexpr planned_chain chain = Data::chains[topic.chain];
    found = {&variants_in<Data>,
             &variants_in<Data>.all[topic.first_variant],
             static_cast<std::uint32_t>(topic.variant_count),
             static_cast<std::uint32_t>(I),
             static_cast<std::uint32_t>(topic.chain),
             static_cast<std::uint32_t>(chain.len),
             planned<Data>::objects_at(I),
             &variants_in<Data>.all[chain.lead],
             planned<Data>::size()};
  };
  (look_at(std::integral_constant<int, Topic>()), ...);
  return found;
}
template <class Data>
constexpr variant_table planned<Data>::variants_of(std::uint64_t hash) {
  return variants_among<Data>(hash, std::make_integer_sequence<int, Data::topic_count>());
}

/// The function of handler number `Number` of a plan. Its name uses none of the program's types:
/// raises call it, and the translation unit that binds the handler defines it.
template <class Data, int Number, class R, class... Args>
struct hot_tag;

}  // namespace heddle::detail

// One line of a plan for each handler. If the program no longer contains a handler, its name stays
// undefined and no raise calls it. GCC links an undefined weak name. Clang would not inline weak
// functions, so there an assembler name is used, and `heddle optimize` writes a source file that
// defines the name if the program does not.
#if defined(__clang__)
#define HEDDLE_BUS_HOT(data, stamp, number)                                            \
  template <class R, class... Args>                                                    \
  struct hot_tag<data, number, R, Args...> {                                           \
    friend __attribute__((visibility("hidden"))) R                                     \
    heddle_hot(hot_tag, void*, pass_t<Args>...) asm("heddle_hot_" #stamp "_" #number); \
  };
#else
#define HEDDLE_BUS_HOT(data, stamp, number)                                           \
  template <class R, class... Args>                                                   \
  struct hot_tag<data, number, R, Args...> {                                          \
    friend __attribute__((weak, visibility("hidden"))) R heddle_hot(hot_tag, void*,   \
                                                                    pass_t<Args>...); \
  };
#endif

#if defined(HEDDLE_BUS_PLAN)
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
#include HEDDLE_BUS_PLAN
#if !defined(HEDDLE_BUS_PLAN_READ)
#error "HEDDLE_BUS_PLAN names no plan. In quotes, plan.hh is heddle's own: take another name."
#endif
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#else
namespace heddle::detail {
using plan = no_plan;
}  // namespace heddle::detail
#endif
