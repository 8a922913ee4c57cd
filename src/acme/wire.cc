// SPDX-License-Identifier: MIT
// Sending requests, and reading the answers.
#include "acme/wire.hh"

#include <algorithm>
#include <charconv>

#include "heddle/acme/refusal.hh"
#include "heddle/http/date.hh"
#include "heddle/io/address.hh"
#include "heddle/probe/json.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::acme::detail {
namespace {

constexpr std::size_t printable_max = 300;
constexpr std::size_t subproblems_max = 5;
constexpr std::string_view type_prefix = "urn:ietf:params:acme:error:";
constexpr std::string_view jose = "application/jose+json";

struct known_type {
  std::string_view type;
  std::string_view advice;
};

// The errors of RFC 8555 section 6.7 that a user can mend.
constexpr known_type known_types[] = {
    {"caa", "a CAA record of the domain forbids this authority: change the record"},
    {"connection",
     "the authority cannot reach this server: open port 80 (http-01) or 443 (tls-alpn-01) to the "
     "internet, and look at the addresses of the name"},
    {"dns", "look at the A and AAAA records of the name"},
    {"externalAccountRequired",
     "the authority wants an account that it knows: set external_id and external_key"},
    {"incorrectResponse", "the name leads to another server, or a proxy answers in its place"},
    {"invalidContact", "look at the address of e-mail"},
    {"rateLimited", "nothing is to be done but to wait; a test authority has no such limit"},
    {"rejectedIdentifier", "the authority makes no certificates for this name"},
    {"tls", "the authority's TLS connection to port 443 failed: something else answers there"},
    {"unauthorized", "the name leads to another server, or the account may not have this name"},
    {"unsupportedContact", "look at the address of e-mail"},
    {"userActionRequired", "the authority wants something from a person: follow the address in it"},
};

std::int64_t wall_seconds() {
  return std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
}

/// Seconds or a date (RFC 9110 section 10.2.3), as a span from now on.
nanoseconds retry_after_of(std::string_view text, nanoseconds most) {
  if (text.empty()) return nanoseconds::zero();
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc::result_out_of_range) return most;
  if (error != std::errc{} || end != text.data() + text.size()) {
    const std::int64_t now = wall_seconds();
    const auto date = http::parse_date(text, now);
    if (!date) return nanoseconds::zero();
    seconds = *date - now;
  }
  seconds = std::clamp<std::int64_t>(
      seconds, 0, std::chrono::duration_cast<std::chrono::seconds>(most).count());
  return std::chrono::seconds(seconds);
}

http::client_options web_options(const authority_options& o) {
  http::client_options web = o.web;
  web.redirects_max = 0;  // a signed request holds its address
  web.body_bytes_max = o.answer_bytes_max;
  web.cookies = nullptr;
  return web;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, printable_max))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (text.size() > printable_max) out += "...";
  return out;
}

std::string problem_type(const json& problem) {
  const std::string_view type = problem["type"].text();
  return type.starts_with(type_prefix) ? printable(type.substr(type_prefix.size())) : "";
}

std::string problem_text(const json& problem) {
  std::string text = printable(problem["detail"].text());
  if (text.empty()) text = printable(problem["title"].text());
  if (text.empty()) text = "it gives no reason";
  std::size_t shown = 0;
  for (const json& part : problem["subproblems"].items()) {
    if (++shown > subproblems_max) break;
    const std::string_view name = part["identifier"]["value"].text();
    text += "; ";
    if (!name.empty()) text += printable(name) + ": ";
    text += printable(part["detail"].text());
  }
  const std::string type = problem_type(problem);
  if (!type.empty()) text += " (" + type + ')';
  const auto known = std::ranges::find(known_types, type, &known_type::type);
  if (known != std::end(known_types)) (text += "; ") += known->advice;
  return text;
}

wire::wire(const authority_options& o) : options_(o), web_(web_options(o)) {
  const auto at = http::url::parse(o.directory);
  if (!at)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "'" + o.directory + "' is no address of an authority's directory: " +
                      std::string(http::describe(at.error())));
  host_ = at->authority();
  secure_ = at->secure;
  const auto numeric = address::parse(at->host, 1);
  if (!secure_ && !(numeric && numeric->is_loopback()))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "'" + o.directory + "': an authority is asked by https only");
}

