// SPDX-License-Identifier: MIT
// The event program that is measured: 18 topics and 54 small handlers, shaped after a video player
// over a configurable transport. A raise of topic 0 runs the short chain (3 topics, 11 handlers) or
// the cascade (all), because the last handler of each topic raises the next. `Dispatch` says how
// handlers are bound and topics raised.
#pragma once

#include <cstdint>
#include <utility>

namespace parts {

struct message {
  std::uint32_t len = 1400;
  std::uint32_t stamps[8] = {};
};

inline constexpr int topics = 18;
inline constexpr int short_chain = 3;
inline constexpr int handlers[topics] = {3, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2};

template <class Dispatch>
class program {
 public:
  program() { bind_topics(std::make_integer_sequence<int, topics>()); }
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  void run(message& m, int topics_wanted) {
    last_ = topics_wanted;
    dispatch_.template raise<0>(m, 7);
  }

 private:
  template <int Topic, int Handler>
  struct part {
    explicit part(program& p) : owner(p) {}
    void handle(message& m, std::uint32_t n) {
      ++count;
      bytes += m.len + n;
      m.stamps[(3 * Topic + Handler) & 7] = count;
      if constexpr (Handler + 1 == handlers[Topic] && Topic + 1 < topics)
        if (Topic + 1 < owner.last_) owner.dispatch_.template raise<Topic + 1>(m, n + 1);
    }
    program& owner;
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;
  };
  template <int... Topic>
  void bind_topics(std::integer_sequence<int, Topic...>) {
    (bind_handlers<Topic>(std::make_integer_sequence<int, handlers[Topic]>()), ...);
  }
  template <int Topic, int... Handler>
  void bind_handlers(std::integer_sequence<int, Handler...>) {
    (dispatch_.template bind<Topic, &part<Topic, Handler>::handle>(
         *new part<Topic, Handler>(*this), Handler),  // as long as the process: a benchmark
     ...);
  }

  Dispatch dispatch_;
  int last_ = short_chain;
};

}  // namespace parts
