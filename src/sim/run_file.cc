// SPDX-License-Identifier: MIT
// Run files as text: a line for each fault, words and key=value. See run_file.hh.
#include "heddle/sim/run_file.hh"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "heddle/base/error.hh"
#include "sim/faults.hh"
#include "sim/trace.hh"

namespace heddle::sim {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::array<const char*, 7> trouble_words{"partition", "heal",  "kill", "restart",
                                                   "pause",     "clock", "link"};
/// The errors that faults of operations have.
constexpr std::pair<int, std::string_view> error_words[] = {
    {EINTR, "EINTR"},   {ENOBUFS, "ENOBUFS"}, {ENOMEM, "ENOMEM"},
    {EMFILE, "EMFILE"}, {EIO, "EIO"},         {ECONNRESET, "ECONNRESET"}};

/// Seconds with as many digits as are needed: "1.25", "-3".
std::string seconds(nanoseconds t) {
  const std::int64_t all = t.count();
  const std::uint64_t size =
      all < 0 ? 0 - static_cast<std::uint64_t>(all) : static_cast<std::uint64_t>(all);
  char text[40];
  std::snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, all < 0 ? "-" : "", size / second,
                size % second);
  std::string out = text;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + '"';
}

std::string line_of(const trouble& t) {
  std::string out = "at " + seconds(t.at) + ' ' + trouble_words[static_cast<std::size_t>(t.kind)];
  switch (t.kind) {
    case trouble_kind::partition:
    case trouble_kind::heal:
      out += ' ' + t.node + " -> " + t.other;
      break;
    case trouble_kind::kill:
      out += ' ' + t.node +
             (t.how == death::power ? " power keep=" + std::to_string(t.keep) : " process");
      break;
    case trouble_kind::restart:
      out += ' ' + t.node;
      break;
    case trouble_kind::pause:
    case trouble_kind::clock:
      out += ' ' + t.node + ' ' + seconds(t.span);
      break;
    case trouble_kind::link: {
      char loss[32];
      std::snprintf(loss, sizeof loss, "%.9g", t.link.loss);
      out += ' ' + t.node + " -- " + t.other + " latency=" + seconds(t.link.latency) +
             " jitter=" + seconds(t.link.jitter) +
             " speed=" + std::to_string(t.link.bytes_per_second) + " loss=" + loss;
      break;
    }
  }
  return out + '\n';
}

std::string line_of(const operation_fault& f) {
  std::string out = "op " + f.process + ' ' + f.operation + ' ' + std::to_string(f.ordinal);
  for (const auto& [number, word] : error_words)
    if (f.error == number) out += " error=" + std::string(word);
  if (f.reset) out += " reset";
  if (f.bytes_max != 0) out += " short=" + std::to_string(f.bytes_max);
  if (f.delay.count() != 0) out += " delay=" + seconds(f.delay);
  return out + '\n';
}

