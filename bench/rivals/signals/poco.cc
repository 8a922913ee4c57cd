// SPDX-License-Identifier: MIT
// Poco's events: delegates of member functions. Arguments travel as one structure.
#include <Poco/BasicEvent.h>
#include <Poco/Delegate.h>

#include <memory>
#include <vector>

#include "program.hh"

namespace {

using parts::message;

struct arguments {
  message* m;
  std::uint32_t n;
};
template <auto Member, class Part>
struct receiver {
  explicit receiver(Part& p) : part(p) {}
  void call(const void*, arguments& a) { (part.*Member)(*a.m, a.n); }
  Part& part;
};

struct dispatch {
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    using kind = receiver<Member, Part>;
    table[Topic] += Poco::delegate(new kind(p), &kind::call);  // as long as the process
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    arguments a{&m, n};
    table[Topic].notify(this, a);
  }
  Poco::BasicEvent<arguments> table[parts::topics];
};

}  // namespace

int main(int argc, char** argv) { return rival::run_signals<dispatch>(argc, argv); }
