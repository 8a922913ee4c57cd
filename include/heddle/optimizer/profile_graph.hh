// SPDX-License-Identifier: MIT
// Draws a profile as a graph in Graphviz's language.
#pragma once

#include <string>

#include "heddle/bus/profile.hh"

namespace heddle {

struct graph_options {
  /// False: a node for each topic, and an edge between topics raised one after the other, with the
  /// cause. True: topics as boxes of their handlers in order, with edges from the handlers that
  /// raise.
  bool handlers = false;
  /// Leaves out edges below this share of the heaviest one, and nodes without edges.
  double threshold = 0;
};

/// Draws the profile. Solid edges: a handler raised the topic and waited. Dashed: a handler
/// requested a later raise. Dotted: the topic was raised next, by any code (only in the graph of
/// topics).
[[nodiscard]] std::string profile_graph(const profile_data& profile,
                                        const graph_options& options = {});

}  // namespace heddle
