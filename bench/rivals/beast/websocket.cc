// SPDX-License-Identifier: MIT
//
// Boost.Beast on one single-threaded io_context: WebSocket at /echo, which sends each message back,
// and at /chat, which sends each message to all.
//   websocket PORT
#define BOOST_ASIO_DISABLE_THREADS
#define BOOST_BEAST_USE_STD_STRING_VIEW
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <string>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

using executor = asio::io_context::executor_type;
using socket_type = asio::basic_stream_socket<asio::ip::tcp, executor>;
using acceptor_type = asio::basic_socket_acceptor<asio::ip::tcp, executor>;
using text = std::shared_ptr<const std::string>;

class session;
std::set<session*> visitors;  // of /chat

class session : public std::enable_shared_from_this<session> {
 public:
  explicit session(socket_type socket) : ws_(std::move(socket)) {}
  ~session() { visitors.erase(this); }

  void begin() {
    http::async_read(ws_.next_layer(), buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->accept();
                     });
  }
  void say(text what) {
    queue_.push_back(std::move(what));
    if (queue_.size() == 1) send_next();
  }

 private:
  void accept() {
    buffer_.clear();
    ws_.async_accept(request_, [self = shared_from_this()](beast::error_code error) {
      if (error) return;
      self->chats_ = self->request_.target() == "/chat";
      if (self->chats_) visitors.insert(self.get());
      self->read();
    });
  }
  void read() {
    ws_.async_read(buffer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error) self->take();
    });
  }
  void take() {
    ws_.text(ws_.got_text());
    if (!chats_) {
      ws_.async_write(buffer_.data(),
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        self->buffer_.clear();
                        if (!error) self->read();
                      });
      return;
    }
    const auto what = std::make_shared<const std::string>(
        static_cast<const char*>(buffer_.data().data()), buffer_.size());
    buffer_.clear();
    for (session* each : visitors) each->say(what);
    read();
  }
  void send_next() {
    ws_.async_write(asio::buffer(*queue_.front()),
                    [self = shared_from_this()](beast::error_code error, std::size_t) {
                      if (error) return;
                      self->queue_.pop_front();
                      if (!self->queue_.empty()) self->send_next();
                    });
  }

  beast::websocket::stream<socket_type> ws_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  bool chats_ = false;
  std::deque<text> queue_;
};

void accept_next(acceptor_type& door) {
  door.async_accept([&door](beast::error_code error, socket_type socket) {
    if (!error) {
      socket.set_option(asio::ip::tcp::no_delay(true));
      std::make_shared<session>(std::move(socket))->begin();
    }
    accept_next(door);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  asio::io_context loop{1};
  const auto port = static_cast<unsigned short>(std::atoi(argv[1]));
  acceptor_type door(loop.get_executor(), {asio::ip::address_v4::loopback(), port});
  accept_next(door);
  loop.run();
}
