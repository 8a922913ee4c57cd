// SPDX-License-Identifier: MIT
// The script of a run: who asks for what, how each answer is made and how it is taken. All of it is
// drawn before the run, so that the same script can be played over several protocols, by several
// workers, and through a proxy. Each byte follows from the exchange's number and its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "roles/draws.hh"

namespace heddle::test::roles {

/// How the client gives the request's body.
enum class sending : std::uint8_t { none, whole, sized_parts, parts };
/// How the handler makes its answer.
enum class answering : std::uint8_t {
  whole,    // a response with its body
  made,     // a body_writer, with pauses
  echo,     // a body_writer that returns the request's body while it arrives
  throws,   // an exception that is no answer: 500
  refuses,  // a status_error
  cuts,     // a body_writer that the handler does not end
  upgrade,  // 101, then every byte comes back
};
/// How the client takes the answer.
enum class taking : std::uint8_t { whole, parts, dropped };

struct exchange_plan {
  std::uint64_t id = 0;
  std::string method = "GET";
  // The request.
  sending sends = sending::none;
  std::size_t up = 0;                         // bytes of the request's body
  std::size_t part = 1;                       // bytes of its parts
  std::size_t fails_after = ~std::size_t{0};  // the client's source throws behind so many bytes
  bool up_trailer = false;
  bool expects = false;      // waits for 100 Continue, or for an error
  bool old_version = false;  // HTTP/1.0
  bool last = false;         // Connection: close
  // The handler.
  answering answers = answering::whole;
  int status = 200;
  std::size_t read_first = ~std::size_t{0};  // bytes of the request's body before the answer
  std::size_t down = 0;                      // bytes of the answer's body
  std::size_t down_part = 1;
  std::size_t cut_after = 0;  // bytes of the body behind which the handler ends
  bool down_length = false;   // a made answer promises its length
  bool down_trailer = false;
  bool interim = false;  // 103 before the answer
  bool closes = false;
  nanoseconds handler_pause{};
  // The client.
  taking takes = taking::whole;
  std::size_t dropped_after = 0;
  nanoseconds limit{};         // of the client's own patience; 0: long
  nanoseconds client_pause{};  // before the request, and between parts

