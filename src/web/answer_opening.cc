// SPDX-License-Identifier: MIT
// Builds the lines that begin answers, and rebuilds them when the second changes.
#include "web/answer_opening.hh"

#include "heddle/core/worker.hh"
#include "heddle/http/detail/http2_fields.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/status.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds wall_step = std::chrono::milliseconds(100);

std::string assemble_fixed(std::string_view name) {
  if (name.empty()) return {};
  std::string line(64 + name.size(), '\0');
  head_writer writer(line);
  writer.status(200).field("Server", name);
  const std::string_view text = writer.text();
  return std::string(text.substr(text.find('\n') + 1));
}

}  // namespace

answer_opening::answer_opening(std::string_view server_name)
    : fixed_lines_(assemble_fixed(server_name)) {
  put_http2_lines(packed_fixed_, fixed_lines_);
}

std::string_view answer_opening::date_text() noexcept {
  const time_point now = worker::running().now;
  if (wall_read_at_ == time_point::min() || now - wall_read_at_ >= wall_step) {
    wall_read_at_ = now;
    wall_second_ =
        std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  }
  return date_.at(wall_second_);
}

std::string_view answer_opening::packed_date() {
  const std::string_view date = date_text();
  if (packed_second_ != wall_second_) {
    packed_date_.clear();
    put_http2_lines(packed_date_, date);
    packed_second_ = wall_second_;
  }
  return packed_date_;
}

std::string_view answer_opening::of_success() {
  const std::string_view date = date_text();
  if (success_second_ != wall_second_) {
    ((success_ = status_line(200)) += fixed_lines_) += date;
    success_second_ = wall_second_;
  }
  return success_;
}

}  // namespace heddle::http
