// SPDX-License-Identifier: MIT
// The function by which rooms below this one learn of TCP in the program: compiled Draft programs
// and <tamer/...> call it if it is linked. The library's link options name it, because a weak
// reference alone does not take it out of an archive.
#include <cstdlib>
#include <string>

#include "heddle/net/choice.hh"
#include "heddle/sched/runtime_options.hh"

/// Sets runtime_options::tcp by HEDDLE_NET, which is set. Fails: failure, if the text is wrong.
extern "C" void heddle_net_from_environment(heddle::runtime_options& o) {
  std::string text = std::getenv("HEDDLE_NET");
  const heddle::net::choice wanted = heddle::net::read_choice(text);
  if (!wanted.trouble.empty())
    throw heddle::failure(std::make_error_code(std::errc::invalid_argument), wanted.trouble);
  o.tcp = [text = std::move(text)] { return heddle::net::source_of(heddle::net::by_name(text)); };
}
