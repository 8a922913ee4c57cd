// SPDX-License-Identifier: MIT
// Tame source: the paper's adapter that adds a timeout to any event (figure 5), and its read lock,
// whose release lets all waiting readers in (section 7.5).
// out: quick: 42
// out: slow: timeout
// out: writer in
// out: reader 1 in
// out: reader 2 in
// out: reader 1 out
// out: reader 2 out
#include <tamer/tamer.hh>

#include <cstdio>
#include <vector>

using namespace tamer;

tamed void answer(int msec, event<int> e) {
  twait { at_delay_msec(msec, make_event()); }
  e.trigger(42);
}

template <typename T>
tamed void bound(event<T>* base, event<bool, T> e) {
  tvars { rendezvous<bool> r; T result; bool ok; }
  at_delay_msec(20, make_event(r, false));
  *base = make_event(r, true, result);
  twait(r, ok);
  e.trigger(ok, result);
  r.clear();
}
template <typename T>
event<T> in_time(event<bool, T> e) {
  event<T> base;
  bound(&base, e);
  return base;
}

/// One writer or many readers.
class read_lock {
 public:
  void write(event<> done) {
    if (!writing_ && readers_ == 0) {
      writing_ = true;
      done();
    } else {
      writers_.push_back(done);
    }
  }
  void read(event<> done) {
    if (!writing_) {
      ++readers_;
      done();
    } else {
      waiting_ += done;  // one event for all who wait
      ++next_readers_;
    }
  }
  void release() {
    if (writing_) {
      writing_ = false;
      readers_ = next_readers_;
      next_readers_ = 0;
      waiting_.trigger();
      if (readers_ != 0) return;
    } else if (--readers_ != 0) {
      return;
    }
    if (writers_.empty()) return;
    writing_ = true;
    event<> next = writers_.front();
    writers_.erase(writers_.begin());
    next();
  }

 private:
  bool writing_ = false;
  int readers_ = 0, next_readers_ = 0;
  event<> waiting_;
  std::vector<event<>> writers_;
};

static read_lock lock;

tamed void writer() {
  twait { lock.write(make_event()); }
  printf("writer in\n");
  twait { at_delay_msec(5, make_event()); }
  lock.release();
}
tamed void reader(int i) {
  twait { lock.read(make_event()); }
  printf("reader %d in\n", i);
  twait { at_delay_msec(i * 5, make_event()); }
  printf("reader %d out\n", i);
  lock.release();
}

tamed void program() {
  tvars { int a; bool ok; }
  twait { answer(1, in_time<int>(make_event(ok, a))); }
  printf("quick: %d\n", ok ? a : -1);
  twait { answer(500, in_time<int>(make_event(ok, a))); }
  printf("slow: %s\n", ok ? "in time" : "timeout");
  writer();
  reader(1);
  reader(2);
}

int main() {
  tamer::initialize();
  tamer::set_time_type(tamer::time_virtual);  // the same run on any machine
  program();
  tamer::loop();
  tamer::cleanup();
}
