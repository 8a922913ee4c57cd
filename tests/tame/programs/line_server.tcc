// SPDX-License-Identifier: MIT
// A line server and its clients: commands change a table that all connections share, a watcher is
// told of changes, and an idle connection is closed. Written before the translator was.
// out: ann: hello
// out: ann: ok stored
// out: bob: ok red
// out: bob: error unknown command
// out: ann: ok stored
// out: watcher: color=blue
// out: ann: ok removed
// out: watcher: gone color
// out: bob: error no such key
// out: bob: ok 0 keys
// out: ann: bye
// out: bob: bye
// out: idle: hello
// out: idle: closed by the server
// out: watcher: closed by the server
// out: server: 4 connections, 10 commands, 0 open
#include <tamer/bufferedio.hh>
#include <tamer/fd.hh>
#include <tamer/tamer.hh>

#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using tamer::event;

namespace {

struct statistics {
  int connections = 0;
  int commands = 0;
  int open = 0;
};

/// The table, and the events of those who want to know of its next change.
class table {
 public:
  void set(const std::string& key, const std::string& value) {
    values_[key] = value;
    tell(key + "=" + value);
  }
  bool remove(const std::string& key) {
    if (values_.erase(key) == 0) return false;
    tell("gone " + key);
    return true;
  }
  const std::string* find(const std::string& key) const {
    std::map<std::string, std::string>::const_iterator it = values_.find(key);
    return it == values_.end() ? 0 : &it->second;
  }
  size_t size() const { return values_.size(); }
  void next_change(event<std::string> e) { watchers_.push_back(e); }

 private:
  void tell(const std::string& what) {
    std::vector<event<std::string> > watchers;
    watchers.swap(watchers_);
    for (size_t i = 0; i < watchers.size(); ++i) watchers[i].trigger(what);
  }
  std::map<std::string, std::string> values_;
  std::vector<event<std::string> > watchers_;
};

#define IDLE_MSEC 500

/// Leaves the connection when its peer does not take what is written.
#define SEND_OR_LEAVE(text)                             \
  twait { cfd_.write((text), make_event(result)); }     \
  if (result < 0) {                                     \
    delete this;                                        \
    return;                                             \
  }

class connection : public tamer::tamed_class {
 public:
  connection(tamer::fd cfd, table& data, statistics& counts)
      : cfd_(cfd), data_(data), counts_(counts) {
    ++counts_.connections;
    ++counts_.open;
  }
  ~connection() {
    --counts_.open;
    cfd_.close();
  }

  tamed void run();

 private:
  tamed void watch();
  std::string answer(const std::string& line, bool& stop);

  tamer::fd cfd_;
  table& data_;
  statistics& counts_;
  tamer::buffer in_;
};

tamed void connection::run() {
  tvars {
    std::string line;
    int result(0), outcome(0);
    bool stop(false);
  }

  SEND_OR_LEAVE("hello\n");
  while (!stop) {
    // A line, or the end of the connection's patience.
    twait {
      in_.take_until(cfd_, '\n', 256, line,
                     tamer::with_timeout_msec(IDLE_MSEC, make_event(result), outcome));
    }
    if (outcome == -ETIMEDOUT || result < 0) break;
    line.erase(line.find_last_not_of("\r\n") + 1);
    ++counts_.commands;
    if (line == "watch") {
      watch();
      continue;
    }
    line = answer(line, stop);
    SEND_OR_LEAVE(line + "\n");
  }
  delete this;
}

/// Runs beside run(), and ends with the connection.
tamed void connection::watch() {
  tvars { std::string what; int result; }
  while (true) {
    twait volatile { data_.next_change(make_event(what)); }
    twait { cfd_.write(what + "\n", make_event(result)); }
  }
}

std::string connection::answer(const std::string& line, bool& stop) {
  std::istringstream words(line);
  std::string command, key, value;
  words >> command >> key >> value;
  if (command == "set") {
    data_.set(key, value);
    return "ok stored";
  } else if (command == "get") {
    const std::string* found = data_.find(key);
    return found ? "ok " + *found : "error no such key";
  } else if (command == "del") {
    return data_.remove(key) ? "ok removed" : "error no such key";
  } else if (command == "count") {
    std::ostringstream out;
    out << "ok " << data_.size() << " keys";
    return out.str();
  } else if (command == "quit") {
    stop = true;
    return "bye";
  }
  return "error unknown command";
}

tamed void serve(tamer::fd listener, table& data, statistics& counts) {
  tvars { tamer::fd cfd; }
  while (listener) {
    twait { listener.accept(make_event(cfd)); }
    if (cfd) (new connection(cfd, data, counts))->run();
  }
}

/// One client, which says what it hears.
class client {
 public:
  explicit client(const char* name) : name_(name) {}
  tamed void connect(int port, event<> done);
  tamed void say(const std::string line, event<> done);
  tamed void hear(event<bool> done);
  tamed void skip(event<> done);

