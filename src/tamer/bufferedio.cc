// SPDX-License-Identifier: MIT
// Reading up to a byte. The content is shared with pending operations, so a buffer may go.
#include "tamer/bufferedio.hh"

#include <cerrno>
#include <cstring>

#include "tamer/descriptor.hh"
#include "tamer/guarded_slot.hh"

namespace tamer {

struct buffer::content {
  explicit content(std::size_t n) : at_least(n == 0 ? 1 : n) {}
  std::string bytes;
  std::size_t at_least;  ///< bytes of room that a read gets
};

buffer::buffer(std::size_t initial_capacity)
    : content_(std::make_shared<content>(initial_capacity)) {}
buffer::~buffer() = default;

std::size_t buffer::size() const noexcept { return content_->bytes.size(); }
const char* buffer::data() const noexcept { return content_->bytes.data(); }

std::string buffer::take(std::size_t n) {
  std::string out = content_->bytes.substr(0, n);
  content_->bytes.erase(0, n);
  return out;
}

/// Makes one read, into memory of its own instead of the shared content.
void buffer::fill(std::shared_ptr<content> in, fd f, event<int> done) {
  if (detail::descriptor* const d = detail::descriptor::of(f);
      d != nullptr && !d->surplus.empty() && done) {
    in->bytes += std::exchange(d->surplus, {});
    done.trigger(0);
    co_return;
  }
  std::string room(in->at_least, '\0');
  std::size_t count = 0;
  int result = 0;
  {
    ::heddle::tame::gather both;
    {
      const ::heddle::tame::maker make_event(both);
      event<std::size_t, int> e = make_event(count, result);
      done.at_trigger(e.unblocker());
      f.read_once(room.data(), room.size(), e);
    }
    co_await both;
  }
  in->bytes.append(room, 0, count);
  done.trigger(result != 0 ? result : count == 0 ? -EPIPE : 0);
  co_return;
}

void buffer::find(std::shared_ptr<content> in, fd f, char c, std::size_t limit,
                  event<std::size_t, int> done) {
  std::size_t seen = 0;
  int result = 0;
  while (done) {
    const std::size_t here = in->bytes.find(c, seen);
    if (here != std::string::npos && here < limit) {
      done.trigger(here + 1, 0);
      co_return;
    }
    if (here != std::string::npos || in->bytes.size() >= limit) {
      done.trigger(in->bytes.size(), -E2BIG);
      co_return;
    }
    seen = in->bytes.size();
    {
      ::heddle::tame::gather more;
      {
        const ::heddle::tame::maker make_event(more);
        event<int> e = make_event(result);
        done.at_trigger(e.unblocker());
        fill(in, f, e);
      }
      co_await more;
    }
    if (result != 0) {
      done.trigger(in->bytes.size(), result);
      co_return;
    }
  }
  co_return;
}

void buffer::fill_more(fd f, int_event done) { fill(content_, std::move(f), std::move(done)); }

void buffer::fill_until(fd f, char c, std::size_t limit, std::size_t& len, int_event done) {
  event<int> e = std::move(done);
  find(content_, std::move(f), c, limit,
       heddle::function_event<std::size_t, int>(
           [slot = detail::guarded_slot<std::size_t>(len), e](std::size_t n, int result) {
             if (std::size_t* const to = slot.get(); to != nullptr && e) *to = result == 0 ? n : 0;
             e.trigger(result);
           }));
}

namespace {

void take_found(fd f, char c, std::size_t limit, std::string& text, event<int> done, auto find,
                auto take) {
  const detail::guarded_slot<std::string> slot(text);
  std::size_t len = 0;
  int result = 0;
  {
    ::heddle::tame::gather both;
    {
      const ::heddle::tame::maker make_event(both);
      event<std::size_t, int> e = make_event(len, result);
      done.at_trigger(e.unblocker());
      find(std::move(f), c, limit, e);
    }
    co_await both;
  }
  if (!done) co_return;
  if (std::string* const to = slot.get()) *to = result == 0 ? take(len) : std::string();
  done.trigger(result);
  co_return;
}

}  // namespace

void buffer::take_until(fd f, char c, std::size_t limit, std::string& text, int_event done) {
  std::shared_ptr<content> in = content_;
  take_found(
      std::move(f), c, limit, text, std::move(done),
      [in](fd from, char until, std::size_t at_most, event<std::size_t, int> e) {
        find(in, std::move(from), until, at_most, std::move(e));
      },
      [in](std::size_t n) {
        std::string out = in->bytes.substr(0, n);
        in->bytes.erase(0, n);
        return out;
      });
}

}  // namespace tamer
