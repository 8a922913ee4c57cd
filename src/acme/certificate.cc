// SPDX-License-Identifier: MIT
// Facts by OpenSSL, and the two texts that are stored.
#include "acme/certificate.hh"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "acme/handles.hh"
#include "acme/keys.hh"
#include "heddle/base/error.hh"

namespace heddle::acme::detail {
namespace {

using certificate_handle = std::unique_ptr<X509, freed_by<&X509_free>>;
using time_handle = std::unique_ptr<ASN1_TIME, freed_by<&ASN1_STRING_free>>;

failure not_usable(const char* what) {
  ERR_clear_error();
  return {std::make_error_code(std::errc::bad_message), what};
}

bio_handle reading(std::string_view text) {
  bio_handle bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

std::int64_t seconds_of(const ASN1_TIME* at) {
  const time_handle epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (!epoch || ASN1_TIME_diff(&days, &seconds, epoch.get(), at) != 1)
    throw not_usable("the dates of a certificate cannot be read");
  return std::int64_t{days} * 86400 + seconds;
}

std::string_view bytes_in(const ASN1_STRING* s) noexcept {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
          static_cast<std::size_t>(ASN1_STRING_length(s))};
}

std::string renewal_id_of(X509* certificate) {
  const ASN1_OCTET_STRING* const key = X509_get0_authority_key_id(certificate);
  if (key == nullptr) return {};
  // A positive number whose first bit is set begins with a zero byte in DER.
  std::string serial(bytes_in(X509_get0_serialNumber(certificate)));
  if (!serial.empty() && (static_cast<unsigned char>(serial.front()) & 0x80) != 0)
    serial.insert(serial.begin(), '\0');
  return to_base64url(bytes_in(key)) + '.' + to_base64url(serial);
}

int take_number(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (std::size_t i = at; i != at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9')
      throw failure(std::make_error_code(std::errc::bad_message),
                    "'" + std::string(text) + "' is no moment of RFC 3339");
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

}  // namespace

certificate_facts facts_of(const tls::pem_pair& pair, const std::string& where) {
  tls::check_chain(pair.certificate, where);
  ERR_clear_error();
  const certificate_handle leaf(
      PEM_read_bio_X509(reading(pair.certificate).get(), nullptr, nullptr, nullptr));
  if (!leaf) throw not_usable("the text holds no certificate");
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const key_handle key(
      PEM_read_bio_PrivateKey(reading(pair.key).get(), nullptr, no_password, nullptr));
  if (!key) throw not_usable("the text holds no key");
  if (X509_check_private_key(leaf.get(), key.get()) != 1)
    throw not_usable("the certificate is for another key");
  certificate_facts facts;
  facts.names = tls::names_of(pair.certificate);
  facts.not_before = seconds_of(X509_get0_notBefore(leaf.get()));
  facts.not_after = seconds_of(X509_get0_notAfter(leaf.get()));
  facts.renewal_id = renewal_id_of(leaf.get());
  return facts;
}

std::int64_t moment_of(std::string_view text) {
  using namespace std::chrono;
  const auto wrong = [&]() {
    return failure(std::make_error_code(std::errc::bad_message),
                   "'" + std::string(text) + "' is no moment of RFC 3339");
  };
  const int hour = take_number(text, 11, 2);
  const int minute = take_number(text, 14, 2);
  const int second = take_number(text, 17, 2);
  const year_month_day day{year(take_number(text, 0, 4)),
                           month(static_cast<unsigned>(take_number(text, 5, 2))),
                           std::chrono::day(static_cast<unsigned>(take_number(text, 8, 2)))};
  if (!day.ok() || text[4] != '-' || text[7] != '-' || (text[10] | 0x20) != 't' ||
      text[13] != ':' || text[16] != ':' || hour > 23 || minute > 59 || second > 60)
    throw wrong();
  std::size_t at = 19;
  if (at < text.size() && text[at] == '.') do
      ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9');
  std::int64_t shift = 0;
  if (at + 1 == text.size() && (text[at] | 0x20) == 'z') {
    shift = 0;
  } else if (at + 6 == text.size() && (text[at] == '+' || text[at] == '-') && text[at + 3] == ':') {
    shift = take_number(text, at + 1, 2) * 3600 + take_number(text, at + 4, 2) * 60;
    if (text[at] == '-') shift = -shift;
  } else {
    throw wrong();
  }
  return sys_days(day).time_since_epoch().count() * std::int64_t{86400} + hour * 3600 +
         minute * 60 + second - shift;
}

std::string joined(const tls::pem_pair& pair) {
  std::string text = pair.key;
  if (!text.ends_with('\n')) text += '\n';
  return text + pair.certificate;
}

/// Readers of PEM skip what they do not look for, so that both may get the whole text.
tls::pem_pair split(const std::string& text) { return {text, text}; }

}  // namespace heddle::acme::detail