  [[nodiscard]] bool idempotent() const { return method != "POST" && method != "PATCH"; }
  [[nodiscard]] bool upload_fails() const { return fails_after != ~std::size_t{0}; }
  [[nodiscard]] bool reads_all() const { return read_first == ~std::size_t{0}; }
  /// Whether the answer has no body on the wire, whatever the handler gives.
  [[nodiscard]] bool bodyless() const { return method == "HEAD" || status == 204 || status == 304; }
  /// Whether the client ends the exchange itself, so that it need not see the answer.
  [[nodiscard]] bool ended_by_client() const {
    return limit != nanoseconds::zero() || takes == taking::dropped || upload_fails();
  }
  /// Whether requests behind this one on its connection need not be answered.
  [[nodiscard]] bool ends_connection() const {
    return last || old_version || closes || answers == answering::throws ||
           answers == answering::cuts || answers == answering::upgrade;
  }
  [[nodiscard]] std::string path() const { return "/" + std::to_string(id); }
};

/// The exchanges of one visitor, one after the other.
struct visit_plan {
  bool by_hand = false;  // by a client that writes HTTP/1.1 itself, on one connection
  std::vector<exchange_plan> exchanges;
};

/// A byte of a body; the answer's differ from the request's.
inline char byte_of(std::uint64_t body, std::size_t at) noexcept {
  const std::uint64_t mixed = (body * 0x9e3779b97f4a7c15u + at) * 0xbf58476d1ce4e5b9u;
  return static_cast<char>(mixed >> 40);
}
inline std::uint64_t request_body(const exchange_plan& p) noexcept { return p.id * 2; }
inline std::uint64_t answer_body(const exchange_plan& p) noexcept {
  return p.answers == answering::echo ? p.id * 2 : p.id * 2 + 1;
}
inline std::string bytes_of(std::uint64_t body, std::size_t from, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = byte_of(body, from + i);
  return text;
}
/// The value of the trailer field behind a body.
inline std::string trailer_of(std::uint64_t body) { return "sum-" + std::to_string(body * 7919); }

/// An exchange in a line, for the report of a failure.
inline std::string text_of(const exchange_plan& p) {
  const char* const sends[] = {"no body", "a body", "parts with a length", "parts"};
  const char* const answers[] = {"whole", "made", "echo", "throws", "refuses", "cuts", "upgrade"};
  const char* const takes[] = {"whole", "in parts", "dropped"};
  const auto number = [](std::size_t n) { return n == ~std::size_t{0} ? "-" : std::to_string(n); };
  const auto ms = [](nanoseconds t) { return std::to_string(t.count() / 1'000'000) + "ms"; };
  std::string text =
      p.method + " " + std::to_string(p.id) + ": " + sends[static_cast<int>(p.sends)] + " of " +
      number(p.up) + " by " + number(p.part) + ", fails after " + number(p.fails_after) +
      ", reads " + number(p.read_first) + "; answers " + answers[static_cast<int>(p.answers)] +
      " " + std::to_string(p.status) + " of " + number(p.down) + " by " + number(p.down_part) +
      ", taken " + takes[static_cast<int>(p.takes)] + ", limit " + ms(p.limit) + ", pauses " +
      ms(p.handler_pause) + " and " + ms(p.client_pause);
  if (p.answers == answering::cuts) text += ", cut after " + number(p.cut_after);
  for (const auto& [is, word] : {std::pair(p.expects, "expects"),
                                 {p.old_version, "HTTP/1.0"},
                                 {p.last, "last"},
                                 {p.down_length, "promised length"},
                                 {p.down_trailer, "trailer"},
                                 {p.up_trailer, "sent trailer"},
                                 {p.interim, "103"},
                                 {p.closes, "closes"}})
    if (is) text += std::string(", ") + word;
  return text;
}

/// Whose requests a script has, which decides what can be drawn.
struct script_options {
  std::size_t visitors_max = 4;
  std::size_t exchanges_max = 7;   // of one visitor
  std::size_t bytes_max = 60'000;  // of one body
  nanoseconds pause_max = std::chrono::seconds(3);
  bool by_hand = true;  // visitors that write HTTP/1.1 themselves
};

inline exchange_plan draw_exchange(draws& d, const kinds& on, std::uint64_t id, bool by_hand,
                                   const script_options& o) {
  exchange_plan p;
  p.id = id;
  if (on.has(step::uploads) && !d.one_of(3)) {
    const char* const methods[] = {"PUT", "POST", "POST", "PATCH"};
    p.method = methods[d.below(4)];
    p.sends = sending::whole;
    if (on.has(step::made_uploads) && d.one_of(2))
      p.sends = d.one_of(2) ? sending::sized_parts : sending::parts;
    p.up = d.size(o.bytes_max);
    p.part = 1 + d.size(o.bytes_max);
    if (p.up > 40 * p.part) p.part = p.up / 40;
    if (on.has(step::failed_uploads) && p.sends != sending::whole && p.up > 1 && d.one_of(4))
      p.fails_after = d.below(p.up);
  } else if (on.has(step::heads) && d.one_of(3)) {
    p.method = "HEAD";
  } else if (d.one_of(6)) {
    p.method = d.one_of(2) ? "DELETE" : "POST";  // without a body
  }
  p.down = d.size(o.bytes_max);
  p.down_part = 1 + d.size(o.bytes_max);
  if (p.down > 40 * p.down_part) p.down_part = p.down / 40;
  p.down_length = d.one_of(2);
  const int statuses[] = {200, 200, 200, 201, 404};
  p.status = statuses[d.below(5)];
  if (on.has(step::empty_statuses) && d.one_of(4)) p.status = d.one_of(2) ? 204 : 304;
  if (on.has(step::made_answers) && d.one_of(2)) p.answers = answering::made;
  if (on.has(step::echoes) && p.up != 0 && d.one_of(3)) {
    p.answers = answering::echo;
    p.status = 200;
    p.down = p.up;
  } else if (on.has(step::early_answers) && p.up != 0 && d.one_of(3)) {
    p.read_first = d.one_of(2) ? 0 : d.below(p.up);
  }
  if (on.has(step::failed_handlers) && d.one_of(6)) {
    p.answers = d.one_of(2) ? answering::throws : answering::refuses;
    p.status = p.answers == answering::throws ? 500 : 409;
  } else if (on.has(step::cut_answers) && !p.bodyless() && p.down > 1 && d.one_of(5)) {
    p.answers = answering::cuts;
    p.cut_after = d.below(p.down);
  }
  if (p.answers == answering::made && on.has(step::trailers) && !p.bodyless() && d.one_of(2)) {
    p.down_trailer = true;
    p.down_length = false;
  }
  p.interim = on.has(step::interims) && d.one_of(3);
  p.closes = on.has(step::closing_answers) && p.answers == answering::whole && d.one_of(4);
  if (on.has(step::pauses)) {
    if (d.one_of(3)) p.handler_pause = d.pause(o.pause_max);
    if (d.one_of(3)) p.client_pause = d.pause(o.pause_max) / 8;
  }
  if (on.has(step::partial_reads) && d.one_of(2)) p.takes = taking::parts;
  if (on.has(step::dropped_answers) && d.one_of(5)) {
    p.takes = taking::dropped;
    p.dropped_after = d.below(p.down + 1);
  }
  if (on.has(step::given_up) && d.one_of(5)) p.limit = d.pause(o.pause_max) + nanoseconds(1);
  if (!by_hand) return p;
  p.takes = taking::whole;
  p.limit = {};
  p.fails_after = ~std::size_t{0};
  if (p.sends == sending::parts && on.has(step::trailers)) p.up_trailer = d.one_of(2);
  p.expects = on.has(step::go_aheads) && p.up != 0 && d.one_of(2);
  p.last = on.has(step::last_requests) && d.one_of(5);
  // A client of HTTP/1.0 sends no chunks.
  if (on.has(step::old_versions) && p.sends != sending::parts && d.one_of(5)) {
    p.old_version = true;
    p.expects = false;
  }
  if (on.has(step::upgrades) && !p.old_version && d.one_of(6)) {
    p = {.id = p.id,
         .up = p.up,
         .part = p.part,
         .answers = answering::upgrade,
         .status = 101,
         .client_pause = p.client_pause};
  }
  return p;
}

inline std::vector<visit_plan> draw_script(draws& d, const kinds& on, const script_options& o) {
  std::vector<visit_plan> all(1 + d.below(o.visitors_max));
  std::uint64_t id = d.below(1'000'000) * 1000;
  for (visit_plan& v : all) {
    v.by_hand = o.by_hand && d.one_of(3);
    const std::size_t most = on.has(step::repeats) ? o.exchanges_max : 2;
    v.exchanges.reserve(most);
    for (std::size_t i = 1 + d.below(most); i != 0; --i) {
      v.exchanges.push_back(draw_exchange(d, on, ++id, v.by_hand, o));
      if (v.exchanges.back().answers == answering::upgrade) break;  // it uses up the connection
    }
  }
  return all;
}

}  // namespace heddle::test::roles
