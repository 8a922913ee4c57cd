// SPDX-License-Identifier: MIT
// libsigc++, versions 2 and 3.
#include <sigc++/sigc++.h>

#include "program.hh"

namespace {

using parts::message;

struct dispatch {
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    table[Topic].connect([&p](message& m, std::uint32_t n) { (p.*Member)(m, n); });
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    table[Topic].emit(m, n);
  }
#if SIGCXX_MAJOR_VERSION >= 3
  sigc::signal<void(message&, std::uint32_t)> table[parts::topics];
#else
  sigc::signal<void, message&, std::uint32_t> table[parts::topics];
#endif
};

}  // namespace

int main(int argc, char** argv) { return rival::run_signals<dispatch>(argc, argv); }