 private:
  const char* name_;
  tamer::fd fd_;
  tamer::buffer in_;
};

tamed void client::connect(int port, event<> done) {
  tvars { in_addr here; }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tamer::tcp_connect(here, port, make_event(fd_)); }
  done();
}

tamed void client::say(const std::string line, event<> done) {
  tvars { int result; bool heard; }
  twait { fd_.write(line + "\n", make_event(result)); }
  if (line != "watch")
    twait { hear(make_event(heard)); }
  done();
}

tamed void client::hear(event<bool> done) {
  tvars { std::string line; int result; }
  twait { in_.take_until(fd_, '\n', 256, line, make_event(result)); }
  if (result == 0)
    printf("%s: %s", name_, line.c_str());
  else
    printf("%s: closed by the server\n", name_);
  done(result == 0);
}

/// Hears a line and says nothing of it.
tamed void client::skip(event<> done) {
  tvars { std::string line; int result; }
  twait { in_.take_until(fd_, '\n', 256, line, make_event(result)); }
  done();
}

tamed void conversation(int port, tamer::fd listener, statistics& counts) {
  tvars {
    client ann("ann"), bob("bob"), watcher("watcher"), idle("idle");
    bool ok;
  }
  twait { ann.connect(port, make_event()); }
  twait { ann.hear(make_event(ok)); }
  twait { ann.say("set color red", make_event()); }
  twait { bob.connect(port, make_event()); watcher.connect(port, make_event()); }
  twait { bob.skip(make_event()); watcher.skip(make_event()); }
  twait { bob.say("get color", make_event()); }
  twait { bob.say("paint it black", make_event()); }
  twait { watcher.say("watch", make_event()); }
  twait { tamer::at_delay_msec(5, make_event()); }
  twait { ann.say("set color blue", make_event()); }
  twait { watcher.hear(make_event(ok)); }
  twait { ann.say("del color", make_event()); }
  twait { watcher.hear(make_event(ok)); }
  twait { bob.say("get color", make_event()); }
  twait { bob.say("count", make_event()); }
  twait { ann.say("quit", make_event()); }
  twait { bob.say("quit", make_event()); }

  // Nobody says anything any more, and the server's patience ends.
  twait { idle.connect(port, make_event()); }
  twait { idle.hear(make_event(ok)); }
  twait { idle.hear(make_event(ok)); }
  twait { watcher.hear(make_event(ok)); }
  listener.close();
  printf("server: %d connections, %d commands, %d open\n", counts.connections, counts.commands,
         counts.open);
}

}  // namespace

int main() {
  tamer::initialize();
  table data;
  statistics counts;
  tamer::fd listener = tamer::tcp_listen(0);
  if (!listener) {
    fprintf(stderr, "listen: %s\n", strerror(-listener.error()));
    return 1;
  }
  sockaddr_in here;
  socklen_t len = sizeof(here);
  getsockname(listener.value(), (sockaddr*)&here, &len);
  serve(listener, data, counts);
  conversation(ntohs(here.sin_port), listener, counts);
  tamer::loop();
  tamer::cleanup();
}
