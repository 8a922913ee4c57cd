// SPDX-License-Identifier: MIT
// The account, and an order from its names to its certificate (RFC 8555 sections 7.3 to 7.5).
#include "heddle/acme/authority.hh"

#include <algorithm>

#include "acme/certificate.hh"
#include "acme/wire.hh"
#include "heddle/acme/refusal.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/probe/json.hh"
#include "heddle/sync/mutex.hh"

namespace heddle::acme {

namespace detail {
namespace {

constexpr std::string_view account_name = "/account";
constexpr std::size_t place_bytes_max = 120;

failure broken(const std::string& what) {
  return {std::make_error_code(std::errc::bad_message), what};
}

/// The folder for "https://ca.example.org/a/directory" is "ca.example.org-a-directory".
std::string place_of(std::string_view directory) {
  std::string place(directory.substr(std::min(directory.size(), directory.find("//") + 2)));
  for (char& c : place) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.') c = '-';
  }
  for (std::size_t at; (at = place.find("..")) != place.npos;) place.erase(at, 1);
  place.resize(std::min(place.size(), place_bytes_max));
  return place;
}

std::string_view type_of(challenge by) noexcept {
  return by == challenge::http_01 ? "http-01" : "tls-alpn-01";
}

std::string in_a_row(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) (text += text.empty() ? "" : ", ") += name;
  return text;
}

/// The answer to one challenge, which is withdrawn at the end.
class promised_answer {
 public:
  promised_answer(std::shared_ptr<challenge_answers> in, challenge by, std::string name,
                  std::string token, const std::string& authorization)
      : in_(std::move(in)), by_(by), name_(std::move(name)), token_(std::move(token)) {
    if (by_ == challenge::http_01) {
      in_->set(token_, authorization);
    } else {
      in_->over_tls()->set(name_, tls::challenge_certificate(name_, sha256(authorization)));
    }
  }
  promised_answer(const promised_answer&) = delete;
  ~promised_answer() {
    if (by_ == challenge::http_01) {
      in_->drop(token_);
    } else {
      in_->over_tls()->drop(name_);
    }
  }

 private:
  std::shared_ptr<challenge_answers> in_;
  challenge by_;
  std::string name_;
  std::string token_;
};

}  // namespace

class authority_core {
 public:
  authority_core(authority_options o, std::shared_ptr<certificate_store> store,
                 std::shared_ptr<challenge_answers> answers)
      : options_(std::move(o)),
        store_(std::move(store)),
        answers_(std::move(answers)),
        wire_(options_),
        place_(place_of(options_.directory)) {}

