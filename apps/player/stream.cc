// SPDX-License-Identifier: MIT
// Puts two endpoints together, and says what they counted.
#include "stream.hh"

#include <cstdio>

#include "endpoint.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/runtime.hh"

namespace player {

heddle::task<stream_result> run_stream(stream_options o, std::span<const std::byte> file) {
  const heddle::time_point began = heddle::clock::now();
  const double processor_began = process_cpu_ns();
  const auto session = static_cast<std::uint32_t>(heddle::runtime::here().io().random());
  endpoint sender(o, session);
  ++o.seed;  // the two directions lose different datagrams
  endpoint receiver(o, session);
  sender.add(make_source(sender, file));
  receiver.add(make_display(receiver));

  const auto out = heddle::udp_socket::bind(heddle::address::loopback(0));
  const auto in = heddle::udp_socket::bind(heddle::address::loopback(0));
  heddle::scope tasks;
  tasks.spawn(sender.carry_in(out));
  tasks.spawn(sender.carry_out(out, in.local()));
  tasks.spawn(receiver.carry_in(in));
  tasks.spawn(receiver.carry_out(in, out.local()));
  receiver.enter<session_opened>();
  sender.enter<session_opened>();
  co_await sender.closed.wait();
  co_await receiver.closed.wait();
  tasks.cancel();
  static_cast<void>(co_await heddle::as_expected(tasks.join()));

  stream_result r;
  r.sender = sender.count;
  r.receiver = receiver.count;
  r.digest = digest_of(file);
  r.took = heddle::clock::now() - began;
  r.timed = o.times;
  r.times.add(sender.times);
  r.times.add(receiver.times);
  r.processor_ns = process_cpu_ns() - processor_began;
  co_return r;
}

namespace {

struct figure {
  const char* name;
  std::uint64_t value;
};

auto figures_of(const stream_result& r) {
  return std::to_array<figure>({{"frames", r.sender.frames},
                                {"frames_shown", r.receiver.frames},
                                {"frames_late", r.receiver.frames_late},
                                {"frames_lost", r.frames_lost()},
                                {"bytes_shown", r.receiver.bytes},
                                {"segments", r.sender.segments},
                                {"sent_again", r.sender.sent_again},
                                {"parities", r.sender.parities},
                                {"recovered", r.receiver.recovered},
                                {"duplicates", r.receiver.duplicates},
                                {"out_of_order", r.receiver.out_of_order},
                                {"acks", r.receiver.acks},
                                {"dropped", r.sender.injected + r.receiver.injected},
                                {"overflows", r.sender.overflows + r.receiver.overflows},
                                {"abandoned", r.sender.abandoned},
                                {"foreign", r.sender.foreign + r.receiver.foreign}});
}

std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace

/// The times as members of the JSON object.
std::string stream_result::times_json() const {
  char line[160];
  std::snprintf(line, sizeof line, ",\"total_ns\":%.0f,\"handler_ns\":%.0f,\"raises\":{",
                processor_ns, times.sum().ns);
  std::string out = line;
  for (const auto& [name, time] : times.by_name()) {
    std::snprintf(line, sizeof line, "%s\"%.60s\":{\"count\":%llu,\"ns\":%.0f}",
                  out.ends_with('{') ? "" : ",", name.c_str(),
                  static_cast<unsigned long long>(time.raises), time.ns);
    out += line;
  }
  return out + '}';
}

std::string stream_result::times_text() const {
  char line[160];
  std::string out = "processor time\n";
  for (const auto& [name, time] : times.by_name()) {
    std::snprintf(line, sizeof line, "  %-20.60s %8llu raises %12.0f ns each\n", name.c_str(),
                  static_cast<unsigned long long>(time.raises),
                  time.ns / static_cast<double>(time.raises));
    out += line;
  }
  std::snprintf(line, sizeof line, "  %-20s %12.3f ms of %.3f ms\n", "in handlers",
                times.sum().ns / 1e6, processor_ns / 1e6);
  return out + line;
}

std::string stream_result::json() const {
  std::string out = "{";
  for (const figure& f : figures_of(*this))
    out += '"' + std::string(f.name) + "\":" + std::to_string(f.value) + ',';
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", std::chrono::duration<double>(took).count());
  return out + "\"seconds\":" + seconds + (timed ? times_json() : "") + ",\"digest\":\"" +
         hex(receiver.digest) + "\",\"expected\":\"" + hex(digest) +
         "\",\"whole\":" + (whole() ? "true" : "false") + '}';
}

std::string stream_result::text() const {
  std::string out;
  for (const figure& f : figures_of(*this)) {
    char line[64];
    std::snprintf(line, sizeof line, "%-14s %llu\n", f.name,
                  static_cast<unsigned long long>(f.value));
    out += line;
  }
  if (timed) out += times_text();
  return out + (whole() ? "what was shown is the file\n" : "what was shown is NOT the file\n");
}

}  // namespace player
