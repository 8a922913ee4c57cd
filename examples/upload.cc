// SPDX-License-Identifier: MIT
// Uploads of any size through a few kilobytes: the form's parts are written to files as they
// arrive, and the client is read from no faster than the disk takes it.
//
//   build/release/examples/upload 8080 /tmp
//   curl -F file=@movie.mp4 http://127.0.0.1:8080/
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/http/uri.hh"
#include "heddle/io/file.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/form.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/router.hh"

using namespace heddle;
using namespace std::chrono_literals;

constexpr const char* page =
    "<!doctype html><meta charset=utf-8><title>Upload</title>"
    "<form method=post enctype=multipart/form-data>"
    "<input type=file name=file multiple> <button>Upload</button></form>";

task<http::response> show_form(http::request&) {
  co_return http::response(200).body("text/html; charset=utf-8", page);
}

// What the client calls a file is text to show, never a path: ours are numbered.
task<std::uint64_t> store(http::multipart_reader& parts, std::string path) {
  file out = co_await open_file(path, {.write = true, .create = true, .exclusive = true});
  std::uint64_t size = 0;
  for (;;) {
    const std::string_view bytes = co_await parts.read();
    if (bytes.empty()) co_return size;
    co_await out.write_at(size, bytes);
    size += bytes.size();
  }
}

task<http::response> take_files(const std::string& folder, int& next_number, http::request& r) {
  http::multipart_reader parts(r);
  std::string said = "<!doctype html><meta charset=utf-8><title>Uploaded</title><ul>";
  for (;;) {
    const bool more = co_await parts.next();
    if (!more) break;
    if (!parts.part().filename) continue;
    const std::string path = folder + "/upload-" + std::to_string(next_number++);
    const std::uint64_t size = co_await store(parts, path);
    said += "<li>";
    http::append_html(said, *parts.part().filename);
    said += ": " + std::to_string(size) + " bytes, kept as ";
    http::append_html(said, path);
  }
  co_return http::response(201).body("text/html; charset=utf-8", std::move(said));
}

task<> serve(std::uint16_t port, std::string folder) {
  int next_number = 1;
  http::router routes;
  routes.get("/", show_form);
  routes.post("/", std::bind_front(take_files, std::cref(folder), std::ref(next_number)),
              {.body_bytes_max = std::uint64_t{10} << 30, .body_timeout = 60s});
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), routes);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080),
               argc > 2 ? argv[2] : "."));
}
