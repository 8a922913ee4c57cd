// SPDX-License-Identifier: MIT
// The drivers against each other: one random script of connections, pipes, files and datagrams runs
// on io_uring, epoll, poll and the simulation, and over TCP in the program. All give the same bytes
// and fail in the same way; how reads are split, and when, may differ. A model knows the bytes.
#include <dirent.h>

#include <filesystem>
#include <functional>
#include <map>

#include "heddle/heddle.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/udp.hh"
#include "heddle/net/simulated.hh"
#include "support/drivers.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// Numbers from a seed (splitmix64).
class script_dice {
 public:
  explicit script_dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t limit) noexcept { return next() % limit; }
  bool chance(std::size_t percent) noexcept { return below(100) < percent; }
  /// A size up to `most`: often a small one, or one beside a power of two.
  std::size_t size(std::size_t most) noexcept {
    const std::size_t power = std::size_t{1} << below(18);
    const std::size_t drawn = chance(50) ? below(64) : power - 1 + below(3);
    return std::min(drawn, most);
  }

 private:
  std::uint64_t state_;
};

/// The bytes of a flow, each from the flow's number and its place.
std::string bytes_of_flow(std::uint64_t flow, std::size_t from, std::size_t count) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i != count; ++i)
    text[i] =
        static_cast<char>((flow * 0x9e3779b97f4a7c15 + (from + i) * 0xff51afd7ed558ccd) >> 56);
  return text;
}

/// The class of an error. A peer that is gone shows as either of two, depending on what the system
/// had noticed.
std::string class_of(std::error_code error) {
  if (!error) return "good";
  if (error == std::errc::connection_reset || error == std::errc::broken_pipe) return "gone";
  return error.default_error_condition().message();
}
template <class T>
std::string class_of(const result<T>& r) {
  return r ? "good" : class_of(r.error());
}

/// One end of a connection or a pipe, and what the model knows of the bytes towards it.
struct flow_end {
  std::uint64_t flow = 0;  ///< of the bytes that arrive here
  std::size_t sent = 0;    ///< by the other end
  std::size_t taken = 0;
  bool ended = false;  ///< the other end sends no more
  bool closed = false;

  [[nodiscard]] std::size_t waiting() const noexcept { return sent - taken; }
};

struct stream_end : flow_end {
  stream s;
};
struct connection_pair {
  stream_end ends[2];
  bool over = false;  ///< reset, or both ends closed
};
struct pipe_state : flow_end {
  pipe_reader reader;
  pipe_writer writer;
  bool writer_closed = false;
};
struct file_state {
  std::string path;
  file f;
  std::string content;
};
struct datagrams {
  udp_socket ends[2];
  std::vector<std::pair<std::uint64_t, std::size_t>> waiting[2];  ///< flow and size, towards it
};

/// Where TCP comes from.
struct tcp_side {
  net::provider server;
  net::provider client;
};

/// More would have to wait for room in a socket, which the drivers have in different sizes.
constexpr std::size_t unread_most = 24'000;
constexpr std::size_t datagrams_most = 4;
/// How long an operation is left pending that nothing can end. It ends by this time on all drivers.
constexpr nanoseconds pending_span = 300us;

class script {
 public:
  script(std::uint64_t seed, tcp_side tcp, std::string folder)
      : dice_(seed), tcp_(std::move(tcp)), folder_(std::move(folder)) {}

  task<> run() {
    auto opened = tcp_.server.listen(address::loopback(0));
    door_ = opened.door;
    at_ = opened.at;
    std::vector<step> on;
    for (const step each : all_steps)
      if (dice_.chance(50)) on.push_back(each);
    on.push_back(&script::connect);
    const std::size_t steps = 3 + dice_.below(28);
    for (std::size_t i = 0; i != steps; ++i) {
      const step next = on[dice_.below(on.size())];
      co_await (this->*next)();
    }
    // What was sent and not read is still there.
    for (std::size_t i = 0; i != connections_.size(); ++i)
      for (std::size_t side = 0; side != 2; ++side)
        if (!connections_[i]->over && !connections_[i]->ends[side].closed)
          co_await take(*connections_[i], side, connections_[i]->ends[side].waiting());
    for (const auto& p : pipes_)
      if (!p->closed && p->waiting() != 0) co_await take_of_pipe(*p, p->waiting());
    for (const auto& f : files_) co_await look_at(*f);
  }

