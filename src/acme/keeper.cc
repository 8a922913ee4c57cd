// SPDX-License-Identifier: MIT
// One loop attends to the certificate that is due first, then to the next. Moments are wall time
// in seconds since 1970, because certificates end by wall time.
#include "heddle/acme/keeper.hh"

#include <algorithm>

#include "acme/certificate.hh"
#include "acme/failure_record.hh"
#include "heddle/acme/refusal.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sync/condition.hh"

namespace heddle::acme {

namespace detail {
namespace {

std::int64_t seconds_in(nanoseconds span) noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

std::int64_t now_s() { return seconds_in(runtime::here().io().wall_time()); }

/// A number from 0 to `most`.
std::int64_t drawn(std::int64_t most) {
  if (most <= 0) return 0;
  return static_cast<std::int64_t>(runtime::here().io().random() %
                                   (static_cast<std::uint64_t>(most) + 1));
}

/// A certificate that the keeper has, or wants to have.
struct kept_certificate {
  std::vector<std::string> names;  // sorted
  std::string place;               // the name in the store
  std::optional<tls::pem_pair> pair;
  certificate_facts facts;
  std::int64_t due = 0;         // the next moment to attend to it
  std::int64_t renew_at = 0;    // if there is a certificate
  std::int64_t earliest = 0;    // bound of renew_at: no authority can ask for many renewals
  std::int64_t ask_window = 0;  // the next question for the window
  std::int64_t window_start = 0;
  std::int64_t limited_until = 0;  // the authority asked not to come before
  std::uint32_t failures = 0;
  std::uint32_t failures_saved = 0;  // the number in the store
  std::size_t way = 0;               // index of the challenge to use
  bool unsaved = false;

  [[nodiscard]] bool wanted(std::int64_t now) const {
    return !pair || facts.names != names || now >= std::max(renew_at, earliest);
  }
};

}  // namespace

class keeper_core {
 public:
  keeper_core(authority& issuer, std::shared_ptr<certificate_store> store, keeper_options options)
      : issuer_(issuer), store_(std::move(store)), options_(std::move(options)) {
    if (options_.challenges.empty())
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a keeper needs a way to prove names: set keeper_options::challenges");
  }

  void change(std::vector<std::vector<std::string>> wanted) {
    std::vector<std::pair<std::string, std::vector<std::string>>> checked;
    for (std::vector<std::string>& names : wanted) {
      for (std::string& name : names) name = checked_name(name);
      if (names.empty())
        throw failure(std::make_error_code(std::errc::invalid_argument),
                      "a certificate needs a name");
      std::string place = issuer_.place() + '/' + names.front();
      std::ranges::sort(names);
      names.erase(std::ranges::unique(names).begin(), names.end());
      const auto same = [&](const auto& each) { return each.first == place; };
      if (std::ranges::none_of(checked, same)) checked.emplace_back(place, std::move(names));
    }
    wanted_ = std::move(checked);
    changed_ = true;
    wake_.notify_all();
  }

  task<> run(certificate_user use) {
    for (;;) {
      if (std::exchange(changed_, false)) co_await take_wanted(use);
      const auto next = std::ranges::min_element(all_, {}, &kept_certificate::due);
      const std::int64_t now = now_s();
      if (next != all_.end() && next->due <= now) {
        const bool another = co_await attend(*next);
        co_await record_failures(*next);
        if (another) give(use);
        tell();
        continue;
      }
      const std::int64_t rest =
          next == all_.end() ? seconds_in(options_.look_max) : next->due - now;
      const nanoseconds span = std::min<nanoseconds>(std::chrono::seconds(rest), options_.look_max);
      if (changed_) continue;
      const auto woken = co_await as_expected(with_timeout(wake_.wait(), span));
      if (!woken && woken.error() != std::errc::timed_out) throw failure(woken.error());
    }
  }

 private:
  /// Takes over the list of names; certificates that are still on it stay.
  task<> take_wanted(const certificate_user& use) {
    const auto wanted = wanted_;
    std::vector<kept_certificate> next;
    std::vector<std::string> added;
    for (const auto& [place, names] : wanted) {
      const auto known = std::ranges::find(all_, place, &kept_certificate::place);
      kept_certificate c = known != all_.end() ? std::move(*known) : kept_certificate();
      if (known == all_.end()) added.push_back(place);
      // A person may have mended the cause: a failed order is tried again without the wait.
      if (c.names != names || c.failures != 0) c.due = std::max(now_s(), c.limited_until);
      if (c.names != names) c.failures = 0;
      c.place = place;
      c.names = names;
      next.push_back(std::move(c));
    }
    all_ = std::move(next);
    for (kept_certificate& c : all_) {
      if (c.pair) continue;
      try {
        co_await reload(c);
      } catch (const std::exception& e) {
        // The certificate is ordered again, which replaces the store's text.
        rethrow_cancellation();
        report_failure(c, e.what(), nanoseconds::zero());
      }
    }
    for (kept_certificate& c : all_)
      if (std::ranges::find(added, c.place) != added.end()) co_await recall_failures(c);
    give(use);
    tell();
  }

