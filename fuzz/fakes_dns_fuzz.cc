// SPDX-License-Identifier: MIT
// Questions to the fake name server: each that is read gives an answer within its limit, which
// names the question, and its name is the same when it is written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "fakes/dns_message.hh"
#include "require.hh"

using namespace heddle::fakes;
using namespace heddle::fakes::detail;
using heddle::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
  const dns_asked q = read_dns_question(message);
  if (q.is == dns_asked::kind::ignored) return 0;
  dns_answer answer;
  const std::string wire = dns_wire_name("a.test");
  for (int i = 0; i != data[0]; ++i) answer.answers.push_back({wire, 1, 60, "abcd"});
  const std::size_t most = dns_plain_udp_bytes + data[0];
  const std::string bytes = write_dns_answer(q, answer, most, 1232);
  require(bytes.size() >= dns_head_bytes && bytes.substr(0, 2) == message.substr(0, 2));
  require(bytes.size() <= most, "the answer is longer than its limit");
  require(read_dns_question(bytes).is == dns_asked::kind::ignored, "an answer is no question");
  if (q.is != dns_asked::kind::question) return 0;
  const std::string name = dns_wire_name(q.name);
  require(!name.empty(), "a name that was read can be written");
  std::string again(message.substr(0, dns_head_bytes));
  again[10] = again[11] = '\0';
  again += name + std::string("\0\1\0\1", 4);
  require(read_dns_question(again).name == q.name, "a name changes on its way");
  require(dns_name_key(q.name) == dns_name_key(read_dns_question(again).name));
  return 0;
}