  [[nodiscard]] const std::string& said() const noexcept { return said_; }
  [[nodiscard]] std::size_t done() const noexcept { return done_; }

 private:
  using step = task<> (script::*)();

  void say(std::string line) {
    said_ += std::move(line) += '\n';
    ++done_;
  }
  /// Checks what the model knows; the same line then stands in what the driver said.
  void expect(std::string_view what, std::string_view got, std::string_view wanted) {
    EXPECT_EQ(got, wanted) << what << ", after:\n" << said_;
    say(std::string(what) + ": " + std::string(got));
  }
  void expect_bytes(std::string_view what, const std::string& got, const std::string& wanted) {
    const std::size_t same =
        static_cast<std::size_t>(std::ranges::mismatch(got, wanted).in1 - got.begin());
    EXPECT_TRUE(got == wanted) << what << ": " << got.size() << " bytes for " << wanted.size()
                               << ", equal up to " << same << ", after:\n"
                               << said_;
    say(std::string(what) + ' ' + std::to_string(got.size()));
  }

  // Connections.

  connection_pair* some_connection() {
    std::vector<connection_pair*> open;
    for (const auto& c : connections_)
      if (!c->over) open.push_back(c.get());
    return open.empty() ? nullptr : open[dice_.below(open.size())];
  }
  /// A connection with an end for which the condition holds, and that end; null if there is none.
  template <class Condition>
  std::pair<connection_pair*, std::size_t> end_with(const Condition& holds) {
    connection_pair* const c = some_connection();
    const std::size_t side = dice_.below(2);
    if (c == nullptr || c->ends[side].closed || !holds(c->ends[side], c->ends[1 - side])) return {};
    return {c, side};
  }

  task<> connect() {
    if (connections_.size() >= 6) co_return;
    auto c = std::make_unique<connection_pair>();
    stream client = co_await tcp_.client.connect(at_);
    stream server = co_await door_.accept();
    c->ends[0].s = std::move(client);
    c->ends[1].s = std::move(server);
    for (stream_end& e : c->ends) e.flow = ++flows_;
    connections_.push_back(std::move(c));
    say("connect");
  }

  task<> connect_to_nothing() {
    result<stream> failed;
    // The kernel may give a client the very port that it asks for, one time in 28,000: it is then
    // connected to itself.
    for (int tries = 0; tries != 2 && failed; ++tries) {
      auto opened = tcp_.server.listen(address::loopback(0));
      opened.door.close();
      failed = co_await as_expected(tcp_.client.connect(opened.at));
    }
    expect("connect to a closed port", class_of(failed),
           class_of(std::make_error_code(std::errc::connection_refused)));
  }

  task<> accept_nothing() {
    const auto none = co_await as_expected(with_timeout(door_.accept(), pending_span));
    expect("accept", class_of(none), class_of(std::make_error_code(std::errc::timed_out)));
  }

  task<> write() {
    const auto [c, side] =
        end_with([](const flow_end&, const flow_end& to) { return !to.ended && !to.closed; });
    if (c == nullptr) co_return;
    stream_end& to = c->ends[1 - side];
    const stream s = c->ends[side].s;
    const std::size_t size = dice_.size(unread_most - to.waiting());
    std::string bytes = bytes_of_flow(to.flow, to.sent, size);
    to.sent += size;
    std::size_t count = size;
    result<std::size_t> r = size;
    switch (dice_.below(4)) {
      case 0:
        r = co_await as_expected(s.write(byte_view(bytes), count));
        break;
      case 1: {
        const sent_now sent = s.try_write(byte_view(bytes));
        r = co_await as_expected(s.write(byte_view(bytes).subspan(sent.bytes)));
        break;
      }
      case 2: {
        for (count = 0; count != size && r;) {
          r = co_await as_expected(s.write_some(byte_view(bytes).subspan(count)));
          count += r.value_or(0);
        }
        break;
      }
      default:
        r = co_await as_expected(s.write(std::move(bytes)));
    }
    expect("write " + std::to_string(size), class_of(r), "good");
    EXPECT_EQ(count, size);
  }