/// One line of a run file, read word by word.
class line_words {
 public:
  line_words(std::string_view rest, std::size_t number) : rest_(rest), number_(number) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "run file, line " + std::to_string(number_) + ": " + why);
  }
  [[nodiscard]] bool ended() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return rest_.empty();
  }
  std::string_view word(const char* what) {
    if (ended()) refuse(std::string(what) + " is missing");
    const std::string_view found = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(found.size());
    return found;
  }
  void expect(std::string_view wanted) {
    const std::string_view found = word("a word");
    if (found != wanted)
      refuse("'" + std::string(found) + "' stands where '" + std::string(wanted) + "' is expected");
  }
  void end() {
    if (!ended()) refuse("'" + std::string(rest_) + "' is too much");
  }
  std::uint64_t number(std::string_view text) const {
    const bool hex = text.starts_with("0x");
    const std::string_view digits = hex ? text.substr(2) : text;
    std::uint64_t value = 0;
    const auto [end, wrong] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (wrong != std::errc() || end != digits.data() + digits.size())
      refuse("'" + std::string(text) + "' is no number from 0 to 2^64 - 1");
    return value;
  }
  double rate(std::string_view text) const {
    double value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1))
      refuse("'" + std::string(text) + "' is no probability from 0 to 1");
    return value;
  }
  /// Seconds, down to nanoseconds, of at most a hundred years.
  nanoseconds time(std::string_view text) const {
    const bool negative = text.starts_with('-');
    const std::string_view digits = negative || text.starts_with('+') ? text.substr(1) : text;
    const std::size_t point = std::min(digits.find('.'), digits.size());
    std::int64_t whole = 0, part = 0;
    const auto read = [](std::string_view t, std::int64_t& out) {
      const bool plain = t.find_first_not_of("0123456789") == std::string_view::npos;
      return plain && std::from_chars(t.data(), t.data() + t.size(), out).ec == std::errc();
    };
    std::string behind(point == digits.size() ? "0" : digits.substr(point + 1));
    const bool fits = !behind.empty() && behind.size() <= 9;
    if (fits) behind.resize(9, '0');
    if (!fits || !read(digits.substr(0, point), whole) || !read(behind, part) ||
        whole > 3'153'600'000)
      refuse("'" + std::string(text) + "' is no time in seconds, such as 1.25");
    const std::int64_t all = whole * second + part;
    return nanoseconds{negative ? -all : all};
  }
  std::string text() {
    static_cast<void>(ended());
    if (!rest_.starts_with('"')) refuse("a text in quotes is missing");
    std::string out;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        end();
        return out;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      out += rest_[i];
    }
    refuse("the text has no closing quote");
  }
  /// The value of the word that begins with `key` and '='.
  std::string_view value(std::string_view key) {
    const std::string_view found = word("a value");
    if (!found.starts_with(key) || found.substr(key.size()).substr(0, 1) != "=")
      refuse("'" + std::string(found) + "' stands where " + std::string(key) + "= is expected");
    return found.substr(key.size() + 1);
  }

 private:
  std::string_view rest_;
  std::size_t number_;
};

trouble read_trouble(line_words& line) {
  trouble t;
  t.at = line.time(line.word("a time"));
  if (t.at.count() < 0) line.refuse("a time since the start is not negative");
  const std::string_view word = line.word("what happens");
  std::size_t kind = 0;
  while (kind != trouble_words.size() && word != trouble_words[kind]) ++kind;
  if (kind == trouble_words.size())
    line.refuse("'" + std::string(word) +
                "' is none of partition, heal, kill, restart, pause, clock, link");
  t.kind = static_cast<trouble_kind>(kind);
  t.node = line.word("a node");
  if (t.kind == trouble_kind::partition || t.kind == trouble_kind::heal) {
    line.expect("->");
    t.other = line.word("a node");
  } else if (t.kind == trouble_kind::kill) {
    const std::string_view how = line.word("power or process");
    if (how != "power" && how != "process") line.refuse("a kill is of power or process");
    t.how = how == "power" ? death::power : death::process;
    if (t.how == death::power) t.keep = line.number(line.value("keep"));
  } else if (t.kind == trouble_kind::pause || t.kind == trouble_kind::clock) {
    t.span = line.time(line.word("a time"));
    if (t.kind == trouble_kind::pause && t.span.count() < 0) line.refuse("a pause is not negative");
  } else if (t.kind == trouble_kind::link) {
    line.expect("--");
    t.other = line.word("a node");
    t.link.latency = line.time(line.value("latency"));
    t.link.jitter = line.time(line.value("jitter"));
    if (t.link.latency.count() < 0 || t.link.jitter.count() < 0)
      line.refuse("latency and jitter are not negative");
    t.link.bytes_per_second = line.number(line.value("speed"));
    t.link.loss = line.rate(line.value("loss"));
  }
  line.end();
  return t;
}

operation_fault read_fault(line_words& line) {
  operation_fault f;
  f.process = line.word("a process");
  f.operation = line.word("a kind of operation");
  const std::optional<std::size_t> kind = kind_of(f.operation);
  if (!kind) line.refuse("'" + f.operation + "' is no kind of operation");
  f.ordinal = line.number(line.word("the number of the operation"));
  if (f.ordinal == 0) line.refuse("operations are counted from 1");
  do {
    const std::string_view word = line.word("a fault");
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    const bool known = key == "error" || key == "reset" || key == "short" || key == "delay";
    if (known && !can_have(*kind, key))
      line.refuse(f.operation + " cannot have the fault " + std::string(key));
    if (key == "error") {
      for (const auto& [number, name] : error_words)
        if (value == name) f.error = number;
      if (f.error == 0)
        line.refuse("'" + std::string(value) +
                    "' is none of EINTR, ENOBUFS, ENOMEM, EMFILE, EIO, ECONNRESET");
    } else if (word == "reset") {
      f.reset = true;
    } else if (key == "short") {
      const std::uint64_t bytes = line.number(value);
      if (bytes == 0 || bytes > UINT32_MAX - 1) line.refuse("short= is from 1 to 4294967294 bytes");
      f.bytes_max = static_cast<std::uint32_t>(bytes);
    } else if (key == "delay") {
      f.delay = line.time(value);
      if (f.delay.count() < 0) line.refuse("a delay is not negative");
    } else {
      line.refuse("'" + std::string(word) + "' is none of error=, reset, short=, delay=");
    }
  } while (!line.ended());
  return f;
}

