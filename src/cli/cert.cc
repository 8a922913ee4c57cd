// SPDX-License-Identifier: MIT
// heddle cert [NAME]...: a certificate for development, signed by an authority of this user's own,
// which is made at the first use. Each file is written beside its place and then renamed, so that
// none is ever half written; keys are readable by their owner only.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/verbs.hh"

#if HEDDLE_WITH_TLS

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "heddle/base/error.hh"
#include "heddle/tls/authority.hh"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

struct cert_options {
  std::vector<std::string> names;
  std::string out = ".";
  std::string authority;
  int days = 397;
  bool client = false;
};

[[noreturn]] void refuse_file(const std::string& what) {
  throw failure(std::error_code(errno, std::generic_category()), what);
}

struct owned_fd {
  int number;
  ~owned_fd() {
    if (number >= 0) ::close(number);
  }
};

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno != EINTR) refuse_file("cannot write '" + path + "'");
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

/// Writes the whole file or nothing, also when the power fails.
void write_safely(const fs::path& place, std::string_view text, mode_t mode) {
  const std::string beside = place.string() + "." + std::to_string(::getpid()) + ".new";
  try {
    const owned_fd file{
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)};
    if (file.number < 0) refuse_file("cannot write '" + place.string() + "'");
    write_all(file.number, text, place.string());
    if (::fsync(file.number) != 0 || ::rename(beside.c_str(), place.c_str()) != 0)
      refuse_file("cannot write '" + place.string() + "'");
  } catch (...) {
    if (errno != EEXIST) ::unlink(beside.c_str());
    throw;
  }
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  const owned_fd in{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (in.number >= 0) static_cast<void>(::fsync(in.number));
}

std::string read_text(const fs::path& from) {
  std::ifstream in(from, std::ios::binary);
  if (!in) refuse_file("cannot read '" + from.string() + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

fs::path authority_folder(const cert_options& o) {
  if (!o.authority.empty()) return o.authority;
  if (const char* const data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
    return fs::path(data) / "heddle";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0)
    return fs::path(home) / ".local/share/heddle";
  throw failure(std::make_error_code(std::errc::no_such_file_or_directory),
                "there is no home folder for the authority; name one with --authority DIR");
}

/// Files are made in the order key, certificate; so if the certificate is there, the pair is whole.
tls::pem_pair authority_in(const fs::path& folder, bool& made) {
  const fs::path certificate = folder / "authority.pem";
  const fs::path key = folder / "authority.key";
  made = !fs::exists(certificate);
  if (!made) return {read_text(certificate), read_text(key)};
  fs::create_directories(folder);
  char host[256] = "this machine";
  static_cast<void>(::gethostname(host, sizeof host - 1));
  const tls::pem_pair pair = tls::make_authority("Heddle development on " + std::string(host));
  write_safely(key, pair.key, 0600);
  write_safely(certificate, pair.certificate, 0644);
  return pair;
}

std::string file_name_of(const std::string& name) {
  return name.starts_with("*.") ? "wildcard." + name.substr(2) : name;
}

std::string day_of(std::chrono::sys_seconds at) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(at));
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", int(day.year()), unsigned(day.month()),
                unsigned(day.day()));
  return text;
}

int make_certificate(const cert_options& o) {
  tls::certificate_request asked;
  asked.names = o.names;
  if (asked.names.empty()) asked.names = {"localhost", "127.0.0.1", "::1"};
  asked.life = std::chrono::days(o.days);
  asked.for_client = o.client;
  try {
    const fs::path folder = authority_folder(o);
    bool made = false;
    const tls::pem_pair authority = authority_in(folder, made);
    const tls::pem_pair pair = tls::issue(authority, asked);
    const fs::path base = (fs::path(o.out) / file_name_of(asked.names.front())).lexically_normal();
    const std::string certificate = base.string() + ".pem";
    const std::string key = base.string() + ".key";
    write_safely(key, pair.key, 0600);
    write_safely(certificate, pair.certificate, 0644);
    std::string names;
    for (const std::string& name : asked.names) names += (names.empty() ? "" : ", ") + name;
    std::printf("authority    %s%s\n", (folder / "authority.pem").c_str(), made ? "  (new)" : "");
    std::printf("certificate  %s  %s, until %s\n", certificate.c_str(), names.c_str(),
                day_of(tls::expiry_of(pair.certificate)).c_str());
    std::printf("key          %s\n", key.c_str());
    std::fprintf(
        stderr, "\n%s",
        o.client ? "" : ("  heddle serve --tls " + certificate + " " + key + "\n").c_str());
    std::fprintf(stderr,
                 "  Browsers and curl believe it once they know the authority:\n"
                 "  curl --cacert %s https://localhost:8000/\n",
                 (folder / "authority.pem").c_str());
    return 0;
  } catch (const std::system_error& e) {
    print_error(e.what(), "heddle cert --help lists the options");
    return 1;
  }
}

}  // namespace

verb_function add_cert(command& verb) {
  auto o = std::make_shared<cert_options>();
  verb.add_options({
      {"NAME", &o->names, "Hosts and addresses it is for (default localhost, 127.0.0.1, ::1)"},
      {"-o,--out",
       &o->out,
       "Where NAME.pem and NAME.key go (default here)",
       {.values = accepts::folder, .value_name = "DIR"}},
      {"--authority",
       &o->authority,
       "Where the authority is kept (default ~/.local/share/heddle)",
       {.value_name = "DIR"}},
      {"--days",
       &o->days,
       "How long it is valid (default 397)",
       {.values = whole_range{1, 3650}, .value_name = "DAYS"}},
      {"--client", &o->client, "It stands for a client, not for a server"},
  });
  return [o] { return make_certificate(*o); };
}

}  // namespace heddle::cli

#else

namespace heddle::cli {

verb_function add_cert(command& verb) {
  verb.take_unknown();
  return [] {
    print_error("this heddle was built without TLS",
                "install OpenSSL 3 (scripts/setup does) and build it again");
    return 1;
  };
}

}  // namespace heddle::cli

#endif
