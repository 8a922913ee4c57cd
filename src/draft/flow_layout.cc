// SPDX-License-Identifier: MIT
// Layers by the longest path, order within a layer by the mean place of the neighbours, then places
// that pull boxes towards their neighbours without changing the order.
#include "draft/flow_layout.hh"

#include <algorithm>
#include <utility>

namespace heddle::draft {
namespace {

constexpr double gap_across = 28;
constexpr double gap_down = 36;
constexpr double bend_width = 8;

class layered {
 public:
  layered(const flow& f, const std::vector<point>& sizes) : flow_(f), sizes_(sizes) {}

  flow_layout run() {
    visit_blocks();
    rank_blocks();
    add_boxes();
    add_edges();
    for (int sweep = 0; sweep != 12; ++sweep) order_layers(sweep % 2 == 0);
    place_down();
    for (int sweep = 0; sweep != 16; ++sweep) place_across(sweep % 2 == 0);
    move_to_origin();
    return std::move(out_);
  }

 private:
  /// Depth first: `order_` is a reverse postorder; an edge to a block still open is a loop's.
  void visit_blocks() {
    const std::size_t count = flow_.blocks.size();
    back_.resize(count);
    for (std::size_t i = 0; i != count; ++i)
      back_[i].assign(flow_.blocks[i].tail.next.size(), false);
    enum : std::uint8_t { unseen, open, done };
    std::vector<std::uint8_t> state(count, unseen);
    struct step {
      block_id at;
      std::size_t next;
    };
    std::vector<step> path = {{0, 0}};
    state[0] = open;
    while (!path.empty()) {
      step& s = path.back();
      const std::vector<block_id>& next = flow_.blocks[s.at].tail.next;
      if (s.next == next.size()) {
        state[s.at] = done;
        order_.push_back(s.at);
        path.pop_back();
        continue;
      }
      const std::size_t way = s.next++;
      const block_id to = next[way];
      if (state[to] == open) back_[s.at][way] = true;
      if (state[to] != unseen) continue;
      state[to] = open;
      path.push_back({to, 0});
    }
    std::reverse(order_.begin(), order_.end());
  }

  void rank_blocks() {
    rank_.assign(flow_.blocks.size(), 0);
    for (const block_id at : order_) {
      const std::vector<block_id>& next = flow_.blocks[at].tail.next;
      for (std::size_t way = 0; way != next.size(); ++way)
        if (!back_[at][way]) rank_[next[way]] = std::max(rank_[next[way]], rank_[at] + 1);
    }
  }

  std::size_t add_box(block_id block, std::size_t layer, point size) {
    if (layers_.size() <= layer) layers_.resize(layer + 1);
    out_.boxes.push_back({block, size.x, size.y, {}});
    above_.emplace_back();
    below_.emplace_back();
    layers_[layer].push_back(out_.boxes.size() - 1);
    return out_.boxes.size() - 1;
  }

  void add_boxes() {
    box_of_.assign(flow_.blocks.size(), 0);
    for (const block_id at : order_) box_of_[at] = add_box(at, rank_[at], sizes_[at]);
  }

  void add_edges() {
    for (const block_id at : order_) {
      const std::vector<block_id>& next = flow_.blocks[at].tail.next;
      for (std::size_t way = 0; way != next.size(); ++way) {
        flow_edge e{at, way, back_[at][way], {}};
        block_id top = at, bottom = next[way];
        if (e.back) std::swap(top, bottom);
        e.path.push_back(box_of_[top]);
        for (std::size_t layer = rank_[top] + 1; layer < rank_[bottom]; ++layer)
          e.path.push_back(add_box(no_id, layer, {bend_width, 0}));
        if (top != bottom) e.path.push_back(box_of_[bottom]);
        for (std::size_t i = 0; i + 1 < e.path.size(); ++i) {
          below_[e.path[i]].push_back(e.path[i + 1]);
          above_[e.path[i + 1]].push_back(e.path[i]);
        }
        out_.edges.push_back(std::move(e));
      }
    }
    place_in_layer_.assign(out_.boxes.size(), 0);
    for (const auto& layer : layers_) number_layer(layer);
  }

  void number_layer(const std::vector<std::size_t>& layer) {
    for (std::size_t i = 0; i != layer.size(); ++i)
      place_in_layer_[layer[i]] = static_cast<double>(i);
  }

  void order_layers(bool down) {
    for (std::size_t n = 0; n != layers_.size(); ++n) {
      std::vector<std::size_t>& layer = layers_[down ? n : layers_.size() - 1 - n];
      std::vector<double> wish(out_.boxes.size());
      for (const std::size_t box : layer) {
        const std::vector<std::size_t>& near = down ? above_[box] : below_[box];
        double sum = 0;
        for (const std::size_t x : near) sum += place_in_layer_[x];
        wish[box] = near.empty() ? place_in_layer_[box] : sum / static_cast<double>(near.size());
      }
      std::sort(layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) {
        return wish[a] != wish[b] ? wish[a] < wish[b] : place_in_layer_[a] < place_in_layer_[b];
      });
      number_layer(layer);
    }
  }

  void place_down() {
    double y = 0;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::size_t box : layer) height = std::max(height, out_.boxes[box].height);
      double x = 0;
      for (const std::size_t box : layer) {
        block_box& b = out_.boxes[box];
        b.center = {x + b.width / 2, y + height / 2};
        x += b.width + gap_across;
      }
      y += height + gap_down;
    }
    out_.height = y - gap_down;
  }

  void place_across(bool down) {
    for (std::size_t n = 0; n != layers_.size(); ++n) {
      const std::vector<std::size_t>& layer = layers_[down ? n : layers_.size() - 1 - n];
      double left = -1e9, drift = 0;
      for (const std::size_t box : layer) {
        block_box& b = out_.boxes[box];
        const std::vector<std::size_t>& near = down ? above_[box] : below_[box];
        double wish = b.center.x;
        if (!near.empty()) {
          wish = 0;
          for (const std::size_t x : near) wish += out_.boxes[x].center.x;
          wish /= static_cast<double>(near.size());
        }
        const double least = left + b.width / 2;
        b.center.x = std::max(wish, least);
        drift += wish - b.center.x;
        left = b.center.x + b.width / 2 + gap_across;
      }
      for (const std::size_t box : layer)
        out_.boxes[box].center.x += drift / static_cast<double>(layer.size());
    }
  }

  void move_to_origin() {
    double least = 1e9, most = -1e9;
    for (const block_box& b : out_.boxes) {
      least = std::min(least, b.center.x - b.width / 2);
      most = std::max(most, b.center.x + b.width / 2);
    }
    for (block_box& b : out_.boxes) b.center.x -= least;
    out_.width = most - least;
  }

  const flow& flow_;
  const std::vector<point>& sizes_;
  flow_layout out_;
  std::vector<block_id> order_;
  std::vector<std::vector<bool>> back_;
  std::vector<std::size_t> rank_;
  std::vector<std::size_t> box_of_;
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<std::vector<std::size_t>> above_;
  std::vector<std::vector<std::size_t>> below_;
  std::vector<double> place_in_layer_;
};

}  // namespace

flow_layout lay_out(const flow& f, const std::vector<point>& sizes) {
  return layered(f, sizes).run();
}

}  // namespace heddle::draft