  /// Takes exactly this many bytes, which have been sent, in one of the ways to read.
  task<> take(connection_pair& c, std::size_t side, std::size_t size) {
    stream_end& at = c.ends[side];
    const stream s = at.s;
    std::string got(size, '\0');
    std::size_t have = 0;
    result<std::size_t> r = std::size_t{0};
    switch (size == at.waiting() ? dice_.below(4) : dice_.below(2)) {
      case 0:
        r = co_await as_expected(s.read(byte_span(got)));
        have = r.value_or(0);
        break;
      case 1:
        while (have != size && r) {
          r = co_await as_expected(s.read_some(byte_span(got).subspan(have)));
          have += r.value_or(0);
          if (r && *r == 0) break;
        }
        break;
      case 2:  // a block may hold all that has come, and no more has been sent
        while (have < size) {
          const received in = co_await s.receive();
          if (in.empty()) break;
          got.replace(have, in.size(), in.text());
          have += in.size();
        }
        break;
      default:
        while (have < size) {
          const bool more = co_await s.readable();
          if (!more) break;
          const received in = s.take();
          if (in.empty()) break;
          got.replace(have, in.size(), in.text());
          have += in.size();
        }
    }
    got.resize(have);
    expect_bytes("read", got, bytes_of_flow(at.flow, at.taken, size));
    at.taken += size;
  }

  task<> read() {
    const auto [c, side] =
        end_with([](const flow_end& at, const flow_end&) { return at.waiting() != 0; });
    if (c == nullptr) co_return;
    const std::size_t waiting = c->ends[side].waiting();
    co_await take(*c, side, dice_.chance(50) ? waiting : 1 + dice_.below(waiting));
  }

  /// Reads more than was sent, up to the end.
  task<> read_to_end() {
    const auto [c, side] = end_with([](const flow_end& at, const flow_end&) { return at.ended; });
    if (c == nullptr) co_return;
    stream_end& at = c->ends[side];
    const stream s = at.s;
    std::string got(at.waiting() + 1 + dice_.below(100), '\0');
    const auto r = co_await as_expected(s.read(byte_span(got)));
    got.resize(r.value_or(0));
    expect_bytes("read to the end", got, bytes_of_flow(at.flow, at.taken, at.waiting()));
    at.taken = at.sent;
    const bool more = co_await s.readable();
    EXPECT_FALSE(more);
    const auto again = co_await as_expected(s.read_some(byte_span(got.data(), 0)));
    say("read behind the end: " + class_of(again));
  }

  /// A read that nothing ends in time; it loses no byte, and those that it took are counted.
  task<> read_for_a_while() {
    const auto [c, side] = end_with([](const flow_end& at, const flow_end&) { return !at.ended; });
    if (c == nullptr) co_return;
    stream_end& at = c->ends[side];
    const stream s = at.s;
    std::string got(at.waiting() + 1, '\0');
    std::size_t count = 0;
    const auto r = co_await as_expected(with_timeout(s.read(byte_span(got), count), pending_span));
    expect("read in vain", class_of(r), class_of(std::make_error_code(std::errc::timed_out)));
    EXPECT_LE(count, at.waiting());
    got.resize(count);
    EXPECT_TRUE(got == bytes_of_flow(at.flow, at.taken, count));
    at.taken += count;
    if (at.waiting() != 0) co_await take(*c, side, at.waiting());
  }

  task<> end_writing() {
    const auto [c, side] =
        end_with([](const flow_end&, const flow_end& to) { return !to.ended && !to.closed; });
    if (c == nullptr) co_return;
    c->ends[side].s.shutdown_write();
    c->ends[1 - side].ended = true;
    say("end writing");
  }

  task<> write_after_the_end() {
    const auto [c, side] =
        end_with([](const flow_end&, const flow_end& to) { return to.ended && !to.closed; });
    if (c == nullptr) co_return;
    const stream s = c->ends[side].s;
    const auto r = co_await as_expected(s.write(byte_view("more")));
    expect("write after the end", class_of(r), "gone");
  }

  /// Closes an end that has read everything: the other one sees the end, behind its bytes.
  task<> close() {
    const auto [c, side] =
        end_with([](const flow_end& at, const flow_end&) { return at.waiting() == 0; });
    if (c == nullptr) co_return;
    stream_end& at = c->ends[side];
    stream_end& other = c->ends[1 - side];
    if (dice_.chance(30)) {
      co_await close_below_a_reader(at);
    } else {
      at.s.close();
    }
    at.closed = true;
    other.ended = true;
    say("close");
    if (other.closed) c->over = true;
  }

