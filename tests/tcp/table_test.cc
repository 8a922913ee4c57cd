// SPDX-License-Identifier: MIT
// Plays segments.table: each row of it, in each of its states, is a test. The table's head has its
// format.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/test.hh"
#include "support/tree.hh"
#include "tcp/script.hh"

namespace heddle::tcp::test {

namespace {

struct table_state {
  long long n = 0, s = 0;
  std::string lines;
};

struct table_row {
  std::string name;
  std::string script;
};

/// "n+5" in the row of a state whose n is 2: "7". Also "n+5-n+9", as SACK blocks are written.
std::string with_numbers(const std::string& word, const table_state& in) {
  std::string out;
  std::size_t at = 0;
  const auto number = [&]() {
    if (at >= word.size() || (word[at] != 'n' && word[at] != 's')) return false;
    long long value = word[at++] == 'n' ? in.n : in.s;
    if (at + 1 < word.size() && (word[at] == '+' || word[at] == '-') && word[at + 1] >= '0' &&
        word[at + 1] <= '9') {
      std::size_t end = at;
      while (++end < word.size() && word[end] >= '0' && word[end] <= '9') continue;
      value += std::stoll(word.substr(at, end - at));
      at = end;
    }
    out += std::to_string(value);
    return true;
  };
  if (!number()) return word;
  if (at == word.size()) return out;
  if (word[at++] != '-') return word;
  out += '-';
  return number() && at == word.size() ? out : word;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each, by);) {
    const std::size_t first = each.find_first_not_of(' ');
    out.push_back(first == std::string::npos
                      ? std::string()
                      : each.substr(first, each.find_last_not_of(' ') + 1 - first));
  }
  return out;
}

std::string script_of(const std::string& lines, const table_state& in) {
  std::string out = in.lines;
  for (const std::string& line : split(lines, ';')) {
    for (const std::string& word : split(line, ' ')) out += with_numbers(word, in) + ' ';
    out += '\n';
  }
  return out;
}

std::vector<table_row> read_table(std::istream& in) {
  std::vector<table_row> rows;
  std::map<std::string, table_state> states;
  std::map<std::string, std::string> groups;
  table_state* filled = nullptr;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    if (line[0] == '@') {
      std::string name, n, s;
      words >> name >> n >> s;
      filled = &states[name.substr(1)];
      filled->n = std::stoll(n.substr(2));
      filled->s = std::stoll(s.substr(2));
    } else if (line[0] == '[') {
      std::string name;
      words >> name;
      std::getline(words, groups[name]);
    } else if (line.find('|') == std::string::npos) {
      if (filled == nullptr) {
        rows.push_back({"line " + std::to_string(number), "this line is below no state"});
        continue;
      }
      filled->lines += line + '\n';
    } else {
      const std::vector<std::string> parts = split(line, '|');
      const std::string where = "line " + std::to_string(number);
      if (parts.size() != 3) {
        rows.push_back({where, "a row has three parts"});
        continue;
      }
      const auto group = groups.find(parts[1]);
      std::istringstream each(group == groups.end() ? parts[1] : group->second);
      for (std::string state; each >> state;) {
        const auto known = states.find(state);
        rows.push_back({"RFC " + parts[0] + ", " + state + ": " + parts[2] + " (" + where + ")",
                        known == states.end() ? "there is no state or group " + state
                                              : script_of(parts[2], known->second)});
      }
    }
  }
  return rows;
}

class tcp_table_test : public ::testing::Test {
 public:
  explicit tcp_table_test(std::string script) : script_(std::move(script)) {}
  void TestBody() override {
    script_player player;
    EXPECT_EQ(player.play(script_), "") << script_;
  }

 private:
  std::string script_;
};

const std::size_t tcp_table_rows = [] {
  const auto file =
      std::filesystem::path(::heddle::test::source_dir()) / "tests/tcp/segments.table";
  std::ifstream in(file);
  static std::deque<std::string> names;
  for (table_row& row : read_table(in)) {
    names.push_back(std::move(row.name));
    ::testing::RegisterTest(
        "tcp_table", names.back().c_str(), nullptr, nullptr, file.c_str(), 1,
        [script = row.script]() -> ::testing::Test* { return new tcp_table_test(script); });
  }
  return names.size();
}();

}  // namespace

}  // namespace heddle::tcp::test

HEDDLE_TEST(tcp_table, "there are at least 250 rows, each in one state") {
  EXPECT_GE(heddle::tcp::test::tcp_table_rows, 250u);
}
