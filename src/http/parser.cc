// SPDX-License-Identifier: MIT
// The parser has two layers over one position. The upper layer takes whole ordinary lines with wide
// loads; at the first unusual thing it stops without changing anything. The lower layer is a state
// machine over bytes: it can stop anywhere, it detects every error, and it handles lines that are
// split between two feeds or contain anything unusual. So the upper layer needs no errors of its
// own, and feeding byte by byte tests one layer against the other.
//
// The layers are in request_line.cc and field_lines.cc. Both treat as the end of the input either
// the end of the received bytes or the end that the limits allow, whichever is nearer. A token that
// reaches the limits' end fails there, whether or not more bytes have been received.
#include "heddle/http/parser.hh"

#include "http/meaning.hh"

namespace heddle::http {

void request_parser::reset() {
  at_ = error_at_ = empty_lines_ = 0;
  stage_ = stage::start;
  problem_ = problem::none;
  head_.seen_ = head_.repeated_ = head_.content_length_ = 0;
  head_.path_at_ = head_.query_at_ = head_.authority_at_ = head_.count_ = 0;
  head_.method_at_ = head_.method_length_ = head_.target_at_ = head_.target_length_ = 0;
  head_.authority_length_ = 0;
  head_.verb_ = method::other;
  head_.form_ = target_form::origin;
  head_.body_ = framing::none;
  head_.minor_version_ = 1;
  head_.keep_alive_ = head_.expects_continue_ = head_.upgrade_ = false;
}

parse_state request_parser::feed(std::string_view received) {
  head_.base_ = received.data();
  const char* end = received.data() + received.size();
  if (stage_ == stage::settled) {
    return problem_ == problem::none ? parse_state::done : parse_state::failed;
  }
  if (stage_ < stage::line) {
    parse_state state = request_line(end);
    if (state != parse_state::done) return state;
  }
  return field_lines(end);
}

parse_state request_parser::fail(problem what, std::size_t at) {
  stage_ = stage::settled;
  problem_ = what;
  error_at_ = static_cast<std::uint32_t>(at);
  return parse_state::failed;
}

parse_state request_parser::settle() {
  stage_ = stage::settled;
  std::uint32_t where = at_;
  problem what = request_meaning::take_fields(head_, *bounds_, host_, where);
  return what == problem::none ? parse_state::done : fail(what, where);
}

}  // namespace heddle::http
