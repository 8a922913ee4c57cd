// SPDX-License-Identifier: MIT
// Dates: the three forms, the calendar's corners, and what is no date.
#include "heddle/http/date.hh"

#include <ctime>
#include <string>

#include "support/test.hh"

namespace {

using namespace heddle::http;

constexpr std::int64_t new_year_2025 = 1735689600;  // 2025-01-01

std::string written(std::int64_t seconds) {
  char text[date_bytes];
  write_date(seconds, text);
  return {text, date_bytes};
}

HEDDLE_TEST(date, "reads all three forms as the same second") {
  EXPECT_EQ(parse_date("Sun, 06 Nov 1994 08:49:37 GMT", new_year_2025), 784111777);
  EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", new_year_2025), 784111777);
  EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994", new_year_2025), 784111777);
  EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994", new_year_2025), 784111777 + 10 * 86400);
}

HEDDLE_TEST(date, "writes what it reads, in every kind of year") {
  EXPECT_EQ(written(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(written(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(written(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(written(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(written(4107542400), "Mon, 01 Mar 2100 00:00:00 GMT");
  EXPECT_EQ(written(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(written(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
  // Steps of a prime number of seconds reach every month, hour and second of 300 years.
  for (std::int64_t t = -2208988800; t < 7258118400; t += 1000003) {
    std::string text = written(t);
    ASSERT_EQ(parse_date(text, new_year_2025), t) << text;
    std::time_t moment = t;
    std::tm fields{};
    gmtime_r(&moment, &fields);
    char expected[64];
    std::strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &fields);
    ASSERT_EQ(text, expected);
  }
}

HEDDLE_TEST(date, "keeps two-digit years within fifty years ahead") {
  // The weekday settles nothing here: each is right for the year that is meant.
  EXPECT_EQ(written(*parse_date("Tuesday, 01-Jan-75 00:00:00 GMT", new_year_2025)),
            "Tue, 01 Jan 2075 00:00:00 GMT");
  EXPECT_EQ(written(*parse_date("Thursday, 01-Jan-76 00:00:00 GMT", new_year_2025)),
            "Thu, 01 Jan 1976 00:00:00 GMT");
  EXPECT_EQ(written(*parse_date("Saturday, 01-Jan-00 00:00:00 GMT", new_year_2025)),
            "Sat, 01 Jan 2000 00:00:00 GMT");
}

HEDDLE_TEST(date, "refuses what is not exactly a date") {
  for (std::string_view text : {"",
                                "Sun",
                                "Sun,",
                                "Sunday,",
                                "Sun, 06 Nov 1994 08:49:37",
                                "Sun, 6 Nov 1994 08:49:37 GMT",
                                "Sun, 06 Nov 1994 08:49:37 gmt",
                                "Sun, 06 Nov 1994 08:49:37 GMT ",
                                " Sun, 06 Nov 1994 08:49:37 GMT",
                                "Sun, 06 nov 1994 08:49:37 GMT",
                                "Mon, 06 Nov 1994 08:49:37 GMT",
                                "Sun, 06 Nov 1994 24:00:00 GMT",
                                "Sun, 06 Nov 1994 08:60:37 GMT",
                                "Sun, 06 Nov 1994 08:49:61 GMT",
                                "Sun, 00 Nov 1994 08:49:37 GMT",
                                "Thu, 31 Nov 1994 08:49:37 GMT",
                                "Wed, 29 Feb 1995 08:49:37 GMT",
                                "Sun, 06 Nov 94 08:49:37 GMT",
                                "Sun, 06 Nov 1994 08:49:37 +0000",
                                "Thu, 06 anF 1994 08:49:37 GMT",
                                "Sunday, 06 Nov 1994 08:49:37 GMT",
                                "Sun Nov 6 08:49:37 1994",
                                "Sun Nov 06 08:49:37 1994 GMT",
                                "784111777",
                                "Sun, 06 Nov 1994 8:49:37 GMT"}) {
    EXPECT_EQ(parse_date(text, new_year_2025), std::nullopt) << text;
  }
  EXPECT_EQ(parse_date("Sat, 31 Dec 2016 23:59:60 GMT", new_year_2025),
            parse_date("Sat, 31 Dec 2016 23:59:59 GMT", new_year_2025));
}

HEDDLE_TEST(date, "formats the Date line only when the second changes") {
  date_line line;
  std::string_view first = line.at(784111777);
  EXPECT_EQ(first, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(line.at(784111777).data(), first.data());
  EXPECT_EQ(line.at(784111778), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
}

}  // namespace