  task<> close_below_a_reader(stream_end& at) {
    result<std::size_t> r = std::size_t{0};
    char byte = 0;
    scope side;
    side.spawn([](stream s, char& into, result<std::size_t>& got) -> task<> {
      got = co_await as_expected(s.read(byte_span(&into, 1)));
    }(at.s, byte, r));
    co_await yield();
    at.s.close();
    co_await side.join();
    if (at.ended) {
      // The end may have come first.
      say("close below a reader");
    } else {
      expect("close below a reader", class_of(r),
             class_of(std::make_error_code(std::errc::operation_canceled)));
    }
    const auto after = co_await as_expected(at.s.write(byte_view("x")));
    expect("write on a closed stream", class_of(after),
           class_of(std::make_error_code(std::errc::bad_file_descriptor)));
  }

  /// A reset: the other end gets no more than was sent, and then an error. A close with unread
  /// bytes ends or resets, which depends on whether the driver had received them.
  task<> reset() {
    const auto [c, side] =
        end_with([](const flow_end&, const flow_end& to) { return !to.closed && !to.ended; });
    if (c == nullptr) co_return;
    stream_end& at = c->ends[side];
    stream_end& other = c->ends[1 - side];
    const bool unread = at.waiting() != 0 && dice_.chance(50);
    if (!unread) at.s.reset_on_close();
    at.s.close();
    std::string got(other.waiting() + 1, '\0');
    std::size_t count = 0;
    const stream s = other.s;
    // The system tells of a reset once: the reader learns of it, too, if a write is told first.
    for (std::size_t writes = dice_.below(3); writes != 0; --writes) {
      std::size_t left = 0;
      if (s.try_write(byte_view("x")).bytes == 0)
        static_cast<void>(co_await as_expected(s.write(byte_view("x"), left)));
    }
    const auto r = co_await as_expected(s.read(byte_span(got), count));
    EXPECT_LE(count, other.waiting());
    got.resize(std::min(count, other.waiting()));
    EXPECT_TRUE(got == bytes_of_flow(other.flow, other.taken, got.size())) << said_;
    if (unread) {
      say("close with unread bytes");
    } else {
      expect("reset", class_of(r), "gone");
      const auto w = co_await as_expected(s.write(byte_view("x")));
      expect("write after a reset", class_of(w), "gone");
    }
    other.s.close();
    c->over = true;
  }

