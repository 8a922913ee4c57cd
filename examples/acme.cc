// SPDX-License-Identifier: MIT
// An https server that orders its own certificate and renews it: acme NAME EMAIL FOLDER.
// NAME must lead to port 443 of this machine. With EMAIL you agree to the terms of Let's Encrypt.
// Needs: room acme
#include <cstdio>

#include <heddle/acme/keeper.hh>
#include <heddle/heddle.hh>
#include <heddle/net/provider.hh>
#include <heddle/tls/stream.hh>
#include <heddle/web/server.hh>

using namespace heddle;

task<http::response> greet(http::request&) { co_return http::response(200).text("hello\n"); }

void print(const acme::keeper_report& r) {
  std::printf("%s: %s\n", r.names.empty() ? "all" : r.names.front().c_str(),
              r.trouble.empty() ? "there is a certificate" : r.trouble.c_str());
}

task<> program(std::string name, std::string email, std::string folder) {
  auto answers = std::make_shared<acme::challenge_answers>();
  auto store = std::make_shared<acme::directory_store>(folder);
  const net::provider net = net::from_environment();
  acme::authority issuer(
      {.contacts = {email}, .agree_to_terms = true, .web = {.tcp = net::source_of(net)}}, store,
      answers);
  acme::keeper certificates(issuer, store, {.log = print});
  certificates.change({{name}});
  tls::server_context site({.alpn = {"h2", "http/1.1"}, .challenges = answers->over_tls()});
  auto use = [&site](std::vector<tls::pem_pair> now) { site.use(std::move(now)); };
  auto [door, at] = net.listen(address::any(443));
  co_await any(http::serve_until_signal(tls::listen(std::move(door), site), greet),
               certificates.run(use));
}

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("usage: acme NAME EMAIL FOLDER\n", stderr), 2;
  runtime rt;
  rt.run(program(argv[1], argv[2], argv[3]));
}
