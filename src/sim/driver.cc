// SPDX-License-Identifier: MIT
// The simulation driver's public face: each call goes to its process (process.hh) or to the world,
// with the small checks and records that belong to descriptors.
#include "heddle/sim/driver.hh"

#include <poll.h>
#include <sys/socket.h>

#include <bit>

#include "heddle/base/error.hh"
#include "sim/process.hh"

namespace heddle {

using sim::inode;

sim_driver::sim_driver(sim_options options)
    : world_(std::make_shared<sim::world>(std::move(options))),
      process_(world_->start(world_->lone_computer(), *this)) {}
sim_driver::sim_driver(std::shared_ptr<sim::world> w, sim::computer& on)
    : world_(std::move(w)), process_(world_->start(on, *this)) {}
sim_driver::~sim_driver() = default;

void sim_driver::write_file(std::string_view path, std::string_view content) {
  process_.here.files.plant(path, inode::kind::file, content);
}
void sim_driver::make_link(std::string_view path, std::string_view target) {
  process_.here.files.plant(path, inode::kind::link, target);
}
void sim_driver::make_directories(std::string_view path) {
  process_.here.files.plant(path, inode::kind::directory, "");
}
void sim_driver::set_mode(std::string_view path, unsigned mode) {
  const sim::inode_ptr found = process_.here.files.at(path);
  HEDDLE_ASSERT(found != nullptr, "set the mode of a file that is there");
  found->mode = mode & 07777;
}
std::string sim_driver::read_file(std::string_view path) const {
  const sim::inode_ptr found = process_.here.files.at(path);
  HEDDLE_ASSERT(found != nullptr, "read a file that is there; exists() tells");
  return found->content;
}
bool sim_driver::exists(std::string_view path) const { return process_.here.files.exists(path); }
std::map<std::string, std::string> sim_driver::files() const {
  return process_.here.files.list(false);
}
std::map<std::string, std::string> sim_driver::durable_files() const {
  return process_.here.files.list(true);
}
void sim_driver::crash_disk() { process_.here.files.crash(); }

void sim_driver::set_link(const ::sockaddr* address, unsigned len, sim_link link) {
  sim::address name;
  const int error = sim::address::parse(address, len, name);
  HEDDLE_ASSERT(error == 0, "name the link by an IPv4 or IPv6 address with a port");
  world_->net.set_link(name, link);
}
void sim_driver::set_host(std::string name, std::vector<std::string> addresses, nanoseconds delay) {
  world_->net.hosts[std::move(name)] = {std::move(addresses), delay};
}
void sim_driver::reset_connection(int fd) {
  if (const auto found = process_.find(fd)) found->reset();
}
bool sim_driver::raise_signal(int number) { return process_.raise_signal(number); }

void sim_driver::set_faults(op_code code, sim_rates rates) {
  process_.trouble.set_rates(code, rates);
}
void sim_driver::fail_next(op_code code, int result, unsigned count) {
  process_.trouble.script(code, result, count);
}
void sim_driver::fail_next(sim_call call, int result, unsigned count) {
  process_.trouble.script(call, result, count);
}

void sim_driver::advance(nanoseconds span) { world_->advance(span); }
nanoseconds sim_driver::elapsed() const noexcept { return world_->time() - world_->options.start; }
bool sim_driver::cut_off() const noexcept { return process_.is_cut(); }
bool sim_driver::stalled() const noexcept { return process_.stalled; }
void sim_driver::outside_began() noexcept { process_.outside.fetch_add(1); }
void sim_driver::outside_ended() noexcept { process_.outside.fetch_sub(1); }
std::uint64_t sim_driver::trace_hash() const noexcept { return world_->log.hash(); }
std::string sim_driver::trace_text() const { return world_->log.text(); }
void sim_driver::note(std::string_view text) { process_.note(text); }
std::size_t sim_driver::open_descriptors() const noexcept { return process_.open_descriptors(); }
std::size_t sim_driver::blocks_out() const noexcept { return process_.blocks_out(); }
std::uint64_t sim_driver::faults_injected() const noexcept { return process_.trouble.injected(); }

driver_files* sim_driver::blocking_files() noexcept { return &process_.files; }

bool sim_driver::submit(operation& op, worker& w, completion& now) noexcept {
  op.held = true;
  op.out_of_memory = false;
  op.home = 0;
  op.color = static_cast<std::uint16_t>(w.color);
  return process_.submit(op, now);
}
void sim_driver::cancel(operation& op, worker& w) noexcept { process_.cancel(op, w); }
void sim_driver::turn(worker& w, time_point until) noexcept { process_.turn(w, until); }
void sim_driver::wake() noexcept { process_.wake(); }
std::size_t sim_driver::pending() const noexcept { return process_.pending(); }
time_point sim_driver::now() noexcept { return process_.now(); }
nanoseconds sim_driver::wall_time() noexcept { return process_.wall(); }
std::uint64_t sim_driver::random() noexcept { return process_.random(); }

std::byte* sim_driver::block_at(std::uint32_t block) noexcept { return process_.block_at(block); }
std::uint32_t sim_driver::block_bytes() const noexcept {
  return process_.options.limits.block_bytes;
}
block_statistics sim_driver::blocks() const noexcept { return process_.blocks(); }
void sim_driver::return_block(std::uint32_t block) noexcept { process_.return_block(block); }

int sim_driver::socket(int domain, int type, int) noexcept {
  if (const int e = process_.draw_fault(sim_call::socket); e != 0) return e;
  if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX) return -EAFNOSUPPORT;
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (kind == SOCK_STREAM) return process_.add_descriptor(make_stream_socket(process_, domain));
  if (kind == SOCK_DGRAM) return process_.add_descriptor(make_datagram_socket(process_, domain));
  return -ESOCKTNOSUPPORT;
}
int sim_driver::bind(int fd, const ::sockaddr* to, unsigned len) noexcept {
  if (const int e = process_.draw_fault(sim_call::bind); e != 0) return e;
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->bind(to, len);
}
int sim_driver::listen(int fd, int backlog) noexcept {
  if (const int e = process_.draw_fault(sim_call::listen); e != 0) return e;
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->listen(backlog);
}
int sim_driver::local_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->local_name(out, len);
}
int sim_driver::peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->peer_name(out, len);
}
int sim_driver::set_option(int fd, int level, int option, const void* value,
                           unsigned len) noexcept {
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->set_option(level, option, value, len);
}
int sim_driver::socket_pair(int (&ends)[2]) noexcept {
  if (const int e = process_.draw_fault(sim_call::socket_pair); e != 0) return e;
  std::shared_ptr<sim::object> made[2];
  sim::make_socket_pair(process_, made);
  return process_.add_both(made, ends);
}
int sim_driver::pipe(int (&ends)[2]) noexcept {
  if (const int e = process_.draw_fault(sim_call::pipe); e != 0) return e;
  std::shared_ptr<sim::object> made[2];
  sim::make_pipe(process_, made);
  return process_.add_both(made, ends);
}
int sim_driver::shutdown(int fd, int how) noexcept {
  const auto found = process_.find(fd);
  return found == nullptr ? -EBADF : found->shutdown(how);
}
bool sim_driver::has_input(int fd) noexcept {
  const auto found = process_.find(fd);
  return found != nullptr && (found->events() & POLLIN) != 0;
}
unread_input sim_driver::unread(int fd) noexcept {
  const auto found = process_.find(fd);
  if (found == nullptr) return {.ended = true, .over = true};
  const short now = found->events();
  if ((now & (POLLRDHUP | POLLHUP | POLLERR)) == 0) return {};
  return {.ended = true,
          .over = (now & (POLLHUP | POLLERR)) != 0,
          .bytes = static_cast<std::uint64_t>(found->unread_bytes())};
}
int sim_driver::signal_source(std::uint64_t signal_mask) noexcept {
  if (const int e = process_.draw_fault(sim_call::signal_source); e != 0) return e;
  return process_.add_descriptor(std::make_shared<sim::signal_reader>(process_, signal_mask));
}
int sim_driver::take_signal(std::uint64_t signal_mask) noexcept {
  const std::uint64_t mine = process_.signals_raised & signal_mask;
  process_.signals_raised &= ~(mine & -mine);
  return mine == 0 ? 0 : std::countr_zero(mine) + 1;
}
void sim_driver::release_signals(int fd, std::uint64_t signal_mask) noexcept {
  process_.forget_signals(fd, signal_mask);
}
void sim_driver::close(int fd, worker&) noexcept { process_.close(fd); }

}  // namespace heddle
