// SPDX-License-Identifier: MIT
// A small authority for tests, over plain HTTP: it checks every signature and nonce, proves names
// by connecting to the site, signs requests, and can be told to fail in each way that a real one
// does. One request a connection, so that a request can be cut by closing it.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "acme/keys.hh"
#include "heddle/acme/challenges.hh"
#include "heddle/client/client.hh"
#include "heddle/heddle.hh"
#include "heddle/http/detail/json.hh"
#include "heddle/io/tcp.hh"
#include "heddle/probe/json.hh"
#include "heddle/tls/stream.hh"
#include "support/test.hh"

namespace heddle::test {

using acme::detail::from_base64url;
using acme::detail::sha256;
using acme::detail::to_base64url;
using http::detail::json;

/// Signs a request (DER) for a span of wall time; gives the chain as PEM.
inline std::string sign_request(const tls::pem_pair& ca, const std::string& der, std::int64_t from,
                                std::int64_t to, long serial) {
  const auto read = [](const std::string& text) {
    return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  };
  BIO* in = read(ca.certificate);
  X509* const issuer = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  in = read(ca.key);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  X509_REQ* const request = d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size()));
  if (request == nullptr || X509_REQ_verify(request, X509_REQ_get0_pubkey(request)) != 1) return "";
  X509* const made = X509_new();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
  ASN1_TIME_set(X509_getm_notBefore(made), from);
  ASN1_TIME_set(X509_getm_notAfter(made), to);
  X509_set_issuer_name(made, X509_get_subject_name(issuer));
  X509_set_pubkey(made, X509_REQ_get0_pubkey(request));
  STACK_OF(X509_EXTENSION)* const asked = X509_REQ_get_extensions(request);
  for (int i = 0; i < sk_X509_EXTENSION_num(asked); ++i)
    X509_add_ext(made, sk_X509_EXTENSION_value(asked, i), -1);
  sk_X509_EXTENSION_pop_free(asked, X509_EXTENSION_free);
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, made, nullptr, nullptr, 0);
  X509_EXTENSION* const of_issuer =
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid");
  X509_add_ext(made, of_issuer, -1);
  X509_EXTENSION_free(of_issuer);
  X509_sign(made, key, EVP_sha256());
  BIO* const out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(out, made);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(out);
  X509_free(made);
  X509_REQ_free(request);
  EVP_PKEY_free(key);
  X509_free(issuer);
  return pem + ca.certificate;
}

