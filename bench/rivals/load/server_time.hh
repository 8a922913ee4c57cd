// SPDX-License-Identifier: MIT
//
// The processor time that given processes have used, read from /proc: the sum of their
// threads in nanoseconds (schedstat), and the user part in clock ticks (stat). Kernel
// threads that io_uring starts for a process are threads of it, and so are counted.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace load {

struct server_time {
  double total_s = 0;
  double user_s = 0;

  static server_time of(const std::vector<int>& pids) {
    server_time sum;
    for (const int pid : pids) {
      const std::string home = "/proc/" + std::to_string(pid);
      sum.user_s += user_ticks(home + "/stat") / static_cast<double>(::sysconf(_SC_CLK_TCK));
      DIR* tasks = ::opendir((home + "/task").c_str());
      if (tasks == nullptr) continue;
      while (const dirent* task = ::readdir(tasks)) {
        if (task->d_name[0] == '.') continue;
        std::ifstream in(home + "/task/" + task->d_name + "/schedstat");
        double run_ns = 0;
        if (in >> run_ns) sum.total_s += run_ns * 1e-9;
      }
      ::closedir(tasks);
    }
    return sum;
  }

 private:
  // utime is the 14th field; the 2nd is a name in parentheses that may hold spaces.
  static double user_ticks(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    const auto close = line.rfind(')');
    if (close == std::string::npos) return 0;
    double ticks = 0;
    std::sscanf(line.c_str() + close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf",
                &ticks);
    return ticks;
  }
};

}  // namespace load
