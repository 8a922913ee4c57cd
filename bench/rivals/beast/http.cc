// SPDX-License-Identifier: MIT
//
// Boost.Beast on one single-threaded io_context: the files of a folder, kept in memory.
//   http PORT DIR
// Built as its users tune it: no locks in Asio, typed executors, bodies as spans.
#define BOOST_ASIO_DISABLE_THREADS
#define BOOST_BEAST_USE_STD_STRING_VIEW
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

using executor = asio::io_context::executor_type;
using socket_type = asio::basic_stream_socket<asio::ip::tcp, executor>;
using acceptor_type = asio::basic_socket_acceptor<asio::ip::tcp, executor>;
using body_type = http::span_body<const char>;
using site = std::map<std::string, std::string, std::less<>>;

site load(const char* folder) {
  site all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    all["/" + entry.path().filename().string()] =
        std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

class session : public std::enable_shared_from_this<session> {
 public:
  session(socket_type socket, const site& files) : socket_(std::move(socket)), files_(files) {}

  void read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->answer();
                     });
  }

 private:
  void answer() {
    const auto found = files_.find(std::string_view(request_.target()));
    const bool here = found != files_.end();
    response_.emplace(here ? http::status::ok : http::status::not_found, request_.version());
    response_->set(http::field::server, "beast");
    response_->set(http::field::content_type, "text/plain");
    response_->keep_alive(request_.keep_alive());
    if (here) response_->body() = {found->second.data(), found->second.size()};
    response_->prepare_payload();
    serializer_.emplace(*response_);
    http::async_write(socket_, *serializer_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        self->answered(error);
                      });
  }

  void answered(beast::error_code error) {
    if (error) return;
    if (response_->keep_alive()) return read();
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  }

  socket_type socket_;
  const site& files_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  std::optional<http::response<body_type>> response_;
  std::optional<http::response_serializer<body_type>> serializer_;
};

void accept(acceptor_type& acceptor, const site& files) {
  acceptor.async_accept([&](beast::error_code error, socket_type socket) {
    if (!error) {
      socket.set_option(asio::ip::tcp::no_delay(true), error);
      std::make_shared<session>(std::move(socket), files)->read();
    }
    accept(acceptor, files);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: http PORT DIR\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const site files = load(argv[2]);
  asio::io_context context(1);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  acceptor_type acceptor(context, {asio::ip::address_v4::loopback(), port});
  acceptor.listen(4096);
  accept(acceptor, files);
  context.run();
}
