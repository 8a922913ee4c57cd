// SPDX-License-Identifier: MIT
// Multipart forms against the table in cases/multipart.txt: each body whole, cut at every byte and
// byte by byte, all giving the same parts or the same problem.
#include "heddle/http/multipart.hh"

#include "case_file.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;
using heddle::test::case_line;
using heddle::test::file_case;
using heddle::test::unescape;
using part_kind = multipart_piece::kind;

/// Everything that a decoder says, as the table writes it.
std::string decode(std::string_view body, std::size_t step, std::size_t first) {
  form_limits bounds;
  bounds.fields_max = 4;
  bounds.part_header_bytes_max = 200;
  bounds.preamble_bytes_max = 20;
  multipart_decoder decoder("frontier", bounds);
  std::string said;
  std::size_t at = 0;
  std::size_t size = first;
  bool ended = false;
  while (!ended) {
    // A copy of its own size, so that a sanitizer sees a read past its end.
    const std::string copy(body.substr(at, size));
    std::string_view input = copy;
    for (;;) {
      const multipart_piece piece = decoder.feed(input);
      input.remove_prefix(piece.consumed);
      if (piece.what == part_kind::part) {
        said += "part " + decoder.part().name;
        if (decoder.part().filename) said += " file=" + *decoder.part().filename;
        if (!decoder.part().type.empty()) said += " type=" + decoder.part().type;
        said += " [";
      } else if (piece.what == part_kind::data) {
        EXPECT_FALSE(piece.bytes.empty());
        said += piece.bytes;
      } else if (piece.what == part_kind::part_end) {
        said += "]\n";
      } else {
        ended = piece.what != part_kind::need_more;
        break;
      }
    }
    at += copy.size();
    if (at == body.size() && !ended) break;
    size = step;
  }
  if (!decoder.finish()) said += "fails " + std::string(describe(decoder.error())) + "\n";
  return said;
}

struct form_case {
  std::string body;
  std::string wanted;
};

form_case read(const file_case& from) {
  form_case c;
  for (const case_line& line : from.lines) {
    if (line.word == "|") c.body += unescape(line.rest) + "\r\n";
    if (line.word == ">") c.body += unescape(line.rest);
    if (line.word == "is") c.wanted += unescape(line.rest) + "\n";
  }
  return c;
}

}  // namespace

HEDDLE_TEST(multipart, "every body of its table gives its parts, however the input is cut") {
  for (const file_case& from : heddle::test::read_cases("multipart.txt")) {
    SCOPED_TRACE(from.place + " " + from.name);
    const form_case c = read(from);
    EXPECT_EQ(decode(c.body, c.body.size(), c.body.size()), c.wanted);
    EXPECT_EQ(decode(c.body, 1, 1), c.wanted);
    for (std::size_t cut = 1; cut < c.body.size(); ++cut)
      ASSERT_EQ(decode(c.body, c.body.size(), cut), c.wanted) << "cut at " << cut;
  }
}

HEDDLE_TEST(multipart, "the boundary and other parameters are found, quoted or not") {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc").value_or("-"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; x=1; BOUNDARY=\"a b:c\"").value_or("-"),
            "a b:c");
  for (const char* bad : {"", "multipart/form-data", "multipart/mixed; boundary=a",
                          "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a \"",
                          "multipart/form-data; boundary=a{b", "multipart/form-data; xboundary=a"})
    EXPECT_FALSE(multipart_boundary(bad)) << bad;
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'a')));
  EXPECT_EQ(header_parameter("form-data; name=\"a;b=\\\"c\\\"\"; filename=x", "filename"), "x");
  EXPECT_EQ(header_parameter("form-data; name=\"a;b=\\\"c\\\"\"", "name"), "a;b=\"c\"");
  EXPECT_EQ(header_parameter("form-data; name=\"C:\\dir\\f\"", "name"), "C:\\dir\\f");
  EXPECT_EQ(header_parameter("form-data; name=\"open", "name"), "open");
  EXPECT_FALSE(header_parameter("name=x", "name"));
}
