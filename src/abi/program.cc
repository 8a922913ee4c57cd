// SPDX-License-Identifier: MIT
// A compiled program: its arguments, its runtime and its log.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "abi/job.hh"
#include "abi/part.hh"
#include "heddle/abi/program.hh"
#include "heddle/core/detail/plain_wait.hh"
#include "heddle/draft.h"
#include "heddle/io/detail/runtime_tcp.hh"

using namespace heddle;
using namespace heddle::abi;

namespace {

/// A number in the environment. Within the bounds of HEDDLE_MEMORY, the least holds some frames and
/// their tables, and the most is what a process can reserve.
struct environment_number {
  const char* name;
  const char* unit;
  std::int64_t least;
  std::int64_t most;
  std::int64_t value;  ///< first the default

  /// Reads it if it is set; false, with a message on stderr, if it is out of bounds.
  [[nodiscard]] bool read();
};

// A place in the table of colors takes some 450 bytes once it is used. A thread of its own color
// for each connection would take them for each, and gain nothing: a thousand colors keep more cores
// busy than there are.
constexpr std::int64_t color_places = 1024;

void append_int(std::string& out, auto n) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
  out.append(digits, end);
}

std::optional<std::int64_t> read_int(std::string_view s) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return n;
}

std::optional<std::int64_t> read_duration(std::string_view s) {
  struct unit {
    std::string_view name;
    std::int64_t ns;
  };
  static constexpr unit units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                                   {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
  const std::size_t digits = std::min(s.find_first_not_of("0123456789"), s.size());
  const auto n = read_int(s.substr(0, digits));
  for (const unit& u : units) {
    std::int64_t span = 0;
    if (n && u.name == s.substr(digits) && !__builtin_mul_overflow(*n, u.ns, &span)) return span;
  }
  return std::nullopt;
}

/// Reads one argument; gives a message when it does not fit.
std::string read_argument(const heddle_parameter& p, std::string_view given, heddle_argument& out) {
  const std::string what = "'" + std::string(given) + "' is no value for " + p.name + ": ";
  switch (p.form) {
    case HEDDLE_PARAMETER_BOOL:
      if (given != "true" && given != "false") return what + "true or false";
      out.number = given == "true" ? 1 : 0;
      return {};
    case HEDDLE_PARAMETER_DURATION: {
      const auto n = read_duration(given);
      if (!n) return what + "a number with ns, us, ms, s, m or h";
      out.number = *n;
      return {};
    }
    case HEDDLE_PARAMETER_TEXT:
      if (p.most >= 0 && given.size() > static_cast<std::uint64_t>(p.most))
        return what + "at most " + std::to_string(p.most) + " bytes";
      out.text = {given.data(), given.size()};
      return {};
    default: {
      const auto n = read_int(given);
      if (!n || *n < p.least || *n > p.most)
        return what + "a number from " + std::to_string(p.least) + " to " + std::to_string(p.most);
      out.number = *n;
      return {};
    }
  }
}

/// Whether the thread takes over the parameter's bytes. A thread copies the view of a text<N>.
bool takes_bytes(const heddle_parameter& p) noexcept {
  return p.form == HEDDLE_PARAMETER_TEXT && p.most == INT64_MAX;
}

bool environment_number::read() {
  const char* const text = std::getenv(name);
  if (text == nullptr) return true;
  const auto n = read_int(text);
  if (!n || *n < least || *n > most) {
    std::fprintf(stderr, "error: %s is '%s'; it may be %lld to %lld %s\n", name, text,
                 static_cast<long long>(least), static_cast<long long>(most), unit);
    return false;
  }
  value = *n;
  return true;
}

/// Waits for the end of a thread, and gives its status.
class joining : coroutine_frame {
 public:
  explicit joining(heddle_job* j) noexcept : coroutine_frame(&woken), job_(j) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    worker& w = worker::running();
    park(h, w);
    ask(reinterpret_cast<heddle_worker*>(&w));
    return status_ == HEDDLE_PARKED;
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return status_; }

 private:
  static heddle_link woken(heddle_frame* f, heddle_worker* w) {
    auto& x = static_cast<joining&>(of(f));
    x.ask(w);
    return x.status_ == HEDDLE_PARKED ? no_link : x.coroutine();
  }
  void ask(heddle_worker* w) { status_ = heddle_join(w, job_, nullptr, &at_, self()); }

  heddle_job* job_;
  heddle_wait at_{};
  std::int64_t status_ = HEDDLE_PARKED;
};