  task<tls::pem_pair> order(std::vector<std::string> names, challenge by, std::string replaces) {
    const mutex::hold alone = co_await turn_.lock();
    names = checked_names(std::move(names));
    try {
      co_return co_await with_timeout(order_now(names, by, std::move(replaces)),
                                      options_.order_timeout);
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::timed_out || dynamic_cast<const refusal*>(&e) != nullptr) throw;
      throw failure(e.code(), "the order of " + in_a_row(names) + " at " + wire_.host() +
                                  " did not end within order_timeout, while " + stage_);
    }
  }

  task<std::optional<renewal_window>> renewal(std::string id) {
    const mutex::hold alone = co_await turn_.lock();
    co_await wire_.read_directory();
    if (id.empty() || wire_.directory()["renewalInfo"].text().empty()) co_return std::nullopt;
    std::string url = wire_.address_of("renewalInfo");
    if (!url.ends_with('/')) url += '/';
    const reply got = co_await wire_.get(url + id, "the renewal information of a certificate");
    const json& window = got.body["suggestedWindow"];
    renewal_window found;
    found.start = moment_of(window["start"].text());
    found.end = moment_of(window["end"].text());
    found.ask_again = got.retry_after;
    if (found.end < found.start)
      throw broken("the authority " + wire_.host() + " names a window that ends before it starts");
    co_return found;
  }

  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] const authority_options& options() const noexcept { return options_; }

 private:
  std::vector<std::string> checked_names(std::vector<std::string> names) const {
    for (std::string& name : names) name = checked_name(name);
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    if (names.empty() || names.size() > options_.names_max)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a certificate has 1 to " + std::to_string(options_.names_max) +
                        " names, and " + std::to_string(names.size()) + " are given");
    return names;
  }

  task<> load_key() {
    if (wire_.key) co_return;
    const std::string name = place_ + std::string(account_name);
    const std::optional<std::string> stored = co_await store_->load(name);
    account_key key = stored ? account_key::parse(*stored) : account_key::make();
    if (!stored) co_await store_->save(name, key.pem());
    wire_.key = std::move(key);
  }

  std::string account_request() const {
    std::string text = R"({"termsOfServiceAgreed":true,"contact":[)";
    for (std::size_t i = 0; i != options_.contacts.size(); ++i)
      text += (i != 0 ? "," : "") + json_quoted("mailto:" + options_.contacts[i]);
    text += ']';
    if (!options_.external_id.empty()) {
      const auto key = from_base64url(options_.external_key);
      if (!key || key->empty())
        throw failure(std::make_error_code(std::errc::invalid_argument),
                      "the key of an external account is base64 for URLs, without padding");
      text +=
          R"(,"externalAccountBinding":)" +
          account_binding(options_.external_id, *key, wire_.address_of("newAccount"), *wire_.key);
    }
    return text + '}';
  }

  /// Makes the account, or finds the one that the key has.
  task<> sign_in() {
    stage_ = "signing in";
    co_await wire_.read_directory();
    if (!wire_.account.empty()) co_return;
    const json& meta = wire_.directory()["meta"];
    const std::string_view terms = meta["termsOfService"].text();
    if (!terms.empty() && !options_.agree_to_terms)
      throw failure(std::make_error_code(std::errc::permission_denied),
                    "the authority " + wire_.host() +
                        " asks every user to agree to its terms of service; read " +
                        printable(terms) + " and then agree (agree_to_terms, --acme-agree)");
    if (meta["externalAccountRequired"].truth() && options_.external_id.empty())
      throw failure(std::make_error_code(std::errc::permission_denied),
                    "the authority " + wire_.host() +
                        " wants an account that it knows: set external_id and external_key");
    co_await load_key();
    std::string url = wire_.address_of("newAccount");
    std::string payload = account_request();
    const reply got = co_await wire_.post(std::move(url), std::move(payload), "an account");
    const std::string_view status = got.body["status"].text();
    if (!status.empty() && status != "valid")
      throw failure(std::make_error_code(std::errc::permission_denied),
                    "the account at " + wire_.host() + " is " + printable(status) + "; remove '" +
                        place_ + std::string(account_name) +
                        "' from the store to make another one");
    if (got.location.empty()) throw broken("the authority names no address of the account");
    wire_.account = got.location;
  }

  task<reply> begin_order(const std::vector<std::string>& names, const std::string& replaces) {
    stage_ = "beginning it";
    std::string payload = R"({"identifiers":[)";
    for (std::size_t i = 0; i != names.size(); ++i)
      payload += (i != 0 ? "," : "") + (R"({"type":"dns","value":)" + json_quoted(names[i]) + '}');
    payload += ']';
    if (!replaces.empty()) payload += R"(,"replaces":)" + json_quoted(replaces);
    payload += '}';
    std::string url = wire_.address_of("newOrder");
    std::string about = "the order of " + in_a_row(names);
    co_return co_await wire_.post(std::move(url), std::move(payload), std::move(about));
  }

  /// Asks until the object is in none of these states.
  task<reply> settled(std::string url, std::vector<std::string> not_yet, std::string about) {
    nanoseconds pause = options_.poll_first;
    for (;;) {
      reply got = co_await wire_.post(url, "", about);
      if (std::ranges::find(not_yet, got.body["status"].text()) == not_yet.end())
        co_return std::move(got);
      const nanoseconds asked = std::min(got.retry_after, options_.poll_max);
      co_await sleep_for(std::max(pause, asked));
      pause = std::min(add_saturated(pause, pause), options_.poll_max);
    }
  }

  [[noreturn]] void report_failed_proof(const json& authorization, challenge by,
                                        const std::string& name) const {
    std::string text = "the authority " + wire_.host() + " could not check " + name + " by " +
                       std::string(type_of(by)) + ": ";
    std::string type;
    for (const json& each : authorization["challenges"].items()) {
      if (each["error"].what() != json::kind::object) continue;
      type = problem_type(each["error"]);
      text += problem_text(each["error"]);
      break;
    }
    if (text.ends_with(": ")) text += "it gives no reason";
    throw refusal(std::errc::permission_denied, text, type, nanoseconds::zero());
  }

  /// Proves one name.
  task<> prove(std::string url, challenge by) {
    const reply got = co_await wire_.post(url, "", "an authorization");
    if (got.body["status"].text() == "valid") co_return;  // an earlier order proved it
    const std::string name = printable(got.body["identifier"]["value"].text());
    stage_ = "proving " + name + " by " + std::string(type_of(by));
    const json* chosen = nullptr;
    std::string offered;
    for (const json& each : got.body["challenges"].items()) {
      (offered += offered.empty() ? "" : ", ") += printable(each["type"].text());
      if (each["type"].text() == type_of(by)) chosen = &each;
    }
    if (got.body["status"].text() != "pending") report_failed_proof(got.body, by, name);
    if (chosen == nullptr)
      throw failure(std::make_error_code(std::errc::not_supported),
                    "the authority " + wire_.host() + " does not check " + name + " by " +
                        std::string(type_of(by)) + "; it offers " + offered);
    const std::string token((*chosen)["token"].text());
    if (token.empty() || token.size() > 1000 || !from_base64url(token))
      throw broken("the authority " + wire_.host() + " gives a token that cannot be used");
    const std::string authorization = token + '.' + wire_.key->thumbprint();
    const promised_answer kept(answers_, by, name, token, authorization);
    std::string challenge_url((*chosen)["url"].text());
    const std::string about = "the check of " + name;
    static_cast<void>(co_await wire_.post(std::move(challenge_url), "{}", about));
    std::vector<std::string> not_checked{"pending", "processing"};
    const reply end = co_await settled(std::move(url), std::move(not_checked), about);
    if (end.body["status"].text() != "valid") report_failed_proof(end.body, by, name);
  }

  task<tls::pem_pair> order_now(const std::vector<std::string>& names, challenge by,
                                std::string replaces) {
    co_await sign_in();
    reply begun;
    bool replaced = false;
    try {
      begun = co_await begin_order(names, replaces);
    } catch (const refusal& e) {
      // The certificate was replaced before, or is of another account.
      replaced =
          !replaces.empty() && e.retry_after() == nanoseconds::zero() && e.type() != "rateLimited";
      if (!replaced) throw;
    }
    if (replaced) {
      const std::string nothing;
      begun = co_await begin_order(names, nothing);
    }
    const std::string url = begun.location;
    if (url.empty()) throw broken("the authority " + wire_.host() + " names no order");
    for (const json& each : begun.body["authorizations"].items()) {
      std::string authorization(each.text());
      co_await prove(std::move(authorization), by);
    }
    const std::string about = "the order of " + in_a_row(names);
    stage_ = "waiting until it is ready";
    std::vector<std::string> not_ready{"pending", "processing"};
    const reply ready = co_await settled(url, std::move(not_ready), about);
    if (ready.body["status"].text() != "ready") report_failed_order(ready.body, about);
    stage_ = "waiting for the certificate";
    const tls::pem_pair request = tls::signing_request(names);
    std::string finalize(ready.body["finalize"].text());
    std::string payload = R"({"csr":")" + der_of(request.certificate) + R"("})";
    static_cast<void>(co_await wire_.post(std::move(finalize), std::move(payload), about));
    std::vector<std::string> not_done{"pending", "processing", "ready"};
    const reply done = co_await settled(url, std::move(not_done), about);
    if (done.body["status"].text() != "valid") report_failed_order(done.body, about);
    std::string certificate(done.body["certificate"].text());
    const reply chain = co_await wire_.post(std::move(certificate), "", "the certificate");
    tls::pem_pair made{chain.text, request.key};
    check_made(made, names);
    co_return made;
  }

  [[noreturn]] void report_failed_order(const json& order, const std::string& about) const {
    const json& problem = order["error"];
    throw refusal(std::errc::permission_denied,
                  "the authority " + wire_.host() + " ended " + about + " as '" +
                      printable(order["status"].text()) + "': " + problem_text(problem),
                  problem_type(problem), nanoseconds::zero());
  }

  void check_made(const tls::pem_pair& made, const std::vector<std::string>& names) const {
    const certificate_facts facts =
        facts_of(made, "the certificate that " + wire_.host() + " sent");
    for (const std::string& name : names)
      if (!std::ranges::binary_search(facts.names, name))
        throw broken("the authority " + wire_.host() + " made a certificate that is not for " +
                     name);
  }

  const authority_options options_;
  std::shared_ptr<certificate_store> store_;
  std::shared_ptr<challenge_answers> answers_;
  wire wire_;
  std::string place_;
  std::string stage_;
  mutex turn_;
};

}  // namespace detail

