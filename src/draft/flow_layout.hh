// SPDX-License-Identifier: MIT
// Where the blocks of a flow lie in a picture: layers from the entry downward, so that every edge
// but those of loops goes down. Long edges bend at one point in each layer that they cross.
#pragma once

#include <vector>

#include "draft/flow.hh"

namespace heddle::draft {

struct point {
  double x = 0;
  double y = 0;
};

struct block_box {
  block_id block = no_id;  ///< no_id: a bend of an edge
  double width = 0;
  double height = 0;
  point center = {};
};

struct flow_edge {
  block_id from = no_id;
  std::size_t way = 0;            ///< number of the tail's way out
  bool back = false;              ///< closes a loop: drawn upward
  std::vector<std::size_t> path;  ///< boxes, from the upper one to the lower one
};

struct flow_layout {
  std::vector<block_box> boxes;
  std::vector<flow_edge> edges;
  double width = 0;
  double height = 0;
};

/// `sizes` has the width and the height of each block's box; blocks that cannot be reached are left
/// out.
[[nodiscard]] flow_layout lay_out(const flow& f, const std::vector<point>& sizes);

}  // namespace heddle::draft
