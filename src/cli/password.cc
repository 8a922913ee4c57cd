// SPDX-License-Identifier: MIT
// heddle password USER: asks for a password and prints USER:HASH, for the setting auth of heddle
// serve. From a terminal it is asked twice and not shown; else the first line of the input is
// taken.
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/verbs.hh"
#include "serve/password_hash.hh"

namespace heddle::cli {
namespace {

/// The terminal does not show typed characters while this object exists.
class hidden_input {
 public:
  hidden_input() : changed_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!changed_) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  hidden_input(const hidden_input&) = delete;
  hidden_input& operator=(const hidden_input&) = delete;
  ~hidden_input() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }

 private:
  termios before_{};
  bool changed_;
};

bool ask(const char* prompt, std::string& text) {
  const hidden_input hidden;
  std::fputs(prompt, stderr);
  const bool got = static_cast<bool>(std::getline(std::cin, text));
  std::fputs("\n", stderr);
  return got;
}

int make_password(const std::string& user) {
  if (user.empty() || user.find(':') != user.npos) {
    print_error("'" + user + "' is no name for a user", "it is not empty and has no colon");
    return 2;
  }
  std::string password, again;
  if (::isatty(STDIN_FILENO) != 0) {
    if (!ask("Password: ", password) || !ask("The same again: ", again)) return 1;
    if (password != again) {
      print_error("these are two passwords", "type the same twice");
      return 1;
    }
  } else if (!std::getline(std::cin, password)) {
    print_error("there is no password", "type it, or write it to the standard input");
    return 1;
  }
  if (password.empty()) {
    print_error("the password is empty", "give one of at least a dozen letters");
    return 1;
  }
  std::printf("%s:%s\n", user.c_str(), serve::hash_password(password).c_str());
  return 0;
}

}  // namespace

verb_function add_password(command& verb) {
  auto user = std::make_shared<std::string>();
  verb.add_options({{"USER", user.get(), "The name that visitors give", {.required = true}}});
  return [user] { return make_password(*user); };
}

}  // namespace heddle::cli
