// SPDX-License-Identifier: MIT
// The flows of a program as one picture: `--emit svg`. Blocks that wait are rounded and yellow;
// ways that an error takes are dashed and red.
#include <algorithm>
#include <cstdio>

#include "draft/flow_layout.hh"
#include "draft/print_flow.hh"
#include "heddle/base/text.hh"

namespace heddle::draft {
namespace {

constexpr double letter = 6.7;  // width in a monospace font of 11 pixels
constexpr double line_height = 14;
constexpr double margin = 24;
constexpr std::size_t columns_max = 52;
constexpr std::size_t lines_max = 10;

std::string shortened(std::string s) {
  if (s.size() <= columns_max) return s;
  std::size_t end = columns_max - 3;
  while (end != 0 && (static_cast<unsigned char>(s[end]) & 0xc0) == 0x80) --end;
  return s.substr(0, end) + "...";
}

std::string number(double n) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", n);
  return text;
}

std::vector<std::string> lines_of(const flow& f, const flow_block& b) {
  std::vector<std::string> list;
  for (const instr& x : b.body) list.push_back(instr_text(f, x.how));
  each_call(b.tail, [&](const auto& x) { list.push_back("wait " + instr_text(f, x)); });
  if (const value* const v = b.tail.decides())
    list.push_back((b.tail.is<branch_tail>() ? "if " : "match ") + print_value(f, *v));
  if (list.size() > lines_max) {
    const std::size_t left = list.size() - lines_max + 1;
    list.resize(lines_max - 1);
    list.push_back("(" + std::to_string(left) + " more)");
  }
  for (std::string& s : list) s = shortened(std::move(s));
  return list;
}

/// "accept, line 12".
std::string title_of(const flow_block& b) {
  std::string out = b.name;
  if (b.tail.waits() && b.tail.at)
    out += ", line " + std::to_string(b.tail.at.file->line_of(b.tail.at.begin));
  return out;
}

bool is_error_way(const tail& t, std::size_t way) {
  return way == 1 && (t.is<check_tail>() || t.is<fault_tail>());
}

std::string label_of(const tail& t, std::size_t way) {
  if (t.is<branch_tail>()) return way == 0 ? "yes" : "no";
  if (t.is<any_tail>()) return "arm " + std::to_string(way + 1);
  return is_error_way(t, way) ? "error" : "";
}

class picture {
 public:
  std::string run(const std::vector<flow>& flows) {
    for (const flow& f : flows) add(f);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width_ + 2 * margin) +
           "\" height=\"" + number(y_ + margin) +
           "\" font-family=\"monospace\" font-size=\"11\">\n"
           "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
           "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555\"/>"
           "</marker></defs>\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           out_ + "</svg>\n";
  }

 private:
  void text(double x, double y, std::string_view s, const char* more = "") {
    out_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">";
    append_markup_text(out_, s);
    out_ += "</text>\n";
  }

  void add(const flow& f) {
    std::vector<point> sizes;
    for (const flow_block& b : f.blocks) {
      const std::vector<std::string> lines = lines_of(f, b);
      std::size_t longest = title_of(b).size();
      for (const std::string& s : lines) longest = std::max(longest, s.size());
      sizes.push_back({static_cast<double>(longest) * letter + 16,
                       static_cast<double>(lines.size() + 1) * line_height + 10});
    }
    const flow_layout l = lay_out(f, sizes);
    y_ += margin;
    text(margin, y_ + 6, f.fn->home->name + "." + f.fn->name,
         " font-size=\"15\" font-weight=\"bold\"");
    y_ += margin;
    for (const flow_edge& e : l.edges) add_edge(f, l, e);
    for (const block_box& b : l.boxes)
      if (b.block != no_id) add_box(f, b);
    width_ = std::max(width_, l.width);
    y_ += l.height + margin;
  }

  void add_box(const flow& f, const block_box& b) {
    const flow_block& block = f.blocks[b.block];
    const bool waits = block.tail.waits();
    const double x = margin + b.center.x - b.width / 2;
    const double y = y_ + b.center.y - b.height / 2;
    out_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(b.width) +
            "\" height=\"" + number(b.height) + "\"" +
            (waits ? " rx=\"12\" fill=\"#fff6cc\" stroke=\"#b08800\" stroke-width=\"2\""
                   : " fill=\"#f7f7f7\" stroke=\"#999\"") +
            "/>\n";
    double at = y + line_height + 2;
    text(x + 8, at, title_of(block), " font-weight=\"bold\"");
    for (const std::string& s : lines_of(f, block)) text(x + 8, at += line_height, s);
  }

  void add_edge(const flow& f, const flow_layout& l, const flow_edge& e) {
    const tail& t = f.blocks[e.from].tail;
    std::vector<point> points;
    for (std::size_t i = 0; i != e.path.size(); ++i) {
      const block_box& b = l.boxes[e.path[i]];
      point p{margin + b.center.x, y_ + b.center.y};
      if (i == 0) p.y += b.height / 2;
      if (i != 0 && i + 1 == e.path.size()) p.y -= b.height / 2;
      points.push_back(p);
    }
    if (points.size() == 1) {  // a block that goes to itself
      const block_box& b = l.boxes[e.path[0]];
      const double right = margin + b.center.x + b.width / 2, y = y_ + b.center.y;
      out_ += "<path d=\"M" + number(right) + " " + number(y + 6) + " c26 6 26 -18 0 -12\"" +
              style_of(t, e.way) + "/>\n";
      return;
    }
    if (e.back) std::reverse(points.begin(), points.end());
    std::string path = "M" + number(points[0].x) + " " + number(points[0].y);
    for (std::size_t i = 1; i != points.size(); ++i) {
      const double middle = (points[i - 1].y + points[i].y) / 2;
      path += " C" + number(points[i - 1].x) + " " + number(middle) + " " + number(points[i].x) +
              " " + number(middle) + " " + number(points[i].x) + " " + number(points[i].y);
    }
    out_ += "<path d=\"" + path + "\"" + style_of(t, e.way) + "/>\n";
    const std::string label = label_of(t, e.way);
    if (!label.empty())
      text((3 * points[0].x + points[1].x) / 4 + 4, (3 * points[0].y + points[1].y) / 4 + 4, label,
           " fill=\"#555\" font-size=\"10\"");
  }

  static std::string style_of(const tail& t, std::size_t way) {
    return std::string(" fill=\"none\" marker-end=\"url(#tip)\" ") +
           (is_error_way(t, way) ? "stroke=\"#c0392b\" stroke-dasharray=\"4 3\""
                                 : "stroke=\"#555\"");
  }

  std::string out_;
  double y_ = 0;
  double width_ = 0;
};

}  // namespace

std::string print_svg(const std::vector<flow>& flows) { return picture().run(flows); }

}  // namespace heddle::draft