  /// Goes on after a start with the wait of failed orders. A record that cannot be read counts as
  /// none.
  task<> recall_failures(kept_certificate& c) {
    const auto text = co_await as_expected(store_->load(failures_of(c)));
    if (!text && text.error() == std::errc::operation_canceled) throw failure(text.error());
    const auto record = text && *text ? failure_record_of(**text) : std::nullopt;
    if (!record || record->failures == 0) co_return;
    c.failures_saved = record->failures;
    if (record->names != c.names) co_return;
    // A clock that was set back must not make the wait longer than the longest wait.
    const std::int64_t now = now_s();
    const auto bounded = [&](std::int64_t moment, nanoseconds most) {
      return std::min(moment, now + seconds_in(most));
    };
    c.limited_until = bounded(record->limited_until, issuer_.options().retry_after_max);
    c.due = std::max(bounded(record->next, 2 * options_.retry_max), c.limited_until);
    c.failures = record->failures;
    c.way = record->failures;
    if (c.due > now)
      report_failure(c,
                     "the last " + std::to_string(c.failures) +
                         " orders failed, and the next one waits for its time, which a restart "
                         "does not change",
                     std::chrono::seconds(c.due - now));
  }

  static std::string failures_of(const kept_certificate& c) { return c.place + ".failures"; }

  /// Writes the number of failed orders if it changed. A failure to write changes nothing: the
  /// record is for the next start only.
  task<> record_failures(kept_certificate& c) {
    if (c.failures == c.failures_saved) co_return;
    std::string text = text_of({c.failures, c.due, c.limited_until, c.names});
    const auto done = co_await as_expected(store_->save(failures_of(c), std::move(text)));
    if (!done && done.error() == std::errc::operation_canceled) throw failure(done.error());
    if (done) c.failures_saved = c.failures;
  }

  void give(const certificate_user& use) {
    std::vector<tls::pem_pair> now;
    for (const kept_certificate& c : all_)
      if (c.pair) now.push_back(*c.pair);
    try {
      use(std::move(now));
    } catch (const std::exception& e) {
      report_failure({}, std::string("the certificates cannot be used: ") + e.what(), {});
    }
  }

  static void rethrow_cancellation() {
    try {
      throw;
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) throw;
    } catch (...) {
    }
  }

  /// Takes the store's certificate if it ends later than the one in use. Returns whether it did.
  task<bool> reload(kept_certificate& c) {
    const std::optional<std::string> text = co_await store_->load(c.place);
    if (!text) co_return false;
    const tls::pem_pair pair = split(*text);
    certificate_facts facts = facts_of(pair, store_->place_of(c.place));
    const bool newer = !c.pair || facts.not_after > c.facts.not_after;
    if (!newer || facts.not_after <= now_s()) co_return false;
    adopt(c, pair, std::move(facts));
    report(c, keeper_report::kind::loaded);
    co_return true;
  }

  void adopt(kept_certificate& c, const tls::pem_pair& pair, certificate_facts facts) const {
    const std::int64_t life = facts.not_after - facts.not_before;
    c.pair = pair;
    c.renew_at = facts.not_before + life / 3 * 2;
    c.earliest = 0;
    c.facts = std::move(facts);
    c.failures = 0;
    c.ask_window = 0;
    c.window_start = 0;
    c.due = now_s();
  }

  /// Orders, renews or reloads one certificate if that is due. Returns whether it was replaced.
  task<bool> attend(kept_certificate& c) {
    try {
      if (c.unsaved) co_await save(c);
      if (c.pair && c.facts.names == c.names && now_s() >= c.ask_window) co_await ask_window(c);
      bool another = false;
      if (c.wanted(now_s())) another = co_await renew(c);
      if (c.due <= now_s())
        c.due = std::max(now_s() + 1, std::min(std::max(c.renew_at, c.earliest), c.ask_window));
      co_return another;
    } catch (const refusal& e) {
      put_off(c, e.what(), e.retry_after());
    } catch (const std::exception& e) {
      rethrow_cancellation();
      put_off(c, e.what(), nanoseconds::zero());
    }
    co_return false;
  }

