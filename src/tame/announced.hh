// SPDX-License-Identifier: MIT
// The constructs that the tokens since the last bracket or semicolon announce: the parser is inside
// the head of a tamed function, behind a lambda's brackets, in the head of a class, or behind a
// word such as `catch`. These are four independent states. A bracket puts them aside
// (node::outer), and its end brings them back.
//
//   state         its stages                                            moves on at
//   head_stage    type -> named -> assigned                             `(` of the parameters, `=`
//   lambda_stage  none -> intro -> parameters -> result                 `]`, `(`, `->`
//   class_stage   none -> name -> bases                                 `class`, `:`
//   control       none -> any other; any other -> none                  the word; the next token
//
// Legal moves: forward, where lambdas may leave out their parameters; from every stage of a lambda
// or class to none, if the tokens turn out to be something else, and to the first stage, where
// another one begins. A head ends with its function, so it never goes back. Builds with sanitizers,
// and those without NDEBUG, check each move.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "heddle/base/sanitizer.hh"
#include "tame/analysis.hh"

namespace heddle::tame {

enum class head_stage : std::uint8_t { type, named, assigned };
enum class lambda_stage : std::uint8_t { none, intro, parameters, result };
enum class class_stage : std::uint8_t { none, name, bases };

[[nodiscard]] constexpr bool is_legal(head_stage from, head_stage to) noexcept {
  return (from == head_stage::type && to == head_stage::named) ||
         (from == head_stage::named && to == head_stage::assigned);
}
[[nodiscard]] constexpr bool is_legal(lambda_stage from, lambda_stage to) noexcept {
  switch (to) {
    case lambda_stage::none:
    case lambda_stage::intro:
      return true;
    case lambda_stage::parameters:
      return from == lambda_stage::intro;
    case lambda_stage::result:
      return from == lambda_stage::intro || from == lambda_stage::parameters;
  }
  return false;
}
[[nodiscard]] constexpr bool is_legal(class_stage from, class_stage to) noexcept {
  return to != class_stage::bases || from == class_stage::name;
}

template <class Stage>
void move_to(Stage& stage, Stage next) noexcept {
#if !defined(NDEBUG) || HEDDLE_ASAN || HEDDLE_TSAN
  if (!is_legal(stage, next)) {
    std::fputs("heddle tame: a state of the parser makes an illegal move\n", stderr);
    std::abort();
  }
#endif
  stage = next;
}

/// A word that tells what the next bracket is.
enum class control : std::uint8_t {
  none,
  catch_,
  switch_,
  for_,
  while_,
  loop,  ///< `{` begins the body of one
  wait,
  vars,
  event,
  default_return,
  requires_,  ///< `{` begins the body of a requires expression
};

struct announced {
  function_index head;  ///< the tamed function whose body or semicolon is next
  head_stage stage = head_stage::type;
  int head_angles = 0;  ///< the open `<` of a `template <` in the head

  control next = control::none;
  wait_index wait;  ///< for control::wait

  lambda_stage lambda = lambda_stage::none;
  int lambda_angles = 0;
  token_index lambda_keyword;  ///< `tamed` behind a lambda's parameters

  class_stage in_class = class_stage::none;
  int class_angles = 0;
  range class_name = {};

  void forget_lambda() noexcept {
    move_to(lambda, lambda_stage::none);
    lambda_angles = 0;
    lambda_keyword = {};
  }
};

}  // namespace heddle::tame
