// SPDX-License-Identifier: MIT
// The text of the metrics page.
#include "heddle/web/metrics.hh"

#include <string>

#include "support/test.hh"

namespace {

using namespace heddle::http;

HEDDLE_TEST(metrics, "values of one name stand under one head, each with its labels") {
  metrics_page page;
  const labeled_value values[] = {{"class=\"2xx\"", 7}, {"class=\"4xx\"", 1}};
  page.counters("answers_total", "Answers.", values).counter("loads_total", "Loads.", 3);
  EXPECT_EQ(std::move(page).text(),
            "# HELP answers_total Answers.\n# TYPE answers_total counter\n"
            "answers_total{class=\"2xx\"} 7\nanswers_total{class=\"4xx\"} 1\n"
            "# HELP loads_total Loads.\n# TYPE loads_total counter\nloads_total 3\n");
}

HEDDLE_TEST(metrics, "a name without values is not shown") {
  metrics_page page;
  page.counters("answers_total", "Answers.", {});
  EXPECT_EQ(std::move(page).text(), "");
}

}  // namespace
