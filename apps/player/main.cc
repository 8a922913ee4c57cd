// SPDX-License-Identifier: MIT
// player: streams a file as if it were a video, over UDP on the loopback interface and through a
// transport that is put together from micro-protocols. With --times it prints the processor time in
// its handlers.
//
//   player film.bin                                   all micro-protocols
//   player film.bin --loss 0.1 --json                 a tenth of the datagrams is dropped
//   player film.bin --protocols parity,guard          no acks: what parity cannot mend is lost
#include <CLI/CLI.hpp>
#include <cstdio>

#include "heddle/io/file.hh"
#include "heddle/sched/runtime.hh"
#include "stream.hh"

namespace player {
namespace {

struct settings {
  std::string file;
  std::uint64_t file_bytes_max = std::uint64_t{1} << 30;
  bool json = false;
  stream_options stream;
};

heddle::task<int> play(settings s) {
  const std::string content = co_await heddle::read_file(s.file, s.file_bytes_max);
  const stream_result r = co_await run_stream(s.stream, std::as_bytes(std::span(content)));
  std::fputs(s.json ? (r.json() + '\n').c_str() : r.text().c_str(), stdout);
  // Without acks a frame may be lost and the stream be as good as it was asked to be.
  co_return r.whole() || s.stream.protocols.find("acknowledgement") == std::string::npos ? 0 : 1;
}

int run(int argc, char** argv) {
  CLI::App app("Streams a file over UDP through a transport made of micro-protocols.", "player");
  settings s;
  double buffer_ms = 100;
  app.add_option("FILE", s.file, "The video: any file")->required();
  app.add_option("-p,--protocols", s.stream.protocols, "Micro-protocols, with commas")
      ->capture_default_str();
  app.add_option("--fps", s.stream.frames_per_s, "Frames a second")->capture_default_str();
  app.add_option("--frame", s.stream.frame_bytes, "Bytes of a frame")->capture_default_str();
  app.add_option("--segment", s.stream.segment_bytes, "Bytes of a segment")->capture_default_str();
  app.add_option("--group", s.stream.group_len, "Segments with one parity")->capture_default_str();
  app.add_option("--window", s.stream.window, "Segments under way at first")->capture_default_str();
  app.add_option("--buffer", buffer_ms, "Milliseconds between arrival and display")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 60000.0));
  app.add_option("--loss", s.stream.loss, "Share of datagrams to drop")->capture_default_str();
  app.add_option("--seed", s.stream.seed, "Which ones")->capture_default_str();
  app.add_option("--file-max", s.file_bytes_max, "Bytes of a file that are read")
      ->capture_default_str();
  app.add_flag("--times", s.stream.times, "Print the processor time in handlers, by topic");
  app.add_flag("--json", s.json, "One line for programs");
  CLI11_PARSE(app, argc, argv);
  s.stream.buffer = std::chrono::microseconds(static_cast<std::int64_t>(buffer_ms * 1e3));
  check(s.stream);
  heddle::runtime rt;
  return rt.run(play(std::move(s)));
}

}  // namespace
}  // namespace player

int main(int argc, char** argv) {
  try {
    return player::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
