// SPDX-License-Identifier: MIT
// Qt's signals, versions 5 and 6: direct connections from an object for each topic to functors.
#include <QObject>

#include "program.hh"
#include "qt_emitter.hh"

namespace {

using parts::message;

struct dispatch {
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    QObject::connect(
        &table[Topic], &emitter::raised, &table[Topic],
        [&p](message* m, unsigned n) { (p.*Member)(*m, n); }, Qt::DirectConnection);
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    emit table[Topic].raised(&m, n);
  }
  emitter table[parts::topics];
};

}  // namespace

int main(int argc, char** argv) { return rival::run_signals<dispatch>(argc, argv); }