task<std::int64_t> run_thread(start_function& start, std::span<const heddle_parameter> parameters,
                              std::vector<heddle_argument>& arguments) {
  const detail::runtime_tcp net;
  auto* const hw = reinterpret_cast<heddle_worker*>(&worker::running());
  const auto give_back = [&] {
    for (heddle_argument& a : arguments)
      if (a.bytes != nullptr) heddle_bytes_release(hw, std::exchange(a.bytes, nullptr));
  };
  for (std::size_t i = 0; i != arguments.size(); ++i) {
    heddle_argument& a = arguments[i];
    if (!takes_bytes(parameters[i]) || heddle_bytes_copy(hw, a.text, &a.bytes) == 0) continue;
    give_back();
    co_return -ENOMEM;
  }
  heddle_frame* const f = start(hw, arguments.data());
  if (f == nullptr) {
    give_back();
    co_return -ENOMEM;
  }
  heddle_job* const j = heddle_job_of(hw, f, nullptr, HEDDLE_SAME_COLOR, 0, nullptr);
  if (j == nullptr) co_return -ENOMEM;
  const std::int64_t status = co_await joining(j);
  heddle_job_release(reinterpret_cast<heddle_worker*>(&worker::running()), j);
  co_await net.settled();
  co_return status;
}

int wrong_arguments(const char* program, std::span<const heddle_parameter> parameters,
                    const std::string& why) {
  std::fprintf(stderr, "error: %s\n  usage: %s", why.c_str(), program);
  for (const heddle_parameter& p : parameters)
    std::fprintf(stderr, p.has_default ? " [%s]" : " %s", p.name);
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace

extern "C" {

void heddle_log_begin(heddle_worker* w) { part_of(from(w)).line.clear(); }
void heddle_log_view(heddle_worker* w, heddle_view v) {
  if (v.len != 0) part_of(from(w)).line.append(v.data, v.len);
}
void heddle_log_int(heddle_worker* w, std::int64_t n) { append_int(part_of(from(w)).line, n); }
void heddle_log_unsigned(heddle_worker* w, std::uint64_t n) {
  append_int(part_of(from(w)).line, n);
}
void heddle_log_duration(heddle_worker* w, std::int64_t n) {
  append_int(part_of(from(w)).line, n);
  part_of(from(w)).line += "ns";
}
void heddle_log_end(heddle_worker* w) {
  std::string& line = part_of(from(w)).line;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

std::int64_t heddle_fault(heddle_worker*, std::uint32_t what, const char* file,
                          std::uint32_t line) {
  static constexpr const char* names[] = {"a fault",
                                          "a number is too large for its type",
                                          "a division by zero",
                                          "an index or a size is out of bounds",
                                          "a number does not fit in the type it is converted to",
                                          "a shift by more bits than there are",
                                          "calls are nested too deeply"};
  std::fprintf(stderr, "heddle: fault at %s:%u: %s\n", file, line,
               names[what < std::size(names) ? what : 0]);
  return HEDDLE_FAULT;
}

int heddle_main(int argc, char** argv,
                heddle_frame* (*start)(heddle_worker*, const heddle_argument*),
                const heddle_parameter* parameters, std::uint32_t count) {
  return run_program(argc, argv, start, {parameters, count});
}

}  // extern "C"

int heddle::abi::run_program(int argc, char** argv, start_function start,
                             std::span<const heddle_parameter> parameters) {
  const char* const name = argc > 0 ? argv[0] : "program";
  const std::size_t count = parameters.size();
  if (argc > 0 && static_cast<std::size_t>(argc) > count + 1)
    return wrong_arguments(name, parameters,
                           "there are " + std::to_string(argc - 1) + " arguments, and at most " +
                               std::to_string(count) + " are taken");
  std::vector<heddle_argument> arguments(count);
  for (std::size_t i = 0; i != count; ++i) {
    const heddle_parameter& p = parameters[i];
    if (static_cast<int>(i) + 1 < argc) {
      if (const std::string why = read_argument(p, argv[i + 1], arguments[i]); !why.empty())
        return wrong_arguments(name, parameters, why);
    } else if (!p.has_default) {
      return wrong_arguments(name, parameters,
                             std::string("the argument ") + p.name + " is missing");
    } else {
      arguments[i].number = p.number;
      if (p.text != nullptr) arguments[i].text = {p.text, std::strlen(p.text)};
    }
  }
  try {
    runtime_options options;
    if (std::getenv("HEDDLE_WORKERS") == nullptr)
      options.workers = std::clamp(std::thread::hardware_concurrency(), 1U, 64U);
    environment_number memory{"HEDDLE_MEMORY", "bytes", std::int64_t{1} << 26,
                              std::int64_t{1} << 46,
                              static_cast<std::int64_t>(options.memory_bytes)};
    environment_number places{"HEDDLE_COLORS", "colors", 2, options.color_places, color_places};
    if (!memory.read() || !places.read()) return 2;
    options.memory_bytes = static_cast<std::size_t>(memory.value);
    options.color_places = static_cast<std::uint32_t>(places.value);
    detail::read_network(options);
    runtime rt(std::move(options));
    const std::int64_t status = rt.run(run_thread(start, parameters, arguments));
    if (status == 0) return 0;
    if (status != HEDDLE_FAULT) {
      const heddle_view error = heddle_error_name(static_cast<std::int32_t>(-status));
      std::fprintf(stderr, "error: main ended with error.%.*s\n", static_cast<int>(error.len),
                   error.data);
    }
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