/// Whether a signature of ES256 is right.
inline bool signature_good(const json& jwk, std::string_view bytes, const std::string& signature) {
  const auto x = from_base64url(jwk["x"].text());
  const auto y = from_base64url(jwk["y"].text());
  if (!x || !y || x->size() != 32 || y->size() != 32 || signature.size() != 64) return false;
  const std::string point = '\x04' + *x + *y;
  OSSL_PARAM_BLD* const build = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  OSSL_PARAM* const params = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX* const making = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
  EVP_PKEY* key = nullptr;
  bool good = EVP_PKEY_fromdata_init(making) == 1 &&
              EVP_PKEY_fromdata(making, &key, EVP_PKEY_PUBLIC_KEY, params) == 1;
  const auto* raw = reinterpret_cast<const unsigned char*>(signature.data());
  ECDSA_SIG* const pair = ECDSA_SIG_new();
  ECDSA_SIG_set0(pair, BN_bin2bn(raw, 32, nullptr), BN_bin2bn(raw + 32, 32, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair, &der);
  EVP_MD_CTX* const checking = EVP_MD_CTX_new();
  good = good && EVP_DigestVerifyInit(checking, nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(checking, der, static_cast<std::size_t>(size),
                          reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1;
  EVP_MD_CTX_free(checking);
  OPENSSL_free(der);
  ECDSA_SIG_free(pair);
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(making);
  OSSL_PARAM_free(params);
  OSSL_PARAM_BLD_free(build);
  return good;
}

class test_authority {
 public:
  // Faults and wishes. Requests are counted from 1, GET and HEAD included.
  std::set<int> cut;                    ///< these get no answer
  std::map<int, std::string> problems;  ///< these get a problem of this type
  std::string retry_after = "120";      ///< with rateLimited
  int bad_nonces = 0;                   ///< so many posts are refused for their nonce
  bool nonces_of_answers = true;        ///< answers bring the next nonce
  bool terms = true;
  bool wrong_proof = false;  ///< every check fails
  bool lies = false;         ///< certificates are for another name
  bool offers_tls_alone = false;
  bool gives_windows = false;  ///< renewal information
  std::int64_t window_start = 0, window_end = 0;
  std::string external_key;  ///< accounts must be bound with it
  std::int64_t life = 90 * 86400;
  address plain_site, tls_site;  ///< where names are checked

  // What it has seen.
  int requests = 0, posts = 0, accounts = 0, orders = 0, issued = 0, windows_asked = 0;
  std::vector<std::string> replaced;
  std::vector<std::string> proofs;  ///< "http-01 NAME"
  std::vector<std::string> wrongs;  ///< what a correct client never does

  test_authority() : ca_(tls::make_authority("Test authority")) {
    door_ = tcp_listener::listen(address::loopback(0));
    base_ = "http://" + door_.local().to_string();
  }

  [[nodiscard]] std::string directory() const { return base_ + "/directory"; }
  [[nodiscard]] const tls::pem_pair& ca() const noexcept { return ca_; }

  task<> serve() {
    scope connections;
    for (;;) {
      auto on = co_await as_expected(door_.accept());
      if (!on) break;
      connections.spawn(connection(std::move(*on)));
    }
    connections.cancel();
    co_await connections.settled();
  }

 private:
  struct asked {
    std::string method, path, body;
  };
  struct answered {
    int status = 200;
    std::string body = {}, fields = {}, type = "application/json";
  };
  struct authorization {
    std::string name, status = "pending", token, error = {}, kind = {};
  };
  struct order {
    std::string status = "pending";
    std::vector<std::string> names;
    std::vector<int> authorizations;
    std::string certificate = {};
  };

  static std::int64_t now() {
    return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  }

  task<> connection(stream on) {
    std::string got;
    std::size_t end = 0;
    std::size_t length = 0;
    for (;;) {
      end = got.find("\r\n\r\n");
      if (end != got.npos) {
        const std::size_t at = got.find("Content-Length: ");
        length = at < end ? std::strtoul(got.c_str() + at + 16, nullptr, 10) : 0;
        if (got.size() >= end + 4 + length) break;
      }
      received in = co_await on.receive();
      if (in.empty()) co_return;
      got += in.text();
    }
    asked q;
    q.method = got.substr(0, got.find(' '));
    q.path =
        got.substr(q.method.size() + 1, got.find(' ', q.method.size() + 1) - q.method.size() - 1);
    q.body = got.substr(end + 4, length);
    const int number = ++requests;
    if (cut.contains(number)) co_return;
    const answered a = co_await answer(q, number);
    std::string out = "HTTP/1.1 " + std::to_string(a.status) + " x\r\nConnection: close\r\n" +
                      "Content-Type: " + a.type + "\r\n" + a.fields;
    if (q.method != "GET" && nonces_of_answers) out += "Replay-Nonce: " + new_nonce() + "\r\n";
    if (q.path == "/nonce" && !nonces_of_answers) out += "Replay-Nonce: " + new_nonce() + "\r\n";
    out += "Content-Length: " + std::to_string(a.body.size()) + "\r\n\r\n";
    if (q.method != "HEAD") out += a.body;
    static_cast<void>(co_await as_expected(on.write(std::string_view(out))));
  }

  std::string new_nonce() {
    std::string nonce = "nonce-" + std::to_string(++nonce_count_);
    while (!from_base64url(nonce)) nonce += '0';  // a spelling that is one
    nonces_.insert(nonce);
    return nonce;
  }

  static answered problem(int status, const std::string& type, const std::string& detail) {
    answered a;
    a.status = status;
    a.type = "application/problem+json";
    a.body = R"({"type":"urn:ietf:params:acme:error:)" + type + R"(","detail":)" +
             json_quoted(detail) + "}";
    return a;
  }

  task<answered> answer(const asked& q, int number) {
    if (const auto at = problems.find(number); at != problems.end()) {
      answered a = problem(at->second == "rateLimited" ? 429 : 403, at->second, "no\nno");
      if (at->second == "rateLimited") a.fields = "Retry-After: " + retry_after + "\r\n";
      co_return a;
    }
    answered a;
    if (q.method == "GET" && q.path == "/directory") {
      a.body = R"({"newNonce":")" + base_ + R"(/nonce","newAccount":")" + base_ +
               R"(/account","newOrder":")" + base_ + R"(/order",)" +
               (gives_windows ? R"("renewalInfo":")" + base_ + R"(/renewal",)" : std::string()) +
               R"("meta":{)" +
               (terms ? R"("termsOfService":"https://ca.example.org/terms",)" : "") +
               R"("externalAccountRequired":)" + (external_key.empty() ? "false" : "true") + "}}";
      co_return a;
    }
    if (q.method == "HEAD" && q.path == "/nonce") co_return a;
    if (q.method == "GET" && q.path.starts_with("/renewal/")) {
      ++windows_asked;
      a.body = R"({"suggestedWindow":{"start":")" + moment(window_start) + R"(","end":")" +
               moment(window_end) + R"("}})";
      a.fields = "Retry-After: 21600\r\n";
      co_return a;
    }
    if (q.method != "POST") co_return problem(405, "malformed", "no such thing");
    co_return co_await post(q);
  }

  static std::string moment(std::int64_t at) {
    const std::chrono::sys_seconds when{std::chrono::seconds(at)};
    const auto day = std::chrono::floor<std::chrono::days>(when);
    const std::chrono::year_month_day date(day);
    const auto rest = (when - day).count();
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(rest / 3600),
                  static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
    return text;
  }

  task<answered> post(const asked& q) {
    ++posts;
    const json message = json::parse(q.body);
    const std::string head_text = from_base64url(message["protected"].text()).value_or("");
    const json head = json::parse(head_text);
    const std::string payload = from_base64url(message["payload"].text()).value_or("");
    if (head["alg"].text() != "ES256") wrongs.push_back("alg");
    if (head["url"].text() != base_ + q.path) wrongs.push_back("url");
    const std::string nonce(head["nonce"].text());
    if (nonces_.erase(nonce) == 0) wrongs.push_back("nonce " + nonce);
    const bool by_key = head["jwk"].what() == json::kind::object;
    if (by_key != (q.path == "/account")) wrongs.push_back("jwk or kid for " + q.path);
    if (by_key) jwk_ = std::make_unique<json>(head["jwk"]);
    if (!by_key && head["kid"].text() != base_ + "/account/1") wrongs.push_back("kid");
    const std::string sealed =
        std::string(message["protected"].text()) + '.' + std::string(message["payload"].text());
    if (!jwk_ ||
        !signature_good(*jwk_, sealed, from_base64url(message["signature"].text()).value_or("")))
      wrongs.push_back("signature");
    if (bad_nonces > 0) {
      --bad_nonces;
      co_return problem(400, "badNonce", "stale");
    }
    const std::size_t slash = q.path.find('/', 1);
    const std::string what = q.path.substr(1, slash == q.path.npos ? slash : slash - 1);
    const int id = slash == q.path.npos ? 0 : std::atoi(q.path.c_str() + slash + 1);
    if (what == "account") co_return new_account(payload);
    if (what == "order" && id == 0) co_return new_order(payload);
    if (what == "order") co_return show(orders_.at(static_cast<std::size_t>(id) - 1), id);
    if (what == "authorization") co_return show(id);
    if (what == "challenge") {
      const std::string kind = q.path.ends_with("http") ? "http-01" : "tls-alpn-01";
      co_return co_await check(id, kind);
    }
    if (what == "finalize") co_return finalize(id, payload);
    if (what == "certificate") {
      answered a;
      a.type = "application/pem-certificate-chain";
      a.body = orders_.at(static_cast<std::size_t>(id) - 1).certificate;
      co_return a;
    }
    co_return problem(404, "malformed", "no such thing");
  }

  answered new_account(const std::string& payload) {
    const json asked_for = json::parse(payload);
    if (terms && !asked_for["termsOfServiceAgreed"].truth()) wrongs.push_back("terms");
    if (!external_key.empty()) {
      const json& binding = asked_for["externalAccountBinding"];
      const std::string sealed =
          std::string(binding["protected"].text()) + '.' + std::string(binding["payload"].text());
      if (to_base64url(acme::detail::hmac_sha256(external_key, sealed)) !=
          binding["signature"].text())
        return problem(401, "unauthorized", "the binding is wrong");
    }
    answered a;
    const std::string jwk(
        from_base64url(to_base64url(std::string((*jwk_)["x"].text()))).value_or(""));
    a.status = known_keys_.insert(jwk).second ? 201 : 200;
    if (a.status == 201) ++accounts;
    a.fields = "Location: " + base_ + "/account/1\r\n";
    a.body = R"({"status":"valid"})";
    return a;
  }

  answered new_order(const std::string& payload) {
    const json asked_for = json::parse(payload);
    if (const auto old = asked_for["replaces"].text(); !old.empty()) replaced.emplace_back(old);
    ++orders;
    order made;
    for (const json& each : asked_for["identifiers"].items()) {
      made.names.emplace_back(each["value"].text());
      authorizations_.push_back({.name = std::string(each["value"].text()),
                                 .token = to_base64url("token " + std::to_string(orders))});
      made.authorizations.push_back(static_cast<int>(authorizations_.size()));
    }
    orders_.push_back(std::move(made));
    const int id = static_cast<int>(orders_.size());
    answered a = show(orders_.back(), id);
    a.status = 201;
    a.fields = "Location: " + base_ + "/order/" + std::to_string(id) + "\r\n";
    return a;
  }

  answered show(order& o, int id) {
    if (o.status == "processing") o.status = "valid";
    if (o.status == "pending") {
      bool all = true;
      for (const int each : o.authorizations)
        all = all && authorizations_.at(static_cast<std::size_t>(each) - 1).status == "valid";
      if (all) o.status = "ready";
    }
    answered a;
    a.body = R"({"status":")" + o.status + R"(","finalize":")" + base_ + "/finalize/" +
             std::to_string(id) + R"(","certificate":")" + base_ + "/certificate/" +
             std::to_string(id) + R"(","authorizations":[)";
    for (std::size_t i = 0; i != o.authorizations.size(); ++i)
      a.body += (i != 0 ? ",\"" : "\"") + base_ + "/authorization/" +
                std::to_string(o.authorizations[i]) + '"';
    a.body += "]}";
    return a;
  }

  answered show(int id) {
    const authorization& z = authorizations_.at(static_cast<std::size_t>(id) - 1);
    answered a;
    a.body = R"({"status":")" + z.status + R"(","identifier":{"type":"dns","value":")" + z.name +
             R"("},"challenges":[)";
    bool first = true;
    for (const char* kind : {"dns-01", "http-01", "tls-alpn-01"}) {
      if (offers_tls_alone && std::string_view(kind) == "http-01") continue;
      a.body += std::string(std::exchange(first, false) ? "" : ",") + R"({"type":")" + kind +
                R"(","token":")" + z.token + R"(","url":")" + base_ + "/challenge/" +
                std::to_string(id) + (std::string_view(kind) == "http-01" ? "/http" : "/tls") + '"';
      if (!z.error.empty() && z.kind == kind) a.body += R"(,"error":)" + z.error;
      a.body += '}';
    }
    a.body += "]}";
    return a;
  }

  std::string authorization_of(const authorization& z) const {
    const std::string jwk = R"({"crv":"P-256","kty":"EC","x":")" +
                            std::string((*jwk_)["x"].text()) + R"(","y":")" +
                            std::string((*jwk_)["y"].text()) + R"("})";
    return z.token + '.' + to_base64url(sha256(jwk));
  }

  task<answered> check(int id, std::string kind) {
    const authorization z = authorizations_.at(static_cast<std::size_t>(id) - 1);
    std::string trouble;
    try {
      bool good = false;
      if (kind == "http-01") {
        good = co_await check_plainly(z);
      } else {
        good = co_await check_by_tls(z);
      }
      if (!good || wrong_proof) trouble = "the answer is wrong";
    } catch (const failure& e) {
      trouble = e.what();
    }
    authorization& now_known = authorizations_.at(static_cast<std::size_t>(id) - 1);
    now_known.status = trouble.empty() ? "valid" : "invalid";
    now_known.kind = kind;
    proofs.push_back(kind + ' ' + z.name);
    if (!trouble.empty())
      now_known.error = R"({"type":"urn:ietf:params:acme:error:unauthorized","detail":)" +
                        json_quoted(trouble) + "}";
    answered a;
    a.body = "{}";
    co_return a;
  }

  task<bool> check_plainly(const authorization& z) {
    http::client web;
    std::string url =
        "http://" + plain_site.to_string() + std::string(acme::challenge_path) + z.token;
    const http::fetched got = co_await web.get(std::move(url));
    co_return got.ok() && got.body == authorization_of(z);
  }

  task<bool> check_by_tls(const authorization& z) {
    const tls::client_options options{.verify = false, .alpn = {"acme-tls/1"}};
    const tls::client_context context(options);
    tcp_stream raw = co_await tcp_connect(tls_site);
    stream s = co_await tls::connect(std::move(raw), z.name, context);
    const auto agreed = tls::session_of(s);
    s.close();
    co_return agreed && agreed->alpn == "acme-tls/1" && agreed->peer == "/CN=" + z.name;
  }

  answered finalize(int id, const std::string& payload) {
    order& o = orders_.at(static_cast<std::size_t>(id) - 1);
    if (o.status != "ready") return problem(403, "orderNotReady", "it is " + o.status);
    const std::string der = from_base64url(json::parse(payload)["csr"].text()).value_or("");
    std::string signed_request = der;
    o.certificate = sign_request(ca_, lies ? other_request() : signed_request, now() - 3600,
                                 now() - 3600 + life, ++issued);
    if (o.certificate.empty()) return problem(400, "badCSR", "no request");
    o.status = "processing";
    answered a;
    a.body = R"({"status":"processing"})";
    return a;
  }
  static std::string other_request() {
    const tls::pem_pair other = tls::signing_request({"other.example"});
    return from_base64url(acme::detail::der_of(other.certificate)).value();
  }

  tls::pem_pair ca_;
  tcp_listener door_;
  std::string base_;
  std::unique_ptr<json> jwk_;
  std::set<std::string> nonces_;
  std::set<std::string> known_keys_;
  std::vector<authorization> authorizations_;
  std::vector<order> orders_;
  int nonce_count_ = 0;
};

}  // namespace heddle::test
