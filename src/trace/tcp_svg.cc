// SPDX-License-Identifier: MIT
// Draws one direction of a connection over time: above its sequence numbers, below its window and
// the bytes in flight. A picture has a bounded number of elements however long the trace is: what
// falls into one column of pixels is joined.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "heddle/base/text.hh"
#include "trace/tcp_lines.hh"
#include "trace/tcp_trace.hh"

namespace heddle::trace {
namespace {

constexpr double left = 84, right = 24, top = 92, gap = 58, bottom = 48;
constexpr double sequence_height = 460, window_height = 220;
constexpr std::size_t pauses_shown = 12;
constexpr double pause_width_min = 6;  // pixels

constexpr const char* style =
    "<style>text{font:12px sans-serif;fill:#24292f}.t{font-size:15px;font-weight:bold}"
    ".m{fill:#57606a}.bg{fill:#fff}.frame{fill:none;stroke:#8c959f}.grid{stroke:#d0d7de;"
    "stroke-width:.6}path,line{fill:none}.sent{stroke:#0969da;stroke-width:1.6}"
    ".again{fill:#cf222e;stroke:none}.ack{stroke:#1a7f37;stroke-width:1.3}"
    ".edge{stroke:#8250df;stroke-width:1;stroke-dasharray:5 "
    "3}.sack{stroke:#bf8700;stroke-width:1.6}"
    ".flight{stroke:#0969da;stroke-width:1.1}.cwnd{stroke:#bc4c00;stroke-width:1.5}"
    ".thresh{stroke:#6e7781;stroke-width:1;stroke-dasharray:4 3}.pause{fill:#fff8c5}"
    ".recover{fill:#ffebe9}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.m{fill:#8d96a0}.bg{fill:#0d1117}"
    ".grid{stroke:#30363d}.sent,.flight{stroke:#58a6ff}.again{fill:#ff7b72}.ack{stroke:#3fb950}"
    ".edge{stroke:#bc8cff}.sack{stroke:#d29922}.cwnd{stroke:#ffa657}.pause{fill:#3b2f00}"
    ".recover{fill:#4c1a1a}}</style>";

std::string bytes_text(double b) {
  char text[32];
  if (b >= 1e6) {
    std::snprintf(text, sizeof text, "%.4g MB", b / 1e6);
  } else if (b >= 1e3) {
    std::snprintf(text, sizeof text, "%.4g kB", b / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.4g B", b);
  }
  return text;
}

std::string time_text(double s) {
  char text[32];
  if (s == 0) return "0";
  if (std::fabs(s) < 1e-3) {
    std::snprintf(text, sizeof text, "%.4g us", s * 1e6);
  } else if (std::fabs(s) < 1) {
    std::snprintf(text, sizeof text, "%.4g ms", s * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.4g s", s);
  }
  return text;
}

/// The distance between ticks: 1, 2 or 5 times a power of ten, so that about `count` fill the span.
double tick_step(double span, double count) {
  if (span <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(span / count)));
  const double rest = span / count / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

std::string endpoint_of(const tcp::endpoint& e) {
  const std::string host = e.address.text();
  return (e.address.is_v4() ? host : "[" + host + "]") + ":" + std::to_string(e.port);
}

/// A rectangle of the picture, with the times and values at its edges.
struct panel {
  double x0, x1, y0, y1;  // pixels; y0 is above
  double from, to;        // seconds
  double high;            // value at y0; 0 is at y1
  [[nodiscard]] double x(double s) const { return x0 + (s - from) / (to - from) * (x1 - x0); }
  [[nodiscard]] double y(double v) const { return y1 - std::clamp(v / high, 0.0, 1.0) * (y1 - y0); }
  [[nodiscard]] bool has(double s) const { return s >= from && s <= to; }
};

class picture {
 public:
  picture(const traced_connection& c, const traced_direction& d, const trace_view& v)
      : c_(c), d_(d), v_(v) {
    const double all = std::max(seconds(c.last), 1e-6);
    from_ = std::clamp(v.from_s, 0.0, all);
    to_ = v.to_s < 0 ? all : std::min(v.to_s, all);
    if (to_ <= from_) to_ = from_ + std::max(all * 1e-3, 1e-6);
    low_ = first_offset();
    const double w = v.width;
    above_ = {left, w - right, top, top + sequence_height, from_, to_, highest_offset()};
    const double y = top + sequence_height + gap;
    below_ = {left, w - right, y, y + window_height, from_, to_, highest_window()};
  }

  std::string draw() {
    const int height = static_cast<int>(below_.y1 + bottom);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(v_.width) +
           "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " +
           std::to_string(v_.width) + " " + std::to_string(height) + "\">" + style +
           "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
    heading();
    shade();
    axes(above_, "sequence, bytes from the first");
    axes(below_, d_.windows.empty() ? "bytes in flight" : "congestion window, bytes in flight");
    sequence();
    window();
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double seconds(tcp::instant at) const {
    return static_cast<double>(at - c_.first) / 1e6;
  }
  /// With a zoom, sequence numbers begin where the visible part begins.
  [[nodiscard]] stream_offset first_offset() const {
    stream_offset low = INT64_MAX;
    for (const traced_data& x : d_.data)
      if (seconds(x.at) >= from_ && seconds(x.at) <= to_) low = std::min(low, x.begin);
    if (from_ > 0 && low != INT64_MAX) return low;
    return d_.data.empty() ? 0 : d_.data.front().begin;
  }
  [[nodiscard]] double highest_offset() const {
    stream_offset high = low_ + 1;
    for (const traced_data& x : d_.data)
      if (seconds(x.at) >= from_ && seconds(x.at) <= to_) high = std::max(high, x.end);
    return static_cast<double>(high - low_) * 1.04;
  }
  [[nodiscard]] double highest_window() const {
    double high = 1;
    for (const traced_flight& f : d_.flight)
      if (seconds(f.at) >= from_ && seconds(f.at) <= to_)
        high = std::max(high, static_cast<double>(f.bytes));
    // A window far above the bytes in flight would make the other curves flat, so it is cut off.
    const double most = 3 * high;
    for (const traced_window& w : d_.windows)
      if (seconds(w.at) >= from_ && seconds(w.at) <= to_)
        high = std::max(high, std::min<double>(w.window, most));
    return high * 1.05;
  }

  void put_text(double x, double y, const std::string& s, const char* more = "") {
    out_ += "<text x=\"" + text_of(x) + "\" y=\"" + text_of(y) + "\" " + more + ">";
    append_markup_text(out_, s);
    out_ += "</text>\n";
  }

  void heading() {
    const double took = std::max(data_time(), 1e-9);
    put_text(left, 24,
             v_.title.empty() ? endpoint_of(d_.from) + " to " + endpoint_of(d_.to) : v_.title,
             "class=\"t\"");
    char line[320];
    std::snprintf(
        line, sizeof line,
        "%s in %s (%s/s); %zu segments, %zu sent again (%.2f %%); round trip %s at least, "
        "%s median",
        bytes_text(static_cast<double>(d_.bytes)).c_str(), time_text(took).c_str(),
        bytes_text(static_cast<double>(d_.bytes) / took).c_str(), d_.segments, d_.segments_again,
        d_.segments == 0
            ? 0.0
            : 100.0 * static_cast<double>(d_.segments_again) / static_cast<double>(d_.segments),
        time_text(d_.rtt_min_us / 1e6).c_str(), time_text(d_.rtt_median_us / 1e6).c_str());
    put_text(left, 44, line, "class=\"m\"");
    double x = left;
    const auto key = [&](const char* shape, const char* words, double width) {
      out_ += "<g transform=\"translate(" + text_of(x) + ",62)\">" + shape + "</g>";
      put_text(x + 26, 66, words, "class=\"m\"");
      x += width;
    };
    key("<path class=\"sent\" d=\"M10 -7V7\"/>", "sent", 70);
    key("<circle class=\"again\" cx=\"10\" cy=\"0\" r=\"3\"/>", "sent again", 104);
    key("<path class=\"ack\" d=\"M0 0H20\"/>", "acknowledged", 122);
    key("<path class=\"sack\" d=\"M10 -7V7\"/>", "reported by SACK", 146);
    key("<path class=\"edge\" d=\"M0 0H20\"/>", "end of the peer's window", 192);
    key("<rect class=\"pause\" y=\"-7\" width=\"20\" height=\"14\"/>",
        "nothing sent, bytes in flight", 206);
    if (d_.windows.empty()) return;
    key("<path class=\"cwnd\" d=\"M0 0H20\"/>", "cwnd", 74);
    key("<path class=\"thresh\" d=\"M0 0H20\"/>", "ssthresh", 92);
    key("<rect class=\"recover\" y=\"-7\" width=\"20\" height=\"14\"/>", "recovery", 90);
  }
  [[nodiscard]] double data_time() const {
    if (d_.data.empty()) return 0;
    const tcp::instant end =
        d_.acks.empty() ? d_.data.back().at : std::max(d_.acks.back().at, d_.data.back().at);
    tcp::instant last = d_.data.back().at;
    for (const traced_ack& a : d_.acks)
      if (a.upto >= d_.data.back().end) {
        last = std::max(last, a.at);
        break;
      }
    return static_cast<double>(std::min(last, end) - d_.data.front().at) / 1e6;
  }

  void rectangle(const char* kind, const panel& p, double from, double to) {
    const double a = p.x(std::max(from, from_)), b = p.x(std::min(to, to_));
    if (b <= a) return;
    out_ += std::string("<rect class=\"") + kind + "\" x=\"" + text_of(a) + "\" y=\"" +
            text_of(p.y0) + "\" width=\"" + text_of(b - a) + "\" height=\"" + text_of(p.y1 - p.y0) +
            "\"/>\n";
  }
  void shade() {
    std::size_t shown = 0;
    double used_to = -1;
    std::vector<traced_pause> wide;
    for (const traced_pause& x : d_.pauses) {
      const double from = seconds(x.from), to = seconds(x.to);
      if (to < from_ || from > to_ || above_.x(to) - above_.x(from) < pause_width_min) continue;
      if (shown++ == pauses_shown) break;
      wide.push_back(x);
    }
    std::sort(wide.begin(), wide.end(),
              [](const auto& a, const auto& b) { return a.from < b.from; });
    for (const traced_pause& x : wide) {
      const double from = seconds(x.from), to = seconds(x.to);
      rectangle("pause", above_, from, to);
      rectangle("pause", below_, from, to);
      const double at = std::max(above_.x(std::max(from, from_)) + 2, used_to);
      const std::string words = time_text(to - from);
      put_text(at, above_.y0 - 5, words, "class=\"m\"");
      used_to = at + 7.0 * static_cast<double>(words.size()) + 4;
    }
    bool in = false;
    double since = 0;
    for (const traced_window& w : d_.windows) {
      if (w.recovering && !in) since = seconds(w.at);
      if (!w.recovering && in) rectangle("recover", below_, since, seconds(w.at));
      in = w.recovering;
    }
    if (in) rectangle("recover", below_, since, to_);
  }

  void axes(const panel& p, const char* what) {
    const double step_y = tick_step(p.high, (p.y1 - p.y0) / 60);
    const double base = &p == &above_ ? static_cast<double>(low_) : 0;
    for (double v = std::ceil(base / step_y) * step_y; v <= base + p.high; v += step_y) {
      const std::string y = text_of(p.y(v - base));
      out_ += "<line class=\"grid\" x1=\"" + text_of(p.x0) + "\" x2=\"" + text_of(p.x1) +
              "\" y1=\"" + y + "\" y2=\"" + y + "\"/>";
      put_text(p.x0 - 6, p.y(v - base) + 4, bytes_text(v), "text-anchor=\"end\"");
    }
    const double step_x = tick_step(to_ - from_, (p.x1 - p.x0) / 110);
    for (double s = std::ceil(from_ / step_x) * step_x; s <= to_ + step_x * 1e-6; s += step_x) {
      const std::string x = text_of(p.x(s));
      out_ += "<line class=\"grid\" y1=\"" + text_of(p.y0) + "\" y2=\"" + text_of(p.y1) +
              "\" x1=\"" + x + "\" x2=\"" + x + "\"/>";
      put_text(p.x(s), p.y1 + 17, time_text(std::fabs(s) < step_x * 1e-6 ? 0 : s),
               "text-anchor=\"middle\"");
    }
    out_ += "<rect class=\"frame\" x=\"" + text_of(p.x0) + "\" y=\"" + text_of(p.y0) +
            "\" width=\"" + text_of(p.x1 - p.x0) + "\" height=\"" + text_of(p.y1 - p.y0) + "\"/>\n";
    put_text(p.x0 + 8, p.y0 + 17, what, "class=\"m\"");
  }

  void path(const char* kind, const std::string& d) {
    if (!d.empty()) out_ += std::string("<path class=\"") + kind + "\" d=\"" + d + "\"/>\n";
  }
  [[nodiscard]] double value(stream_offset o) const { return static_cast<double>(o - low_); }

  void sequence() {
    strokes sent, sack;
    steps ack, edge;
    std::string again;
    double again_x = -1, again_y = -1;
    for (const traced_data& x : d_.data) {
      const double s = seconds(x.at);
      if (!above_.has(s)) continue;
      if (!x.again) {
        sent.add(above_.x(s), above_.y(value(x.begin)), above_.y(value(x.end)));
        continue;
      }
      const double px = above_.x(s), py = above_.y(value((x.begin + x.end) / 2));
      if (std::fabs(px - again_x) < 1 && std::fabs(py - again_y) < 1) continue;
      again_x = px;
      again_y = py;
      again += "<circle cx=\"" + text_of(px) + "\" cy=\"" + text_of(py) + "\" r=\"2.4\"/>";
    }
    for (const traced_ack& a : d_.acks) {
      const double s = seconds(a.at);
      if (!above_.has(s)) continue;
      ack.add(above_.x(s), above_.y(value(a.upto)));
      if (a.window_end >= 0) edge.add(above_.x(s), above_.y(value(a.window_end)));
      for (const traced_range& r : a.sacks)
        sack.add(above_.x(s), above_.y(value(r.begin)), above_.y(value(r.end)));
    }
    path("edge", edge.take(above_.x(to_)));
    path("sack", sack.take());
    path("sent", sent.take());
    path("ack", ack.take(above_.x(to_)));
    if (!again.empty()) out_ += "<g class=\"again\">" + again + "</g>\n";
  }

  void window() {
    steps flight, cwnd, threshold;
    for (const traced_flight& f : d_.flight)
      if (below_.has(seconds(f.at)))
        flight.add(below_.x(seconds(f.at)), below_.y(static_cast<double>(f.bytes)));
    for (const traced_window& w : d_.windows) {
      if (!below_.has(seconds(w.at))) continue;
      cwnd.add(below_.x(seconds(w.at)), below_.y(w.window));
      if (w.threshold != UINT32_MAX) threshold.add(below_.x(seconds(w.at)), below_.y(w.threshold));
    }
    path("thresh", threshold.take(below_.x(to_)));
    path("flight", flight.take(below_.x(to_)));
    path("cwnd", cwnd.take(below_.x(to_)));
  }

  const traced_connection& c_;
  const traced_direction& d_;
  const trace_view& v_;
  double from_ = 0, to_ = 1;
  stream_offset low_ = 0;
  panel above_{}, below_{};
  std::string out_;
};

}  // namespace

std::string trace_svg(const traced_connection& c, const traced_direction& d,
                      const trace_view& view) {
  return picture(c, d, view).draw();
}

}  // namespace heddle::trace
