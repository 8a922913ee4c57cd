// SPDX-License-Identifier: MIT
// Adds and shows the counts of answers.
#include "serve/answer_counts.hh"

#include <string>
#include <vector>

namespace heddle::serve {

// Kept small, because every answer calls it if metrics are on.
void answer_table::add(http::method verb, int status) noexcept {
  const auto row = static_cast<std::size_t>(verb);
  const auto column = static_cast<std::size_t>(status / 100 - 1);
  if (column < classes) ++counts_[row * classes + column];
}

answer_table& answer_table::operator+=(const answer_table& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  return *this;
}

void show(const answer_table& t, http::metrics_page& page) {
  std::vector<std::string> labels;
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < t.counts_.size(); ++i) {
    if (t.counts_[i] == 0) continue;
    const auto verb = static_cast<http::method>(i / answer_table::classes);
    std::string text = "method=\"";
    text += verb == http::method::other ? "other" : http::name_of(verb);
    ((text += "\",class=\"") += std::to_string(i % answer_table::classes + 1)) += "xx\"";
    labels.push_back(std::move(text));
    values.push_back(t.counts_[i]);
  }
  std::vector<http::labeled_value> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) rows.push_back({labels[i], values[i]});
  page.counters("heddle_answers_total", "Answers by method and class.", rows);
}

}  // namespace heddle::serve
