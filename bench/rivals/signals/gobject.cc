// SPDX-License-Identifier: MIT
// GLib's GSignal: one signal of a GObject type, an object for each topic.
#include <glib-object.h>

#include "program.hh"

namespace {

using parts::message;

struct emitter {
  GObject parent;
};
struct emitter_class {
  GObjectClass parent;
};
guint raised = 0;

void emitter_init(GTypeInstance*, gpointer) {}
void emitter_class_init(gpointer type, gpointer) {
  raised = g_signal_new("raised", G_TYPE_FROM_CLASS(type), G_SIGNAL_RUN_LAST, 0, nullptr, nullptr,
                        nullptr, G_TYPE_NONE, 2, G_TYPE_POINTER, G_TYPE_UINT);
}
GType emitter_type() {
  static const GType type = g_type_register_static_simple(
      G_TYPE_OBJECT, "Emitter", sizeof(emitter_class), emitter_class_init, sizeof(emitter),
      emitter_init, G_TYPE_FLAG_NONE);
  return type;
}

struct dispatch {
  dispatch() {
    for (gpointer& e : table) e = g_object_new(emitter_type(), nullptr);
  }
  template <auto Member, class Part>
  static void call(gpointer, gpointer m, guint n, gpointer part) {
    (static_cast<Part*>(part)->*Member)(*static_cast<message*>(m), n);
  }
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    g_signal_connect(table[Topic], "raised", G_CALLBACK((&call<Member, Part>)), &p);
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    g_signal_emit(table[Topic], raised, 0, &m, n);
  }
  gpointer table[parts::topics];
};

}  // namespace

int main(int argc, char** argv) { return rival::run_signals<dispatch>(argc, argv); }
