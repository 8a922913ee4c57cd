// SPDX-License-Identifier: MIT
// The example of TLS: its client looks at its server, and refuses one of another authority.
#if HEDDLE_WITH_TLS
#include "heddle/heddle.hh"
#include "heddle/io/process.hh"
#include "support/test.hh"
#include "support/tls_files.hh"
#include "support/tree.hh"

namespace heddle::test {
namespace {

task<std::string> output_of_https(std::string authority) {
  const tls_files& files = tls_files::get();
  process_options options;
  options.output(child_stream::pipe).errors(child_stream::null);
  std::vector<std::string> words{build_dir() + "/examples/https", "0", files.path("site.pem"),
                                 files.path("site.key"), std::move(authority)};
  process program = co_await spawn_process(command_line(std::move(words)), options);
  std::string text;
  char part[4096];
  while (const std::size_t n = co_await program.output().read_some(part)) text.append(part, n);
  co_await program.wait();
  co_return text;
}

HEDDLE_TEST(examples, "https: a client that knows the authority sees the page, no other does") {
  runtime rt;
  const std::string seen = rt.run(output_of_https(tls_files::get().authority()));
  EXPECT_NE(seen.find("200 OK"), std::string::npos) << seen;
  EXPECT_NE(seen.find("hello over TLS, /me"), std::string::npos) << seen;
  const std::string strange = rt.run(output_of_https(tls_files::get().path("stranger_ca.pem")));
  EXPECT_EQ(strange.find("hello"), std::string::npos) << strange;
}

}  // namespace
}  // namespace heddle::test
#endif
