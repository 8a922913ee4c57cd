// SPDX-License-Identifier: MIT
// One page a diagnostic.
#include "tame/explain.hh"

namespace heddle::tame {
namespace {

constexpr explanation pages[] = {
    {"T0001",
     "The file is output of this translator: it has a variable `heddle_gather` in it.\n"
     "Translate the source that it was made from; keep the output out of the source folder.\n"},
    {"T0002", "A comment begins with /* and the file ends before */.\n"},
    {"T0101",
     "A constructor cannot be tamed: an object must be complete when its constructor returns, and\n"
     "a tamed function returns at its first wait. Give the class a tamed member function, and "
     "call\n"
     "it at the end of the constructor:\n\n"
     "  session::session(tamer::fd f) : f_(f) { run(); }\n"
     "  tamed void session::run() { twait { ... } }\n"},
    {"T0102",
     "A destructor cannot be tamed: the object is gone when it returns. What must be waited for\n"
     "ends in a tamed member function that does `delete this`; the destructor only cancels.\n"},
    {"T0103", "A constexpr or consteval function cannot wait. Remove the word.\n"},
    {"T0104",
     "A function with C's variable arguments (...) cannot wait: they lie on the caller's stack.\n"
     "Use a parameter pack: template <class... Args> tamed void f(Args... args).\n"},
    {"T0105",
     "The body of a tamed function cannot be a try block, because what follows `catch` would wait\n"
     "inside of a handler. Put the try block into the body.\n"},
    {"T0106",
     "A tamed function returns nothing: its caller goes on while it waits. Give it an event for\n"
     "the result:\n\n"
     "  tamed int f(int x);                            // no\n"
     "  tamed void f(int x, tamer::event<int> done);   // yes: done(result)\n"},
    {"T0107", "A tamed function cannot be defaulted. Remove `tamed`.\n"},
    {"T0108",
     "main cannot be tamed: the program ends when it returns. Call a tamed function in main, and\n"
     "then tamer::loop().\n"},
    {"T0110",
     "A bracket in a tamed function closes none of its kind. Where a macro opens or closes one,\n"
     "write the bracket itself: the translator reads macros of other files as plain words.\n"},
    {"T0111", "The file ends before the body of this function or twait does.\n"},
    {"T0112",
     "DEFAULT_RETURN { } says what a function of the original Tame returns when it waits. The\n"
     "translator makes two functions of it: one that waits, and one that starts it and returns.\n"
     "That is done for free functions only, with parameters whose name stands last. Elsewhere,\n"
     "return void, and give the function an event for the result.\n"},
    {"T0201",
     "Only tamed functions can wait. Write `tamed` before the function's type, which must be "
     "void.\n"
     "In the original dialect (--dialect tame) an ordinary function may wait on a thread.\n"},
    {"T0202",
     "A lambda is a function of its own, and this one is not tamed. Write it so, and keep what it\n"
     "captures alive until it ends, or give it an event and wait outside:\n\n"
     "  auto f = [](int x, tamer::event<> done) tamed { twait { ... } done(); };\n"},
    {"T0203",
     "C++ allows no wait inside of a handler of exceptions. Note the exception, and wait "
     "behind:\n\n"
     "  std::exception_ptr e;\n"
     "  try { ... } catch (...) { e = std::current_exception(); }\n"
     "  if (e) twait { tell(e, make_event()); }\n"},
    {"T0204",
     "A wait inside of a statement expression ({ ... }): the rest of the expression would have to\n"
     "survive it. Make it a statement of its own.\n"},
    {"T0205",
     "A `case` or `default` in a twait body belongs to a switch that begins outside: control "
     "would\n"
     "jump over the place where the events are counted. Put the whole switch into the body, or a\n"
     "twait into each case.\n"},
    {"T0206",
     "The event would store its value in a variable that ends with the twait body, and the body\n"
     "ends before the wait. Declare the variable before the twait.\n"},
    {"T0207",
     "twait() names nothing. twait { ... } waits for the events that are made in it; twait(r) for\n"
     "one event of the rendezvous r.\n"},
    {"T0208",
     "The size of this array is a variable. A function that waits keeps its variables on the "
     "heap,\n"
     "in a frame whose size the compiler chooses, so that such an array has no place: Clang "
     "refuses\n"
     "it, and GCC leaves it on a stack that is gone after the wait. Make it a std::vector.\n"},
    {"T0301",
     "tvars stands at the top level of a function's body, so that its variables live as long as "
     "the\n"
     "function. In a block, declare variables without it: all of them survive waits here.\n"},
    {"T0302", "tvars in a function that is not tamed. Declare the variables without it.\n"},
    {"T0303",
     "tamerpriv is what tamer is made of inside. Here it is made otherwise. What programs used of "
     "it\n"
     "has public names: event::unblocker, at_trigger, result_pointer, destroy_guard.\n"},
    {"T0401",
     "The translator reads every branch of #if, and all of them must open and close the same\n"
     "brackets inside of a tamed function. Repeat the whole statement in each branch:\n\n"
     "  #if A\n"
     "    twait { f(make_event()); }\n"
     "  #else\n"
     "    twait { g(make_event()); }\n"
     "  #endif\n"},
    {"T0402",
     "A macro holds half of a twait. Let it hold whole statements, or write the twait where the\n"
     "macro is used.\n"},
    {"T0403",
     "A conditional (#if, #ifdef, #ifndef) has no #endif, so its branches cannot be compared.\n"
     "Compilers refuse such a file too.\n"},
    {"T0501",
     "A port says this. A parameter that is a reference, a string_view or a span refers to what "
     "the\n"
     "caller has. The caller goes on at the first wait of this function, and may end. Take the\n"
     "parameter by value, or make sure that what it refers to is kept.\n"},
    {"T0502",
     "A port says this. A twait waits for the events that are made in its body, and this body "
     "makes\n"
     "none: a function that is called there cannot make one for it.\n"},
    {"T0503",
     "A port says this. fun_event keeps the lambda until the event fires, which may be after the\n"
     "function, or the block, has ended. Capture by value.\n"},
    {"T0504",
     "A port says this. The event stores its value in a variable of a block, and belongs to a\n"
     "rendezvous that outlives the block. Nothing is written to a variable that has ended with "
     "its\n"
     "function, but a block of a function that goes on cannot be seen.\n"},
    {"T0505",
     "A port says this. The loop makes an event each time round in the same variable and never\n"
     "waits, so that the event of the turn before is dropped: it fires, and is reported.\n"},
    {"T0506",
     "A port says this. The address of a thread_local variable is that of the worker that runs "
     "now;\n"
     "with several workers the function may go on in another one. Take it again after each "
     "wait.\n"},
};

}  // namespace

std::span<const explanation> explanations() noexcept { return pages; }

std::string_view explain(std::string_view code) noexcept {
  for (const explanation& page : pages)
    if (page.code == code) return page.text;
  return {};
}

}  // namespace heddle::tame
