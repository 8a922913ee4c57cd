// SPDX-License-Identifier: MIT
// A profile as a graph for people, in Graphviz's language.
#pragma once

#include <string>

#include "heddle/bus/profile.hh"

namespace heddle {

struct graph_options {
  /// false: a node for each topic, an edge where one was raised after the other, and why.
  /// true: topics as boxes of their handlers in order, edges from the handlers that raise.
  bool handlers = false;
  /// Edges below this share of the heaviest one are left out, and nodes without any.
  double threshold = 0;
};

/// Solid: raised by a handler, which waited. Dashed: asked for by a handler, for later. Dotted: the
/// next that happened, whoever did it (in the graph of topics only).
[[nodiscard]] std::string profile_graph(const profile_data& profile,
                                        const graph_options& options = {});

}  // namespace heddle
