// SPDX-License-Identifier: MIT
// Boost.Signals2 as it comes, with a mutex; without one where SIGNALS2_UNLOCKED is defined.
#include <boost/signals2.hpp>

#include "program.hh"

namespace {

using parts::message;

#ifdef SIGNALS2_UNLOCKED
using signal_kind = boost::signals2::signal_type<
    void(message&, std::uint32_t),
    boost::signals2::keywords::mutex_type<boost::signals2::dummy_mutex>>::type;
#else
using signal_kind = boost::signals2::signal<void(message&, std::uint32_t)>;
#endif

struct dispatch {
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int order) {
    table[Topic].connect(order, [&p](message& m, std::uint32_t n) { (p.*Member)(m, n); });
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    table[Topic](m, n);
  }
  signal_kind table[parts::topics];
};

}  // namespace

int main(int argc, char** argv) { return rival::run_signals<dispatch>(argc, argv); }
