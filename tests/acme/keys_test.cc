// SPDX-License-Identifier: MIT
// Keys, digests and signed messages against vectors of the standards, and facts of certificates.
#include "acme/keys.hh"

#include "acme/certificate.hh"
#include "heddle/base/error.hh"
#include "heddle/http/detail/json.hh"
#include "support/test.hh"

namespace heddle {
namespace {

using namespace acme::detail;
using http::detail::json;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

HEDDLE_TEST(acme_keys, "base64 for URLs has no padding, and one spelling") {
  EXPECT_EQ(to_base64url("\xff\xfe\xfd\xfc"), "__79_A");
  EXPECT_EQ(from_base64url("__79_A"), "\xff\xfe\xfd\xfc");
  EXPECT_EQ(from_base64url(""), "");
  for (const char* bad : {"A", "AA==", "A+A", "A/AA", "AB", "A A"})
    EXPECT_FALSE(from_base64url(bad).has_value()) << bad;
}

HEDDLE_TEST(acme_keys, "digests are those of FIPS 180 and RFC 4231") {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

HEDDLE_TEST(acme_keys, "an account key keeps its thumbprint, and signs 64 bytes") {
  const account_key made = account_key::make();
  const account_key again = account_key::parse(made.pem());
  EXPECT_EQ(made.jwk(), again.jwk());
  EXPECT_EQ(made.thumbprint().size(), 43u);
  EXPECT_EQ(made.sign("text").size(), 64u);
  const json jwk = json::parse(made.jwk());
  EXPECT_EQ(jwk["crv"].text(), "P-256");
  EXPECT_EQ(from_base64url(jwk["x"].text())->size(), 32u);
  EXPECT_EQ(from_base64url(jwk["y"].text())->size(), 32u);
  EXPECT_EQ(jwk.names(), (std::vector<std::string>{"crv", "kty", "x", "y"}));
  EXPECT_THROW(static_cast<void>(account_key::parse("none")), failure);
  const json message = json::parse(signed_message(made, R"({"alg":"ES256"})", ""));
  EXPECT_EQ(message["payload"].text(), "");
  EXPECT_EQ(from_base64url(message["protected"].text()), R"({"alg":"ES256"})");
  EXPECT_EQ(from_base64url(message["signature"].text())->size(), 64u);
}

HEDDLE_TEST(acme_keys, "moments are those of RFC 3339") {
  EXPECT_EQ(moment_of("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(moment_of("2021-01-03T00:00:00Z"), 1609632000);
  EXPECT_EQ(moment_of("2021-01-03T01:30:00.123456+01:30"), 1609632000);
  EXPECT_EQ(moment_of("2021-01-02t23:00:00-01:00"), 1609632000);
  for (const char* bad : {"", "2021-01-03", "2021-13-03T00:00:00Z", "2021-02-30T00:00:00Z",
                          "2021-01-03T24:00:00Z", "2021-01-03T00:00:00", "2021-01-03T00:00:00Zx"})
    EXPECT_THROW(static_cast<void>(moment_of(bad)), failure) << bad;
}

HEDDLE_TEST(acme_keys, "facts of a certificate are read from one text with its key") {
  const tls::pem_pair ca = tls::make_authority("test");
  const tls::pem_pair site =
      tls::issue(ca, {.names = {"b.example.org", "a.example.org"}, .life = std::chrono::days(90)});
  const certificate_facts facts = facts_of(split(joined(site)));
  EXPECT_EQ(facts.names, (std::vector<std::string>{"a.example.org", "b.example.org"}));
  EXPECT_EQ(facts.not_after - facts.not_before, 90 * 86400 + 3600);
  const std::size_t dot = facts.renewal_id.find('.');
  ASSERT_NE(dot, std::string::npos);
  EXPECT_EQ(from_base64url(facts.renewal_id.substr(0, dot))->size(), 20u);
  EXPECT_TRUE(from_base64url(facts.renewal_id.substr(dot + 1)).has_value());
  EXPECT_THROW(static_cast<void>(facts_of({site.certificate, ca.key})), failure);
  EXPECT_THROW(static_cast<void>(facts_of({"none", "none"})), failure);
}

HEDDLE_TEST(acme_keys, "a request for a certificate is DER, and PEM is wanted for it") {
  const tls::pem_pair request = tls::signing_request({"a.example.org"});
  const auto der = from_base64url(der_of(request.certificate));
  ASSERT_TRUE(der.has_value());
  EXPECT_EQ(der->front(), '\x30');
  EXPECT_THROW(static_cast<void>(der_of("none")), failure);
  EXPECT_THROW(static_cast<void>(tls::signing_request({})), failure);
}

}  // namespace
}  // namespace heddle