/// Checks a URL that the authority gave: it must be as secure as the directory's.
std::string wire::checked(std::string_view url) const {
  const auto at = http::url::parse(url);
  if (!at || at->secure != secure_)
    throw failure(std::make_error_code(std::errc::bad_message),
                  "the authority " + host_ + " names an address that cannot be used: '" +
                      printable(url) + "'");
  return std::string(url);
}

std::string wire::address_of(std::string_view resource) const {
  const std::string_view url = directory_[resource].text();
  if (url.empty())
    throw failure(std::make_error_code(std::errc::bad_message),
                  "the directory '" + options_.directory + "' has no " + std::string(resource) +
                      "; is it the address of an ACME directory?");
  return checked(url);
}

task<> wire::read_directory() {
  if (directory_.what() == json::kind::object) co_return;
  reply got = co_await get(options_.directory, "its directory");
  directory_ = std::move(got.body);
  static_cast<void>(address_of("newNonce"));
}

reply wire::reply_of(const http::fetched& got) const {
  reply made;
  made.status = got.status();
  made.location = got.header("location");
  made.retry_after = retry_after_of(got.header("retry-after"), options_.retry_after_max);
  const std::string_view type = got.header("content-type");
  if (type.starts_with("application/json") || type.starts_with("application/problem+json")) {
    made.body = json::parse(got.body);
  } else {
    made.text = got.body;
  }
  return made;
}

void wire::refuse(const http::fetched& got, const std::string& about) const {
  std::string text = "the authority " + host_ + " refuses " + about + ": ";
  std::string type;
  std::errc code = std::errc::operation_not_permitted;
  try {
    const json problem = json::parse(got.body);
    type = problem_type(problem);
    text += problem_text(problem);
  } catch (const failure&) {
    text += "status " + std::to_string(got.status());
    if (got.status() / 100 == 3) text += "; is it the address of an ACME directory?";
  }
  if (got.status() / 100 == 5 || got.status() == 429)
    code = std::errc::resource_unavailable_try_again;
  throw refusal(code, text, type,
                retry_after_of(got.header("retry-after"), options_.retry_after_max));
}

task<reply> wire::get(std::string url, std::string about) {
  const http::fetched got = co_await web_.get(std::move(url));
  if (!got.ok()) refuse(got, about);
  co_return reply_of(got);
}

task<std::string> wire::take_nonce() {
  if (!nonce_.empty()) co_return std::exchange(nonce_, {});
  std::string url = address_of("newNonce");
  const http::fetched got = co_await web_.head(std::move(url));
  if (!got.ok()) refuse(got, "a nonce");
  std::string nonce(got.header("replay-nonce"));
  if (nonce.empty() || !from_base64url(nonce))
    throw failure(std::make_error_code(std::errc::bad_message),
                  "the authority " + host_ + " gives no nonce; is its directory right?");
  co_return nonce;
}

task<http::fetched> wire::send_signed(std::string url, std::string payload) {
  const std::string nonce = co_await take_nonce();
  std::string header = R"({"alg":"ES256",)";
  header += account.empty() ? R"("jwk":)" + key->jwk() : R"("kid":)" + json_quoted(account);
  header += R"(,"nonce":)" + json_quoted(nonce) + R"(,"url":)" + json_quoted(url) + '}';
  http::outgoing asked("POST", std::move(url));
  asked.body(jose, signed_message(*key, header, payload));
  http::fetched got = co_await web_.send(std::move(asked));
  nonce_ = got.header("replay-nonce");
  if (!from_base64url(nonce_)) nonce_.clear();
  co_return got;
}

task<reply> wire::post(std::string url, std::string payload, std::string about) {
  url = checked(url);
  for (std::uint32_t bad_nonces = 0;;) {
    const http::fetched got = co_await send_signed(url, payload);
    if (got.ok()) co_return reply_of(got);
    const bool bad_nonce = got.body.find(":badNonce\"") != got.body.npos;
    if (!bad_nonce || ++bad_nonces > options_.bad_nonces_max) refuse(got, about);
  }
}

}  // namespace heddle::acme::detail
