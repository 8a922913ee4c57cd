// SPDX-License-Identifier: MIT
// The identifiers that mean something to the translator.
#include <unordered_map>

#include "tame/token.hh"

namespace heddle::tame {
namespace {

const std::unordered_map<std::string_view, word>& words() {
  static const std::unordered_map<std::string_view, word> all = {
      {"tamed", word::tamed_},
      {"tvars", word::tvars_},
      {"twait", word::twait_},
      {"make_event", word::make_event_},
      {"mkevent", word::mkevent_},
      {"tamer", word::tamer_},
      {"tamerpriv", word::tamerpriv_},
      {"holdvar", word::holdvar_},
      {"CLOSURE", word::closure_},
      {"_self", word::self_},
      {"DEFAULT_RETURN", word::default_return_},
      {"catch", word::catch_},
      {"case", word::case_},
      {"class", word::class_},
      {"co_await", word::co_await_},
      {"co_return", word::co_return_},
      {"const", word::const_},
      {"consteval", word::consteval_},
      {"constexpr", word::constexpr_},
      {"decltype", word::decltype_},
      {"default", word::default_},
      {"delete", word::delete_},
      {"do", word::do_},
      {"else", word::else_},
      {"enum", word::enum_},
      {"explicit", word::explicit_},
      {"extern", word::extern_},
      {"for", word::for_},
      {"friend", word::friend_},
      {"goto", word::goto_},
      {"if", word::if_},
      {"inline", word::inline_},
      {"mutable", word::mutable_},
      {"namespace", word::namespace_},
      {"noexcept", word::noexcept_},
      {"operator", word::operator_},
      {"requires", word::requires_},
      {"return", word::return_},
      {"static", word::static_},
      {"struct", word::struct_},
      {"switch", word::switch_},
      {"template", word::template_},
      {"this", word::this_},
      {"throw", word::throw_},
      {"try", word::try_},
      {"typedef", word::typedef_},
      {"typename", word::typename_},
      {"union", word::union_},
      {"using", word::using_},
      {"virtual", word::virtual_},
      {"void", word::void_},
      {"volatile", word::volatile_},
      {"while", word::while_},
      {"auto", word::auto_},
      {"break", word::break_},
      {"continue", word::continue_},
      {"alignas", word::alignas_},
      {"__attribute__", word::attribute_},
      {"thread_local", word::thread_local_},
      {"__thread", word::thread_local_},
      {"int", word::builtin_type_},
      {"char", word::builtin_type_},
      {"bool", word::builtin_type_},
      {"short", word::builtin_type_},
      {"long", word::builtin_type_},
      {"signed", word::builtin_type_},
      {"unsigned", word::builtin_type_},
      {"float", word::builtin_type_},
      {"double", word::builtin_type_},
      {"wchar_t", word::builtin_type_},
      {"size_t", word::builtin_type_},
      {"define", word::define_},
      {"elif", word::elif_},
      {"elifdef", word::elif_},
      {"elifndef", word::elif_},
      {"endif", word::endif_},
      {"ifdef", word::ifdef_},
      {"ifndef", word::ifndef_},
      {"include", word::include_},
      {"line", word::line_},
      {"undef", word::undef_},
      {"heddle_gather", word::gather_},
  };
  return all;
}

}  // namespace

word word_of(std::string_view identifier) noexcept {
  const auto found = words().find(identifier);
  return found == words().end() ? word::none : found->second;
}

}  // namespace heddle::tame
