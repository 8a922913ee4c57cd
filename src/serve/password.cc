// SPDX-License-Identifier: MIT
// Checks the visitor's credentials: with a password at once, with a hash on a thread of the pool,
// once for each text that turns out to be right.
#include "serve/password.hh"

#include "heddle/http/base64.hh"
#include "heddle/io/blocking.hh"
#include "serve/password_hash.hh"

namespace heddle::serve {
namespace {

constexpr std::string_view scheme = "Basic ";
constexpr std::size_t checks_waiting_max = 64;  // more get 503

/// Compares in constant time, so that the time reveals nothing about the password.
bool same_secret(std::string_view given, std::string_view wanted) noexcept {
  if (wanted.empty()) return false;
  unsigned differences = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences |= static_cast<unsigned>(given[i] ^ wanted[i % wanted.size()]);
  return differences == 0;
}

/// The text after "Basic "; empty if there are no such credentials.
std::string_view credentials_of(const http::request& r) noexcept {
  const std::string_view field = r.header(http::header_id::authorization);
  if (field.size() < scheme.size() ||
      !http::equal_ignoring_case(field.substr(0, scheme.size()), scheme))
    return {};
  return field.substr(scheme.size());
}

http::response refusal() {
  http::response r = http::error_response(401, "this server asks for a name and a password");
  r.header("WWW-Authenticate", "Basic realm=\"heddle\", charset=\"UTF-8\"");
  return r;
}

http::response made_here_too(bus& b, http::response r) {
  b.raise<made_here>(r);
  return r;
}

}  // namespace

password::password(bus& b, std::string_view user_and_password)
    : bus_(b), wanted_(std::make_shared<password_wanted>()) {
  const std::size_t colon = user_and_password.find(':');
  const std::string_view secret = user_and_password.substr(colon + 1);
  if (is_password_hash(secret)) {
    if (!can_hash_passwords())
      throw failure(std::make_error_code(std::errc::not_supported),
                    "--auth has a hash, and this program was built without libcrypt; give the "
                    "password itself");
    if (!knows_password_hash(std::string(secret)))
      throw failure(std::make_error_code(std::errc::not_supported),
                    "--auth: no password would ever match, because libcrypt does not know the kind "
                    "of this hash; heddle password USER makes one");
    wanted_->user = user_and_password.substr(0, colon);
    wanted_->hash = secret;
  } else {
    wanted_->known = http::to_base64(user_and_password);
  }
  b.bind<asked, &password::on_asked>(this, 20);
}

flow password::on_asked(question& q) {
  const std::string_view given = credentials_of(q.request);
  if (same_secret(given, wanted_->known)) return flow::go_on;
  if (wanted_->hash.empty() || given.empty()) return answer_at_once(bus_, q, refusal());
  if (wanted_->waiting == checks_waiting_max)
    return answer_at_once(bus_, q, http::error_response(503, "too many passwords are checked now"));
  q.answer = check(wanted_, bus_, q.request, std::string(given));
  return flow::halt;
}

task<http::response> password::check(std::shared_ptr<password_wanted> wanted, bus& b,
                                     http::request& r, std::string credentials) {
  struct counted {
    std::size_t& n;
    explicit counted(std::size_t& of) : n(of) { ++n; }
    ~counted() { --n; }
  } const waits(wanted->waiting);
  const auto turn = co_await wanted->checking.lock();
  bool right = same_secret(credentials, wanted->known);  // a check before may have set it
  if (!right) {
    const std::string text = http::from_base64(credentials).value_or("");
    const std::size_t colon = text.find(':');
    const bool user = colon != text.npos && same_secret(text.substr(0, colon), wanted->user);
    const std::string secret = colon == text.npos ? "" : text.substr(colon + 1);
    // The hash is checked for another user, too: the time must not tell whether the name is right.
    const auto matches = [&] { return password_matches(secret, wanted->hash); };
    right = co_await blocking(matches) && user;
  }
  if (!right) co_return made_here_too(b, refusal());
  wanted->known = std::move(credentials);
  question again{.request = r, .again = true};
  b.raise<asked>(again);
  co_return co_await std::move(again.answer);
}

}  // namespace heddle::serve
