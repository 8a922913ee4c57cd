// SPDX-License-Identifier: MIT
// Scanners' questions to a folder with things to find: cases/probes.txt. Whatever is asked, the
// secrets beside the folder and under hidden names stay where they are, and the server goes on.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "heddle/web/static_files.hh"
#include "http/case_file.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr std::string_view secret = "SECRET";

/// A folder beside a secret, with more of them inside under hidden names, and links that lead out.
class baited_folder {
 public:
  baited_folder() {
    namespace fs = std::filesystem;
    EXPECT_NE(::mkdtemp(top_.data()), nullptr);
    fs::create_directories(site() + "/sub");
    fs::create_directories(site() + "/.git");
    for (const char* name : {"/secret.txt", "/site/.env", "/site/.git/config", "/site/.htpasswd"})
      std::ofstream(top_ + name) << secret;
    std::ofstream(site() + "/index.html") << "ok";
    fs::create_directories(site() + "/.well-known");
    std::ofstream(site() + "/.well-known/security.txt") << "ok";
    std::ofstream(site() + "/.well-known/.env") << secret;
    fs::create_symlink(".env", site() + "/open");
    fs::create_symlink(".git", site() + "/tree");
    fs::create_symlink("../.git/config", site() + "/sub/config");
    fs::create_symlink("sub/page.html", site() + "/inside");
    std::ofstream(site() + "/sub/page.html") << "sub";
    fs::create_symlink("../secret.txt", site() + "/link");
    fs::create_symlink("..", site() + "/up");
    fs::create_symlink("/etc", site() + "/etc");
  }
  ~baited_folder() { std::filesystem::remove_all(top_); }
  [[nodiscard]] std::string site() const { return top_ + "/site"; }

 private:
  std::string top_ = "/tmp/heddle-probes-XXXXXX";
};

task<> probe(address at, const std::vector<file_case>& groups) {
  for (const file_case& group : groups)
    for (const case_line& line : group.lines) {
      const std::string all = co_await talk(
          at, unescape(line.rest) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      EXPECT_EQ(status_of(all), line.word) << group.name << ": " << line.rest;
      EXPECT_EQ(all.find(secret), all.npos) << group.name << ": " << line.rest;
      EXPECT_EQ(count_of(all, "HTTP/1.1 "), 1u) << group.name << ": " << line.rest << '\n' << all;
    }
  EXPECT_EQ(body_of(co_await ask(at, "GET /")), "ok");
}

}  // namespace

DRIVER_TEST(probes, "nothing that scanners ask for gives away what is hidden or outside") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const std::vector<file_case> groups = read_cases("probes.txt");
  std::size_t count = 0;
  for (const file_case& group : groups) count += group.lines.size();
  ASSERT_GE(count, 200u);
  const baited_folder folder;
  runtime rt(make(), one_worker());
  http::static_files files(folder.site());
  rt.run(with_server([&files](http::request& r) { return files.answer(r); }, {},
                     [&groups](address at, http::server&) { return probe(at, groups); }));
}
