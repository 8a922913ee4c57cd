// SPDX-License-Identifier: MIT
// heddle doctor: reports the features of this machine, the driver that would run and why, and how
// to fix problems.
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/verbs.hh"
#include "heddle/names/resolver.hh"
#include "heddle/net/provider.hh"
#include "heddle/probe/json.hh"
#include "heddle/sched/driver.hh"

namespace heddle::cli {
namespace {

struct finding {
  std::string what;
  bool good = true;
  std::string detail;
  std::string advice;
};

std::vector<finding> examine(std::string& chosen, std::string& why) {
  std::vector<finding> all;
  utsname kernel{};
  ::uname(&kernel);
  all.push_back({"kernel", true, std::string(kernel.sysname) + ' ' + kernel.release, ""});
  all.push_back({"processors", true,
                 std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " (one worker uses one)", ""});
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const bool few = files.rlim_cur < 4096;
  all.push_back(
      {"open files", !few,
       std::to_string(files.rlim_cur) + " of at most " + std::to_string(files.rlim_max),
       few ? "raise it before serving many connections: ulimit -n " + std::to_string(files.rlim_max)
           : ""});
  // The device that the guide names; TCP in the program is optional.
  const net::user_check tun = net::check_user("tun0", "10.9.0.2/24");
  all.push_back({"user tcp, tun0", tun.trouble.empty(),
                 tun.trouble.empty() ? "heddle serve --net user:tun0,10.9.0.2/24" : tun.trouble,
                 tun.commands});
  const bool servers = names::asks_servers();
  all.push_back({"names", servers,
                 servers ? "this build asks name servers itself (c-ares)"
                         : "this build asks the C library, which blocks a thread for each name",
                 servers ? "" : "install libc-ares-dev and build again"});
  const char* named = std::getenv("HEDDLE_DRIVER");
  for (const driver_probe& p : probe_drivers()) {
    all.push_back({"driver " + p.name, p.usable, p.detail, p.advice});
    if (named != nullptr && *named != '\0') {
      if (p.name == named) {
        chosen = p.name;
        why = p.usable ? "HEDDLE_DRIVER names it" : "HEDDLE_DRIVER names it, but it cannot run";
      }
    } else if (chosen.empty() && p.usable) {
      chosen = p.name;
      why = "the first that works here";
    }
  }
  if (chosen.empty()) {
    chosen = named != nullptr ? named : "none";
    why = "HEDDLE_DRIVER may be io_uring, epoll, poll or sim";
  }
  return all;
}

int run(bool json) {
  std::string chosen, why;
  const std::vector<finding> all = examine(chosen, why);
  bool usable = false;
  for (const finding& f : all) usable |= f.what == "driver " + chosen && f.good;
  if (json) {
    std::string out = "{\"schema\":1,\"driver\":" + json_quoted(chosen) +
                      ",\"why\":" + json_quoted(why) + ",\"findings\":[";
    for (const finding& f : all) {
      if (&f != all.data()) out += ',';
      out += "{\"what\":" + json_quoted(f.what) + ",\"ok\":" + (f.good ? "true" : "false") +
             ",\"detail\":" + json_quoted(f.detail) + ",\"advice\":" + json_quoted(f.advice) + '}';
    }
    std::printf("%s]}\n", out.c_str());
  } else {
    for (const finding& f : all) {
      std::printf("%-16s %-4s %s\n", f.what.c_str(), f.good ? "ok" : "no", f.detail.c_str());
      for (std::size_t at = 0; at < f.advice.size();) {
        const std::size_t end = std::min(f.advice.find('\n', at), f.advice.size());
        std::printf("%-21s do: %s\n", "", f.advice.substr(at, end - at).c_str());
        at = end + 1;
      }
    }
    std::printf("\nA program here runs on %s: %s.\n", chosen.c_str(), why.c_str());
  }
  return usable ? 0 : 1;
}

}  // namespace

verb_function add_doctor(command& verb) {
  auto json = std::make_shared<bool>(false);
  verb.add_options({{"--json", json.get(), "For programs"}});
  return [json] { return run(*json); };
}

}  // namespace heddle::cli
