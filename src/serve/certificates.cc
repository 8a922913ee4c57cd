// SPDX-License-Identifier: MIT
// The settings as options of room acme, and its reports as lines for people.
#include "serve/certificates.hh"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "heddle/core/sleep.hh"
#include "heddle/io/detail/files_here.hh"
#include "serve/tls.hh"
#include "serve/values.hh"
#include "serve/writable_folder.hh"

#if HEDDLE_WITH_TLS
#include "heddle/acme/keeper.hh"
#include "heddle/tls/stream.hh"
#endif

namespace heddle::serve {

#if HEDDLE_WITH_TLS

namespace {

using names_list = std::vector<std::vector<std::string>>;

/// One certificate for each name, so that a name that cannot be proved delays no other.
names_list names_for(const serve_options& o) {
  names_list all;
  const auto add = [&](const std::string& name) {
    std::string checked = acme::checked_name(name);
    if (std::ranges::find(all, std::vector{checked}) == all.end())
      all.push_back({std::move(checked)});
  };
  for (const std::string& name : o.acme.names) add(name);
  for (const auto& [name, folder] : o.sites)
    if (!name.starts_with('*')) add(name);
  if (all.empty())
    throw bad_setting(
        "acme: which name does this server have? write --acme-name www.example.org, or give "
        "folders to names with --site");
  return all;
}

/// The folder of the XDG base directory specification, or the system's one for services.
std::string store_folder(const serve_options& o) {
  if (!o.acme.store.empty()) return o.acme.store;
  const auto variable = [&o](const char* name) -> std::string {
    const auto value = o.around->variable(name);
    return value && value->starts_with('/') ? std::string(*value) : "";
  };
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
    return state + "/heddle";
  if (const std::string home = variable("HOME"); !home.empty() && ::geteuid() != 0)
    return home + "/.local/state/heddle";
  return "/var/lib/heddle";
}

acme::authority_options authority_for(const serve_options& o) {
  acme::authority_options a;
  if (!o.acme.directory.empty()) a.directory = o.acme.directory;
  a.contacts = {o.acme.email};
  a.agree_to_terms = o.acme.agree;
  const std::size_t blank = o.acme.account.find(' ');
  if (blank != std::string::npos) {
    a.external_id = o.acme.account.substr(0, blank);
    a.external_key = o.acme.account.substr(blank + 1);
  }
  if (!o.acme.roots.empty()) {
    tls::client_options trusting;
    trusting.authorities = o.acme.roots;
    const tls::client_context trust(std::move(trusting));
    a.web.secure = [trust](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), trust);
    };
  }
  return a;
}

std::string day_of(std::int64_t seconds) {
  const std::chrono::sys_seconds at{std::chrono::seconds(seconds)};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(at));
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  return text;
}

std::string span_text(nanoseconds span) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(span).count();
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

void print_report(surroundings& around, const acme::keeper_report& r) {
  std::string names;
  for (const std::string& name : r.names) (names += names.empty() ? "" : ", ") += name;
  if (r.what != acme::keeper_report::kind::failed) {
    const char* const how = r.what == acme::keeper_report::kind::obtained ? "new" : "stored";
    around.print("Certificate for " + names + " until " + day_of(r.not_after) + " (" + how +
                 ").\n");
    return;
  }
  std::string next = "the next attempt is in " + span_text(r.retry_in);
  if (r.not_after != 0) next += "; the old certificate is valid until " + day_of(r.not_after);
  around.print_error("acme: " + r.trouble, next);
}

acme::keeper_options keeper_for(const serve_options& o) {
  acme::keeper_options k;
  k.challenges = {acme::challenge::tls_alpn_01};
  if (o.redirect_http >= 0) k.challenges.insert(k.challenges.begin(), acme::challenge::http_01);
  k.log = [around = o.around](const acme::keeper_report& r) { print_report(*around, r); };
  return k;
}

}  // namespace

struct certificates::part {
  explicit part(const serve_options& o)
      : started(o.acme),
        plain(o.redirect_http >= 0),
        answers(std::make_shared<acme::challenge_answers>()),
        store(std::make_shared<acme::directory_store>(store_folder(o))),
        issuer(authority_for(o), store, answers),
        keeper(issuer, store, keeper_for(o)) {
    keeper.change(names_for(o));
  }

  acme_settings started;
  bool plain;
  std::shared_ptr<acme::challenge_answers> answers;
  std::shared_ptr<acme::certificate_store> store;
  acme::authority issuer;
  acme::keeper keeper;
};

certificates::certificates(const serve_options& o) {
  if (!o.acme.email.empty()) part_ = std::make_unique<part>(o);
}

std::shared_ptr<tls::challenge_table> certificates::challenges() const {
  return part_ ? part_->answers->over_tls() : nullptr;
}

std::optional<http::response> certificates::answer(const http::request_head& head) const {
  if (!part_) return std::nullopt;
  return part_->answers->answer(head);
}

task<> certificates::run(secure_door& door) {
  if (!part_) co_return;
  acme::certificate_user use = [&door](std::vector<tls::pem_pair> now) {
    door.use(std::move(now));
  };
  co_await part_->keeper.run(std::move(use));
}

void certificates::check(const serve_options& next) const {
  acme_settings asked = next.acme;
  if (part_) asked.names = part_->started.names;
  if (asked != (part_ ? part_->started : acme_settings()))
    throw bad_setting(
        "acme: only the names can change while the server runs; start the server again");
  if (part_) static_cast<void>(names_for(next));
}

void certificates::check_store(const serve_options& o) {
  if (o.acme.email.empty()) return;
  // Missing folders are made when there is a certificate: the nearest one that exists decides.
  std::string folder = store_folder(o);
  while (folder != "/" && folder != "." &&
         heddle::detail::files_here().access(AT_FDCWD, folder.c_str(), F_OK) != 0)
    folder = folder_of(folder);
  if (const int error = folder_trouble(folder); error != 0)
    throw failure({error, std::generic_category()},
                  "acme-store: certificates cannot be kept in '" + store_folder(o) +
                      "', because this user cannot write to '" + folder + "'");
}

void certificates::change(const serve_options& next) {
  if (part_) part_->keeper.change(names_for(next));
}

#else

struct certificates::part {};

certificates::certificates(const serve_options& o) {
  if (!o.acme.email.empty())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--acme needs a heddle with TLS: install OpenSSL 3 and build it again");
}
std::shared_ptr<tls::challenge_table> certificates::challenges() const { return nullptr; }
std::optional<http::response> certificates::answer(const http::request_head&) const {
  return std::nullopt;
}
task<> certificates::run(secure_door&) { co_return; }
void certificates::check(const serve_options&) const {}
void certificates::check_store(const serve_options&) {}
void certificates::change(const serve_options&) {}

#endif

certificates::~certificates() = default;

}  // namespace heddle::serve