  /// More bytes than sockets hold, at once in both directions.
  task<> transfer() {
    const auto [c, side] = end_with([](const flow_end& at, const flow_end& to) {
      return !to.ended && !to.closed && !at.ended;
    });
    if (c == nullptr) co_return;
    const std::size_t sizes[2] = {50'000 + dice_.below(300'000),
                                  dice_.chance(50) ? 0 : dice_.below(300'000)};
    std::string got[2];
    std::string wanted[2];
    {
      scope both;
      for (const std::size_t from : {side, 1 - side}) {
        stream_end& to = c->ends[1 - from];
        const std::size_t size = sizes[from == side ? 0 : 1];
        both.spawn(send_all(c->ends[from].s, bytes_of_flow(to.flow, to.sent, size)));
        to.sent += size;
        wanted[1 - from] = bytes_of_flow(to.flow, to.taken, to.waiting());
        got[1 - from].resize(to.waiting());
        both.spawn(read_all(to.s, got[1 - from]));
        to.taken = to.sent;
      }
      co_await both.join();
    }
    for (const std::size_t at : {0, 1}) expect_bytes("transfer", got[at], wanted[at]);
  }
  static task<> send_all(stream s, std::string bytes) { co_await s.write(std::move(bytes)); }
  static task<> read_all(stream s, std::string& into) {
    const std::size_t count = co_await s.read(byte_span(into));
    into.resize(count);
  }

  // Pipes.

  template <class Condition>
  pipe_state* pipe_with(const Condition& holds) {
    if (pipes_.empty()) return nullptr;
    pipe_state* const p = pipes_[dice_.below(pipes_.size())].get();
    return holds(*p) ? p : nullptr;
  }

  task<> open_pipe() {
    if (pipes_.size() >= 4) co_return;
    pipe_pair made = make_pipe();
    auto p = std::make_unique<pipe_state>();
    p->reader = std::move(made.reader);
    p->writer = std::move(made.writer);
    p->flow = ++flows_;
    pipes_.push_back(std::move(p));
    say("pipe");
  }

  task<> write_to_pipe() {
    pipe_state* const p = pipe_with([](const pipe_state& x) { return !x.writer_closed; });
    if (p == nullptr) co_return;
    const std::size_t size = dice_.size(unread_most - std::min(unread_most, p->waiting()));
    const std::string bytes = bytes_of_flow(p->flow, p->sent, size);
    const auto r = co_await as_expected(p->writer.write(byte_view(bytes)));
    if (p->closed) {
      // Nothing is written, so nothing is noticed.
      expect("write to a closed pipe", class_of(r), size == 0 ? "good" : "gone");
    } else {
      expect("write to a pipe", class_of(r), "good");
      p->sent += size;
    }
  }

  task<> take_of_pipe(pipe_state& p, std::size_t size) {
    std::string got(size, '\0');
    const auto r = co_await as_expected(p.reader.read(byte_span(got)));
    got.resize(r.value_or(0));
    const std::size_t there = std::min(size, p.waiting());
    expect_bytes("read a pipe", got, bytes_of_flow(p.flow, p.taken, there));
    p.taken += there;
  }
  task<> read_pipe() {
    pipe_state* const p = pipe_with([](const pipe_state& x) { return !x.closed; });
    if (p == nullptr) co_return;
    if (p->writer_closed) {
      co_await take_of_pipe(*p, p->waiting() + 10);
    } else if (p->waiting() != 0) {
      co_await take_of_pipe(*p, 1 + dice_.below(p->waiting()));
    } else {
      char byte = 0;
      const auto r =
          co_await as_expected(with_timeout(p->reader.read(byte_span(&byte, 1)), pending_span));
      expect("read a pipe in vain", class_of(r),
             class_of(std::make_error_code(std::errc::timed_out)));
    }
  }
  task<> close_pipe() {
    pipe_state* const p = pipe_with([](const pipe_state&) { return true; });
    if (p == nullptr) co_return;
    if (dice_.chance(50)) {
      p->writer.close();
      p->writer_closed = true;
    } else {
      p->reader.close();
      p->closed = true;
    }
    say("close an end of a pipe");
  }

  // Files.

  file_state* some_file() {
    return files_.empty() ? nullptr : files_[dice_.below(files_.size())].get();
  }
  task<> open_a_file() {
    if (files_.size() >= 3) co_return;
    auto f = std::make_unique<file_state>();
    f->path = folder_ + "/f" + std::to_string(files_.size());
    f->f = co_await open_file(f->path, {.write = true, .create = true, .exclusive = true});
    files_.push_back(std::move(f));
    say("make a file");
  }
  task<> write_file_at() {
    file_state* const f = some_file();
    if (f == nullptr) co_return;
    const std::size_t at = dice_.below(f->content.size() + 100);
    const std::size_t size = dice_.size(20'000);
    const std::string bytes = bytes_of_flow(++flows_, 0, size);
    const auto r = co_await as_expected(f->f.write_at(at, byte_view(bytes)));
    expect("write a file", class_of(r), "good");
    EXPECT_EQ(r.value_or(0), size);
    if (size == 0) co_return;
    if (f->content.size() < at + size) f->content.resize(at + size, '\0');
    f->content.replace(at, size, bytes);
  }
  task<> read_file_at() {
    file_state* const f = some_file();
    if (f == nullptr) co_return;
    const std::size_t at = dice_.below(f->content.size() + 100);
    std::string got(dice_.size(20'000), '\0');
    const auto r = co_await as_expected(f->f.read_at(at, byte_span(got)));
    const std::string wanted =
        at >= f->content.size() ? std::string() : f->content.substr(at, got.size());
    got.resize(r.value_or(0));
    expect_bytes("read a file", got, wanted);
  }
  task<> look_at(file_state& f) {
    const auto all = co_await as_expected(read_file(f.path));
    expect_bytes("the file", all.value_or(std::string(class_of(all))), f.content);
    const std::uint64_t size = co_await f.f.size();
    EXPECT_EQ(size, f.content.size());
  }
  task<> replace_file() {
    file_state* const f = some_file();
    if (f == nullptr) co_return;
    f->f.close();
    f->content = bytes_of_flow(++flows_, 0, dice_.size(20'000));
    const auto r = co_await as_expected(write_file(f->path, byte_view(f->content)));
    expect("replace a file", class_of(r), "good");
    f->f = co_await open_file(f->path, {.write = true});
    const auto again = co_await as_expected(
        open_file(f->path, {.write = true, .create = true, .exclusive = true}));
    expect("make it again", class_of(again),
           class_of(std::make_error_code(std::errc::file_exists)));
  }
  task<> wrong_files() {
    const auto missing = co_await as_expected(open_file(folder_ + "/missing"));
    expect("open nothing", class_of(missing),
           class_of(std::make_error_code(std::errc::no_such_file_or_directory)));
    const auto below = co_await as_expected(open_file(folder_ + "/missing/x", {.create = true}));
    say("make a file nowhere: " + class_of(below));
    const auto folder = co_await as_expected(open_file(folder_, {.write = true}));
    say("write a folder: " + class_of(folder));
    const auto removed = co_await as_expected(remove_file(folder_ + "/missing"));
    say("remove nothing: " + class_of(removed));
    const auto renamed = co_await as_expected(rename_file(folder_ + "/missing", folder_ + "/x"));
    say("rename nothing: " + class_of(renamed));
    file_state* const f = some_file();
    if (f == nullptr) co_return;
    const auto through = co_await as_expected(open_file(f->path + "/x"));
    say("open below a file: " + class_of(through));
    const file reading = co_await open_file(f->path, {.write = false});
    const auto r = co_await as_expected(reading.write_at(0, byte_view("x")));
    say("write a file that is open for reading: " + class_of(r));
    char byte = 0;
    const auto far =
        co_await as_expected(f->f.read_at(std::uint64_t{1} << 63, byte_span(&byte, 1)));
    expect("read at no place", class_of(far),
           class_of(std::make_error_code(std::errc::invalid_argument)));
    const auto none =
        co_await as_expected(f->f.read_at((std::uint64_t{1} << 63) - 1, byte_span(&byte, 1)));
    say("read at the last place: " + class_of(none));
  }

  // Datagrams.

  task<> send_datagram() {
    if (!udp_) {
      udp_.emplace();
      for (udp_socket& each : udp_->ends) each = udp_socket::bind(address::loopback(0));
    }
    const std::size_t from = dice_.below(2);
    auto& waiting = udp_->waiting[1 - from];
    if (waiting.size() == datagrams_most) co_return;
    const std::size_t size = dice_.size(dice_.chance(5) ? 70'000 : 9'000);
    const std::string bytes = bytes_of_flow(++flows_, 0, size);
    const address to = udp_->ends[1 - from].local();
    const auto r = co_await as_expected(udp_->ends[from].send_to(to, byte_view(bytes)));
    say("send a datagram of " + std::to_string(size) + ": " + class_of(r));
    if (r) waiting.emplace_back(flows_, size);
  }
  task<> receive_datagram() {
    if (!udp_) co_return;
    const std::size_t at = dice_.below(2);
    auto& waiting = udp_->waiting[at];
    std::string got(dice_.size(10'000), '\0');
    if (waiting.empty()) {
      const auto none = co_await as_expected(
          with_timeout(udp_->ends[at].receive_from(byte_span(got)), pending_span));
      expect("no datagram", class_of(none), class_of(std::make_error_code(std::errc::timed_out)));
      co_return;
    }
    const auto [flow, size] = waiting.front();
    waiting.erase(waiting.begin());
    const std::size_t room = got.size();
    const auto r = co_await as_expected(udp_->ends[at].receive_from(byte_span(got)));
    expect("receive a datagram", class_of(r), "good");
    if (!r) co_return;
    got.resize(r->size);
    EXPECT_EQ(r->from, udp_->ends[1 - at].local());
    EXPECT_EQ(r->truncated, size > room) << size << " into " << room;
    expect_bytes("the datagram", got, bytes_of_flow(flow, 0, std::min(size, room)));
  }

  static constexpr step all_steps[] = {&script::connect_to_nothing,
                                       &script::accept_nothing,
                                       &script::write,
                                       &script::write,
                                       &script::read,
                                       &script::read_to_end,
                                       &script::read_for_a_while,
                                       &script::end_writing,
                                       &script::write_after_the_end,
                                       &script::close,
                                       &script::reset,
                                       &script::transfer,
                                       &script::open_pipe,
                                       &script::write_to_pipe,
                                       &script::read_pipe,
                                       &script::close_pipe,
                                       &script::open_a_file,
                                       &script::write_file_at,
                                       &script::read_file_at,
                                       &script::replace_file,
                                       &script::wrong_files,
                                       &script::send_datagram,
                                       &script::receive_datagram};

  script_dice dice_;
  tcp_side tcp_;
  std::string folder_;
  listener door_;
  address at_;
  std::uint64_t flows_ = 0;
  std::vector<std::unique_ptr<connection_pair>> connections_;
  std::vector<std::unique_ptr<pipe_state>> pipes_;
  std::vector<std::unique_ptr<file_state>> files_;
  std::optional<datagrams> udp_;
  std::string said_;
  std::size_t done_ = 0;
};

std::size_t open_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct script_result {
  std::string said;
  std::size_t done = 0;
  std::uint64_t trace = 0;
};

constexpr nanoseconds script_span = 20s;

task<> run_script(std::uint64_t seed, bool own_tcp, std::string folder, script_result& out) {
  std::optional<net::simulated> both;
  if (own_tcp)
    both.emplace(net::simulated_options{.wire = {.delay_us = 20},
                                        .seed = seed,
                                        .client = {.time_wait_us = 1000},
                                        .server = {.time_wait_us = 1000}});
  script s(seed, own_tcp ? tcp_side{both->server(), both->client()} : tcp_side{}, folder);
  const auto r = co_await as_expected(with_timeout(s.run(), script_span));
  EXPECT_TRUE(r) << "the script ended with " << (r ? "" : r.error().message()) << ", after:\n"
                 << s.said();
  out.said = s.said();
  out.done = s.done();
}

/// Runs the script of a seed on a driver, and checks that nothing is left.
script_result result_of(const driver_maker& make, std::uint64_t seed, bool own_tcp) {
  script_result out;
  const std::string where = std::string(make.name()) + (own_tcp ? " with own TCP" : "");
  const ::testing::ScopedTrace trace(__FILE__, __LINE__, where);
  if (!make.real()) {
    auto world = std::make_unique<sim_driver>(sim_options{.seed = seed});
    sim_driver& sim = *world;
    sim.make_directories("/scripts");
    runtime rt(std::move(world), {});
    rt.run(run_script(seed, own_tcp, "/scripts", out));
    EXPECT_EQ(rt.drain(), 0u);
    EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
    EXPECT_EQ(sim.blocks_out(), 0u);
    out.trace = sim.trace_hash();
    return out;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "heddle-agree-XXXXXX").string();
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  const std::size_t before = open_of_process();
  {
    runtime rt(make());
    rt.run(run_script(seed, own_tcp, folder, out));
    EXPECT_EQ(rt.drain(), 0u);
  }
  EXPECT_EQ(open_of_process(), before);
  std::filesystem::remove_all(folder);
  return out;
}

HEDDLE_TEST(agreement, "all drivers, and TCP in the program, give a script the same answers") {
  std::size_t steps = 0;
  const sim::seeds_outcome outcome = for_seeds(40, [&](std::uint64_t seed) {
    const script_result first = result_of(driver_maker("sim"), seed, false);
    steps += first.done;
    const auto compare = [&](const driver_maker& make, bool own_tcp) {
      EXPECT_EQ(result_of(make, seed, own_tcp).said, first.said)
          << make.name() << (own_tcp ? " with own TCP" : "") << " and the simulation";
    };
    for_each_driver([&](const driver_maker& make) {
      if (make.real()) compare(make, false);
    });
    compare(driver_maker("sim"), true);
    if (seed % 4 == 0) compare(driver_maker("epoll"), true);
    if (seed % 20 != 0) return;
    const script_result again = result_of(driver_maker("sim"), seed, false);
    EXPECT_EQ(again.trace, first.trace);
  });
  if (judges_totals(outcome, 200)) {
    EXPECT_GT(steps, outcome.ran * 5);
  }
}

}  // namespace
}  // namespace heddle::test
