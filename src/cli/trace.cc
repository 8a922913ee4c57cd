// SPDX-License-Identifier: MIT
// heddle trace tcp FILE: reads a packet trace (pcap) and draws a connection's sequence numbers and
// its window over time as SVG, lists the connections, or writes all of it as JSON.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/verbs.hh"
#include "heddle/base/error.hh"
#include "trace/tcp_trace.hh"

namespace heddle::cli {
namespace {

struct trace_options {
  std::string file;
  std::string output;
  bool json = false;
  std::size_t connection = 0;  // 0: the one with the most bytes
  std::string direction = "more";
  trace::trace_view view;
};

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw failure(std::make_error_code(std::errc::no_such_file_or_directory),
                  path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* const at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}

void write_to(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream out(path, std::ios::trunc | std::ios::binary);
  out << text;
  out.close();
  if (!out) throw failure(std::make_error_code(std::errc::io_error), path + ": cannot be written");
}

const trace::traced_connection& chosen(const trace::tcp_trace& t, const trace_options& o) {
  if (o.connection > t.connections.size())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "there is no connection " + std::to_string(o.connection) + " in " + o.file +
                      ", which has " + std::to_string(t.connections.size()));
  if (o.connection != 0) return t.connections[o.connection - 1];
  const auto bytes = [](const trace::traced_connection& c) { return c.forth.bytes + c.back.bytes; };
  const trace::traced_connection* most = &t.connections.front();
  for (const trace::traced_connection& c : t.connections)
    if (bytes(c) > bytes(*most)) most = &c;
  return *most;
}

int run_trace_tcp(const trace_options& o) {
  try {
    const std::vector<std::byte> file = bytes_of(o.file);
    const trace::tcp_trace t = trace::read_tcp_trace(file, o.file);
    if (o.json) {
      write_to(o.output, trace::trace_json(t));
    } else if (t.connections.empty()) {
      print_error(o.file + ": no TCP among " + std::to_string(t.packets) + " packets",
                  "capture with tcpdump -w FILE tcp, or --net user:...,trace=FILE");
      return 1;
    } else if (o.output.empty()) {
      write_to("", trace::trace_table(t));
    } else {
      const trace::traced_connection& c = chosen(t, o);
      const bool back =
          o.direction == "back" || (o.direction == "more" && c.back.bytes > c.forth.bytes);
      write_to(o.output, trace::trace_svg(c, back ? c.back : c.forth, o.view));
    }
    if (t.trouble.empty()) return 0;
    print_error(o.file + ": " + t.trouble, "the packets before it were used");
    return 1;
  } catch (const failure& e) {
    print_error(e.what(), "heddle trace tcp --help lists the options");
    return 1;
  }
}

}  // namespace

verb_function add_trace(command& verb) {
  auto o = std::make_shared<trace_options>();
  verb.require_command();
  verb.add_command("tcp", "Draw a TCP connection of a packet trace")
      .add_options({
          {"file",
           &o->file,
           "A pcap file, of tcpdump -w or of --net user:...,trace=FILE",
           {.required = true}},
          {"-o,--output", &o->output, "The picture (SVG); without it the connections are listed"},
          {"--json", &o->json, "Everything as JSON instead"},
          {"-c,--connection",
           &o->connection,
           "Its number in the list (default: the one with the most bytes)",
           {.values = accepts::positive}},
          {"--direction",
           &o->direction,
           "forth: from the side that opened it; back; more: the one with more bytes",
           {.values = choices{"forth", "back", "more"}, .show_default = true}},
          {"--from",
           &o->view.from_s,
           "Seconds from the connection's first packet",
           {.values = accepts::not_negative}},
          {"--to",
           &o->view.to_s,
           "Seconds from the connection's first packet",
           {.values = accepts::not_negative}},
          {"--width",
           &o->view.width,
           "Pixels",
           {.values = whole_range{400, 10000}, .show_default = true}},
          {"--title", &o->view.title, "Instead of the addresses"},
      });
  return [o] { return run_trace_tcp(*o); };
}

}  // namespace heddle::cli
