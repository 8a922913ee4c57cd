// SPDX-License-Identifier: MIT
// Chains of certificates as files have them: every certificate is read, and damage anywhere is
// refused with its line. No cut and no changed character makes a chain shorter without a word.
#include "tls/pem_blocks.hh"

#include "heddle/heddle.hh"
#include "heddle/tls/authority.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

std::string refusal_of_chain(std::string_view text) {
  try {
    static_cast<void>(tls::detail::certificates_of(text, "f.pem"));
  } catch (const failure& e) {
    return e.what();
  }
  return {};
}

std::string chain_of_two() {
  const tls::pem_pair ca = tls::make_authority("test");
  return tls::issue(ca, {.names = {"localhost"}}).certificate + ca.certificate;
}

HEDDLE_TEST(tls_pem_blocks, "every cut of a chain is refused, except between two certificates") {
  const std::string chain = chain_of_two();
  const std::size_t second = chain.rfind("-----BEGIN");
  for (std::size_t size = 1; size != chain.size(); ++size) {
    const std::string cut = chain.substr(0, size);
    // A few dashes at the end are no line of a block yet, and lose nothing that was begun.
    const bool between = size == second - 1 || (size >= second && size < second + 6);
    const bool whole = size == chain.size() - 1;  // without the last line's end
    const bool dashes = size < 6;
    EXPECT_EQ(refusal_of_chain(cut).empty(), between || whole || dashes) << size;
  }
}

HEDDLE_TEST(tls_pem_blocks, "every changed character of a chain is refused or changes nothing") {
  const std::string chain = chain_of_two();
  for (std::size_t at = 0; at != chain.size(); ++at) {
    std::string changed = chain;
    changed[at] = chain[at] == '!' ? '?' : '!';
    std::size_t count = 0;
    try {
      count = tls::detail::certificates_of(changed, "f.pem").size();
    } catch (const failure& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("f.pem:")) << e.what();
      continue;
    }
    EXPECT_EQ(count, 2u) << "character " << at;
  }
}

HEDDLE_TEST(tls_pem_blocks, "comments, other blocks and line ends of Windows are no damage") {
  const tls::pem_pair ca = tls::make_authority("test");
  std::string windows;
  for (const char c : ca.certificate) (windows += c == '\n' ? "\r" : "") += c;
  const std::string text = "# ---- of the root ----\n" + windows + ca.key + "\n\n" + ca.certificate;
  EXPECT_EQ(tls::detail::certificates_of(text, "f.pem").size(), 2u);
  EXPECT_EQ(tls::detail::pem_blocks(text, "f.pem").size(), 3u);
  EXPECT_TRUE(tls::detail::certificates_of("", "f.pem").empty());
  EXPECT_NE(refusal_of_chain("-----END CERTIFICATE-----\n").find("f.pem:1: "), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
