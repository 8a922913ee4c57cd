// SPDX-License-Identifier: MIT
// The pages of the errors' numbers.
#include "draft/codes.hh"

namespace heddle::draft {
namespace {

constexpr code_page pages[] = {
    {"D0001", "a character, number or text that is none",
     "The text cannot be read as words of the language: a character without a meaning, a text\n"
     "without its closing quote, a number with an unknown unit, a semicolon.\n\n"
     "Statements end with their line. Sizes have K M G, durations ns us ms s m h.\n"},
    {"D0002", "something else is expected here",
     "The grammar wants something else. At most one error is reported for a statement; the\n"
     "parser goes on at the next line.\n"},
    {"D0003", "an unknown name",
     "There is no variable, function, type, field or module of this name here. Names of other\n"
     "modules need `use`, and `pub` where they are declared.\n"},
    {"D0004", "a value of another type is wanted",
     "Types are converted only where nothing is lost: to a wider integer, from a text, bytes or a\n"
     "buffer to a view, from T to ?T.\n"},
    {"D0005", "a name is used twice", "Two things of one place have the same name.\n"},
    {"D0006", "wrong arguments",
     "A call has too many arguments, too few, or one with an unknown name. The fields of a record\n"
     "are always named.\n"},
    {"D0007", "too deeply nested",
     "Blocks, parentheses, subscripts, types, records, modules and merged functions nest to a\n"
     "depth of 200. Operators in a row, and constants computed from constants, to 1,000.\n"},
    {"D0009", "not in this version",
     "The language has it, and this version of the compiler has not, or `--emit cc` has no C++ "
     "for\n"
     "it: what C changes other than numbers, and a few more. `--emit c` compiles all of it.\n"},
    {"D0101", "a variable was moved and is gone",
     "What is owned (conn, listener, file, buffer, job) has one owner. `spawn`, `move`, `return`,\n"
     "close() and parameters with `take` give it away; afterwards the variable holds nothing.\n\n"
     "    spawn session(c)\n"
     "    try c.write(\"hello\")      // D0101: c belongs to the thread\n\n"
     "Use it before it is given away.\n"},
    {"D0102", "a variable was moved on some path",
     "On one of the ways to this line the variable was given away. Give it away on all of them, "
     "or\n"
     "leave the function where it was.\n"},
    {"D0201", "something is lent to a job",
     "Inside `scope` a job may borrow what its spawner owns. Until the scope ends the spawner "
     "must\n"
     "not change it, move it, or wait on it; what a job may change, it must not read either.\n"},
    {"D0301", "what a view looks into has changed",
     "A view is borrowed from a buffer, a text or bytes. When its owner is changed, moved or "
     "gone,\n"
     "the view looks at nothing.\n\n"
     "    let head = buf.filled()\n"
     "    buf.consume(4)\n"
     "    try c.write(head)         // D0301\n\n"
     "Use the view before, or keep head.copy().\n"},
    {"D0401", "an error is ignored",
     "An operation whose result has a `!` may fail. Pass the error on with `try`, or handle it:\n"
     "`or value`, `or return`, `or e { ... }`.\n"},
    {"D0402", "an error cannot be passed on here",
     "`try` and `fail` leave the function with an error, so its result needs a `!`. Threads may\n"
     "always end with an error.\n"},
    {"D0501", "a variable is read before it has a value",
     "A `var` without a value must get one on every path before it is read.\n"},
    {"D0601", "a loop never waits and never ends",
     "Other threads of the color could never run again. Leave the loop with break or return, or\n"
     "wait in it.\n"},
    {"D0602", "a wait inside nowait",
     "`nowait { }` asserts that nothing in it waits, and something does.\n"},
    {"D0603", "defer waits or leaves",
     "A deferred call runs while the block is being left, perhaps because the thread was\n"
     "cancelled, so it cannot wait: write `defer shield { ... }`. It cannot leave the block "
     "either.\n"},
    {"D0701", "a view is kept",
     "A view is borrowed: it may be a variable or a parameter, and not be returned, stored, sent "
     "or\n"
     "given to a thread. bytes can; copy() makes them.\n"},
    {"D0702", "a spawned function borrows and may outlive it",
     "A function that borrows can be spawned inside `scope` only, which waits for it.\n"},
    {"D0703", "an action is kept",
     "A parameter of type fn() -> T is an action: the call writes it as fn() { ... }, and the "
     "function\n"
     "calls it or passes it down. Each call expands the function with its actions, so an action "
     "is\n"
     "no value: it cannot be stored, returned, sent, given to a thread, or be the name of a "
     "function.\n\n"
     "    fn twice(step: fn() -> !) -> ! {\n"
     "        try step()\n"
     "        try step()\n"
     "    }\n\n"
     "    try twice(fn() { c.write(\"x\") })\n"},
    {"D0704", "an action gives away what is not its own",
     "An action may change the variables around it. It may run any number of times, or never, so "
     "it\n"
     "cannot move, close or spawn them away, and it starts no thread.\n"},
    {"D0801", "a match misses a case", "Every value needs a case; `else =>` takes the rest.\n"},
    {"D0802", "something is never reached",
     "A case stands twice, or a statement follows one that leaves.\n"},
    {"D0901", "an owned value is copied",
     "What is owned has one owner. `move x` gives it to another variable; a parameter without "
     "`take`\n"
     "borrows it and cannot give it away.\n"},
    {"D0902", "an owned value would be lost",
     "`x = ...` would drop what x owns. Close it, move it, or use another variable.\n"},
    {"D1001", "a function that calls itself cannot be merged",
     "A merged function's code is part of its callers. Calls of itself need frames: `apart fn`.\n"},
    {"D1002", "a record contains itself", "A record is a value and would have no end.\n"},
    {"D1101", "an integer may not fit",
     "A wider integer becomes a narrower one only by a conversion, u16(x), which is a fault where\n"
     "the value does not fit.\n"},
    {"D1102", "a constant does not fit", "The value is known, and its type cannot hold it.\n"},
    {"D1103", "a constant index is out of bounds", "The array has fewer elements.\n"},
    {"D1201", "two arms wait for one end",
     "In one `any` two arms would receive from, or send to, the same object: which of them gets\n"
     "what comes would be chance.\n"},
    {"D1301", "a foreign signature",
     "C cannot be given this type, or gives it otherwise. What the header contradicts, the C\n"
     "compiler reports at the line of the declaration.\n"},
    {"D1401", "a name hides another", "Give one of them another name.\n"},
    {"D1402", "a result is not used", "Write `let _ = ...` if it does not matter.\n"},
    {"D1403", "a variable is not used", "Delete it, or begin its name with _.\n"},
};

}  // namespace

std::span<const code_page> code_pages() noexcept { return pages; }

}  // namespace heddle::draft