std::string checked_name(std::string_view name) {
  const auto wrong = [&](const char* why) {
    return failure(std::make_error_code(std::errc::invalid_argument),
                   "no certificate can be ordered for '" + std::string(name) + "': " + why);
  };
  std::string made(name);
  if (made.ends_with('.')) made.pop_back();
  if (made.starts_with("*.")) throw wrong("a wildcard would need a proof by DNS, name each host");
  if (made.empty() || made.size() > 253) throw wrong("it is no name of a host");
  bool letters = false;
  std::size_t label = 0;
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool letter = (c >= 'a' && c <= 'z') || c == '-';
    letters = letters || letter;
    label = c == '.' ? 0 : label + 1;
    if (!letter && (c < '0' || c > '9') && c != '.') throw wrong("it is no name of a host");
    if (label > 63) throw wrong("it is no name of a host");
  }
  if (made.front() == '.' || made.find("..") != made.npos) throw wrong("it is no name of a host");
  if (!letters) throw wrong("it is an address, and a name is needed");
  return made;
}

authority::authority(authority_options options, std::shared_ptr<certificate_store> store,
                     std::shared_ptr<challenge_answers> answers)
    : core_(std::make_unique<detail::authority_core>(std::move(options), std::move(store),
                                                     std::move(answers))) {}
authority::~authority() = default;

task<tls::pem_pair> authority::order(std::vector<std::string> names, challenge by,
                                     std::optional<tls::pem_pair> replaces) {
  std::string id = replaces ? detail::facts_of(*replaces).renewal_id : std::string();
  return core_->order(std::move(names), by, std::move(id));
}

task<std::optional<renewal_window>> authority::renewal_of_pair(tls::pem_pair certificate) {
  return core_->renewal(detail::facts_of(certificate).renewal_id);
}

const std::string& authority::place() const noexcept { return core_->place(); }
const authority_options& authority::options() const noexcept { return core_->options(); }

}  // namespace heddle::acme
