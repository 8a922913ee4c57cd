// SPDX-License-Identifier: MIT
// What a run has seen of each exchange, and the judgment: every answer is right and whole, or the
// client is told of an error. Never a byte of another exchange, never a good status with a short
// body; a request that is not idempotent reaches the handler at most once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>

#include "roles/script.hh"

namespace heddle::test::roles {

/// How an exchange ended for its client.
enum class ending : std::uint8_t {
  not_begun,
  right,   // the planned answer, whole
  other,   // an error answer that is not the handler's, whole
  told,    // an error
  chosen,  // the client ended it itself
};

struct seen {
  std::atomic<int> handled{0};    // calls of the handler
  std::atomic<int> completed{0};  // handlers that made their whole answer
  // Of the client's color.
  ending how = ending::not_begun;
  int status = 0;
  std::size_t bytes = 0;  // of the answer's body
  std::error_code error{};
  std::string why;  // the error's text
};

class ledger {
 public:
  explicit ledger(const std::vector<visit_plan>& plans) {
    for (const visit_plan& v : plans)
      for (const exchange_plan& p : v.exchanges) {
        auto& made = entries_[p.id];
        made = std::make_unique<entry>();
        made->plan = &p;
      }
  }

  /// Null if no exchange has this path.
  [[nodiscard]] const exchange_plan* plan_of(std::string_view path) const {
    std::uint64_t id = 0;
    if (path.size() < 2 || path.size() > 18) return nullptr;
    for (const char c : path.substr(1)) {
      if (c < '0' || c > '9') return nullptr;
      id = id * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second->plan;
  }
  [[nodiscard]] seen& of(const exchange_plan& p) const { return entries_.at(p.id)->what; }

  /// Judges the whole run. In a calm one each exchange must have gone as it was planned.
  void judge(bool calm, int calls_max) const {
    for (const auto& [id, e] : entries_) {
      const exchange_plan& p = *e->plan;
      const seen& s = e->what;
      const ::testing::ScopedTrace about(__FILE__, __LINE__, text_of(p));
      const int handled = s.handled;
      EXPECT_LE(handled, p.idempotent() ? calls_max : 1)
          << p.method << " " << id << " was handled " << handled << " times";
      if (s.how == ending::right) {
        EXPECT_GE(handled, 1) << id << " was answered by nobody";
      }
      if (!calm || s.how == ending::chosen || p.ended_by_client()) continue;
      EXPECT_EQ(handled, 1) << p.method << " " << id;
      // A proxy may see the cut before it has passed on a byte, and say so.
      const bool fits = p.answers != answering::cuts ? s.how == ending::right
                                                     : s.how == ending::told || s.status == 502;
      EXPECT_TRUE(fits) << p.method << " " << id << " ended in a calm world with status "
                        << s.status << ", " << s.bytes << " bytes, " << s.error.message() << ": "
                        << s.why;
    }
  }

  [[nodiscard]] std::size_t count(ending how) const {
    std::size_t n = 0;
    for (const auto& [id, e] : entries_) n += e->what.how == how ? 1 : 0;
    return n;
  }
  template <class F>
  void each(F&& f) const {
    for (const auto& [id, e] : entries_) f(*e->plan, e->what);
  }

 private:
  struct entry {
    const exchange_plan* plan = nullptr;
    seen what;
  };
  std::unordered_map<std::uint64_t, std::unique_ptr<entry>> entries_;
};

/// Compares a part of a body with what it must be; `at` is where it begins.
inline bool right_bytes(const char* whose, std::uint64_t body, std::size_t at,
                        std::string_view part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == byte_of(body, at + i)) continue;
    ADD_FAILURE() << whose << " of exchange " << body / 2 << ": byte " << at + i
                  << " is wrong, and " << part.size() - i << " bytes more have come";
    return false;
  }
  return true;
}

/// Judges the head and the size of an answer whose body has been compared.
inline void judge_answer(const exchange_plan& p, seen& s, int status, std::string_view id,
                         std::size_t bytes, std::string_view trailer) {
  s.status = status;
  s.bytes = bytes;
  if (id.empty()) {
    // Not the handler's: only an error may be answered in its name.
    EXPECT_GE(status, 400) << "exchange " << p.id << " has an answer without its number";
    s.how = ending::other;
    return;
  }
  EXPECT_EQ(id, std::to_string(p.id)) << "an answer of another exchange";
  if (status != p.status) {
    EXPECT_GE(status, 400) << "exchange " << p.id;
    s.how = ending::other;
    return;
  }
  s.how = ending::right;
  if (p.answers == answering::throws || p.answers == answering::refuses) return;
  const std::size_t size = p.bodyless() ? 0 : p.down;
  EXPECT_EQ(bytes, size) << "exchange " << p.id << ": a body is not whole, and nobody says so";
  EXPECT_NE(p.answers, answering::cuts) << "exchange " << p.id << " was cut, and nobody says so";
  if (p.down_trailer) {
    EXPECT_EQ(trailer, trailer_of(answer_body(p))) << "the trailer of " << p.id;
  }
}

}  // namespace heddle::test::roles