  /// Asks for the renewal window. Without an answer, the certificate is renewed after two thirds of
  /// its life.
  task<> ask_window(kept_certificate& c) {
    c.ask_window = now_s() + seconds_in(options_.renewal_check);
    std::optional<renewal_window> window;
    nanoseconds wait{};
    try {
      window = co_await issuer_.renewal_of(*c.pair);
      if (window) wait = window->ask_again;
    } catch (const refusal& e) {
      wait = e.retry_after();
    } catch (const std::exception&) {
      rethrow_cancellation();
    }
    if (wait > nanoseconds::zero())
      c.ask_window = now_s() + std::max<std::int64_t>(seconds_in(wait), 60);
    if (!window || window->start == c.window_start) co_return;
    c.window_start = window->start;
    // A tenth of the life is kept for attempts, also if the authority suggests a later moment.
    const std::int64_t latest = c.facts.not_after - (c.facts.not_after - c.facts.not_before) / 10;
    c.renew_at = std::min(window->start + drawn(window->end - window->start), latest);
  }

  task<bool> renew(kept_certificate& c) {
    const store_claim claimed = co_await store_->claim(c.place);
    // Another process may have renewed the certificate meanwhile.
    const auto loaded = co_await as_expected(reload(c));
    if (loaded && *loaded && !c.wanted(now_s())) co_return true;
    const bool another = loaded && *loaded;
    if (!claimed) {
      c.due = now_s() + std::max<std::int64_t>(1, seconds_in(options_.claim_retry));
      co_return another;
    }
    const challenge by = options_.challenges[c.way % options_.challenges.size()];
    const std::vector<std::string> names = c.names;
    tls::pem_pair made = co_await issuer_.order(names, by, c.pair);
    certificate_facts facts = facts_of(made);
    adopt(c, made, std::move(facts));
    c.earliest = now_s() + std::min(seconds_in(options_.renewal_check),
                                    (c.facts.not_after - c.facts.not_before) / 2);
    c.unsaved = true;
    report(c, keeper_report::kind::obtained);
    try {
      co_await save(c);
    } catch (const failure& e) {
      // The certificate is used all the same, and saved later.
      put_off(c, e.what(), nanoseconds::zero());
    }
    co_return true;
  }

  task<> save(kept_certificate& c) {
    try {
      std::string text = joined(*c.pair);
      co_await store_->save(c.place, std::move(text));
      c.unsaved = false;
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) throw;
      throw failure(e.code(),
                    std::string("the certificate is used, but not saved, because ") + e.what());
    }
  }

  /// The wait before the next attempt: twice as long each time, and a random part.
  nanoseconds backoff(const kept_certificate& c) const {
    nanoseconds wait = options_.retry_first;
    for (std::uint32_t i = 1; i < c.failures && wait < options_.retry_max; ++i) wait *= 2;
    wait = std::min(wait, options_.retry_max);
    return wait + nanoseconds(drawn(wait.count() / 100 * options_.retry_jitter_percent));
  }

  void put_off(kept_certificate& c, const std::string& trouble, nanoseconds at_least) {
    ++c.failures;
    ++c.way;
    const nanoseconds wait = std::max(backoff(c), at_least);
    c.due = now_s() + std::max<std::int64_t>(1, seconds_in(wait));
    c.limited_until = now_s() + seconds_in(at_least);
    report_failure(c, trouble, wait);
  }

  void report_failure(const kept_certificate& c, std::string trouble, nanoseconds wait) {
    keeper_report r;
    r.what = keeper_report::kind::failed;
    r.names = c.names;
    r.not_after = c.pair ? c.facts.not_after : 0;
    r.trouble = std::move(trouble);
    r.retry_in = wait;
    untold_.push_back(std::move(r));
  }
  void report(const kept_certificate& c, keeper_report::kind what) {
    keeper_report r;
    r.what = what;
    r.names = c.facts.names;
    r.not_after = c.facts.not_after;
    untold_.push_back(std::move(r));
  }
  /// Logs the reports, after the server got the certificates that they are about.
  void tell() {
    for (const keeper_report& r : std::exchange(untold_, {}))
      if (options_.log) options_.log(r);
  }

  authority& issuer_;
  std::shared_ptr<certificate_store> store_;
  const keeper_options options_;
  std::vector<std::pair<std::string, std::vector<std::string>>> wanted_;  // place and names
  std::vector<kept_certificate> all_;
  std::vector<keeper_report> untold_;
  condition wake_;
  bool changed_ = false;
};

}  // namespace detail

keeper::keeper(authority& issuer, std::shared_ptr<certificate_store> store, keeper_options options)
    : core_(std::make_unique<detail::keeper_core>(issuer, std::move(store), std::move(options))) {}
keeper::~keeper() = default;

void keeper::change(std::vector<std::vector<std::string>> certificates) {
  core_->change(std::move(certificates));
}
task<> keeper::run(certificate_user use) { return core_->run(std::move(use)); }

}  // namespace heddle::acme