calm_draws read_calm(line_words& line) {
  calm_draws c;
  c.stream = line.word("a stream");
  const std::string_view range = line.word("a range of draws");
  const std::size_t dash = std::min(range.find('-'), range.size());
  c.first = line.number(range.substr(0, dash));
  c.last = dash == range.size() ? c.first : line.number(range.substr(dash + 1));
  if (c.first == 0 || c.last < c.first) line.refuse("draws are a range such as 1-40");
  line.end();
  return c;
}

void read_setting(run_file& run, std::string_view key, line_words& line) {
  line.expect("=");
  if (key == "program" || key == "build" || key == "expect") {
    (key == "program" ? run.program : key == "build" ? run.build : run.expect) = line.text();
    return;
  }
  const std::string_view value = line.word("a value");
  if (key == "calm_at") {
    run.calm_at = line.time(value);
    if (run.calm_at.count() < 0) line.refuse("a time since the start is not negative");
  } else if (key == "seed") {
    run.seed = line.number(value);
  } else {
    run.trace_hash = line.number(value);
  }
  line.end();
}

}  // namespace

std::string to_text(const run_file& run) {
  std::string out = "heddle-run 1\n";
  out += "program = " + quoted(run.program) + "\nbuild = " + quoted(run.build) +
         "\nseed = " + std::to_string(run.seed) + '\n';
  if (run.calm_at.count() != 0) out += "calm_at = " + seconds(run.calm_at) + '\n';
  for (const auto& [name, value] : run.sizes)
    out += "size " + name + ' ' + std::to_string(value) + '\n';
  for (const trouble& t : run.troubles) out += line_of(t);
  for (const operation_fault& f : run.faults) out += line_of(f);
  for (const calm_draws& c : run.calm)
    out += "calm " + c.stream + ' ' + std::to_string(c.first) + '-' + std::to_string(c.last) + '\n';
  out += "expect = " + quoted(run.expect) + "\ntrace = " + std::to_string(run.trace_hash) + '\n';
  return out;
}

run_file parse_run_file(std::string_view text) {
  run_file run;
  std::size_t number = 0;
  while (!text.empty() || number == 0) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view whole = text.substr(0, end);
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    line_words line(whole, ++number);
    if (number == 1) {
      if (whole != "heddle-run 1") line.refuse("a run file begins with 'heddle-run 1'");
      continue;
    }
    if (line.ended() || whole.starts_with('#')) continue;
    const std::string_view word = line.word("a word");
    if (word == "at") {
      run.troubles.push_back(read_trouble(line));
    } else if (word == "op") {
      run.faults.push_back(read_fault(line));
    } else if (word == "calm") {
      run.calm.push_back(read_calm(line));
    } else if (word == "size") {
      const std::string name(line.word("a name"));
      run.sizes[name] = line.number(line.word("a number"));
      line.end();
    } else if (word == "program" || word == "build" || word == "seed" || word == "calm_at" ||
               word == "expect" || word == "trace") {
      read_setting(run, word, line);
    } else {
      line.refuse("'" + std::string(word) +
                  "' is none of program, build, seed, calm_at, size, at, op, calm, expect, trace");
    }
  }
  return run;
}

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(
      [](::dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i != info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
          for (const char* end = at + part.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* const name = at + sizeof note;
            const char* const bytes = name + ((note.n_namesz + 3) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, 3) == "GNU")
              for (unsigned k = 0; k != note.n_descsz; ++k) {
                char hex[3];
                std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(bytes[k]));
                *static_cast<std::string*>(out) += hex;
              }
            at = bytes + ((note.n_descsz + 3) & ~3u);
          }
        }
        return 1;  // the program is the first one
      },
      &id);
  if (!id.empty()) return id;
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016" PRIx64, hash_bytes(all.data(), all.size()));
  return hex;
}

}  // namespace heddle::sim
