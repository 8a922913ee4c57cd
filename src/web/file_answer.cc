// SPDX-License-Identifier: MIT
// Applies conditions and ranges of a request to a file.
#include "web/file_answer.hh"

#include <algorithm>
#include <chrono>

#include "heddle/http/conditional.hh"
#include "heddle/http/date.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {

bool has_conditions(const request_head& head) noexcept {
  return head.has(header_id::if_none_match) || head.has(header_id::if_modified_since) ||
         head.has(header_id::if_match) || head.has(header_id::if_unmodified_since) ||
         head.has(header_id::range);
}

selection select_part(const request_head& head, const representation& r, std::uint64_t size,
                      std::int64_t now) {
  const condition_result c = evaluate(head, {r.etag, r.facts.modified, true}, now);
  if (c.what == condition::not_modified) return {304, {}};
  if (c.what == condition::precondition_failed) return {412, {}};
  if (!c.use_range) return {};
  const range_set ranges = parse_ranges(head.value(header_id::range), size);
  if (ranges.answer() == range_answer::unsatisfiable) return {416, {}};
  if (ranges.answer() == range_answer::whole) return {};
  return {206, ranges};
}

std::string assemble_lines(std::string_view type, const representation& r, content_coding coding,
                           bool varies, std::string_view extra) {
  std::string room(512 + type.size() + extra.size(), '\0');
  head_writer writer(room);
  char date[date_bytes];
  // Last-Modified must not be later than the answer's date (RFC 9110 section 8.8.2.1).
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time());
  write_date(std::min<std::int64_t>(r.facts.modified, now.count()), date);
  writer.status(200)
      .field("Content-Type", type)
      .field("Last-Modified", std::string_view(date, date_bytes))
      .field("ETag", r.etag)
      .lines("Accept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n");
  if (coding != content_coding::identity) writer.field("Content-Encoding", name_of(coding));
  if (varies) writer.lines("Vary: Accept-Encoding\r\n");
  writer.lines(extra);
  const std::string_view text = writer.text();
  return std::string(text.substr(text.find('\n') + 1));
}

response answer_without_body(const selection& chosen, const representation& r, std::uint64_t size,
                             const piece& extra) {
  response answer(chosen.status);
  if (chosen.status == 416)
    answer.shared_lines(extra).header("Content-Range", content_range::unsatisfied(size).text());
  if (chosen.status == 304) answer.shared_lines(r.lines_of_part());
  return answer;
}

multipart::multipart(std::string_view type, std::uint64_t size, std::uint64_t nonce)
    : type_(type), size_(size) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) boundary_ += digits[nonce >> shift & 15];
}

void multipart::add(byte_range range, std::string_view bytes) {
  ((body_ += "\r\n--") += boundary_) += "\r\nContent-Type: ";
  (body_ += type_) += "\r\nContent-Range: ";
  ((body_ += content_range(range, size_).text()) += "\r\n\r\n") += bytes;
}

std::string multipart::finish() {
  ((body_ += "\r\n--") += boundary_) += "--\r\n";
  return std::move(body_);
}

std::string multipart::content_type() const {
  return "multipart/byteranges; boundary=" + boundary_;
}

}  // namespace heddle::http
