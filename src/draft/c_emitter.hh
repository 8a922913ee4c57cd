// SPDX-License-Identifier: MIT
// Writes the flows of one program as C11: a struct and a function for each thread and apart
// function, an ordinary function for each that does not wait.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "draft/c_names.hh"
#include "draft/flow.hh"

namespace heddle::draft {

class c_emitter {
 public:
  c_emitter(program& p, std::vector<flow>& flows, const emit_options& options)
      : program_(p), flows_(flows), options_(options) {}

  std::string run();

  std::string header();

 private:
  // Types.
  std::string c_type(const type& t);
  static bool is_pointer(const type& t);
  /// A variable of the caller is reached by its value: owners are never replaced through a `var`.
  /// A handle that counts may be, so C gets its address.
  static bool is_own_address(const type& t) { return is_pointer(t) && t.is_owned(); }
  static bool is_struct(const type& t);

  /// A word for a type, used in generated names.
  std::string type_word(const type& t);

  void need_type(const type& t);
  void need_inner(const type& t);
  void collect_types();

  /// C contradicts a declaration: an error at its line in Draft.
  std::string foreign_checks();
  std::string foreign_param(const variable& v);
  /// The name by which a function of C is called: another one where a name of the generated code
  /// would hide its own.
  std::string foreign_name(const function& f);
  /// Ends the #line of Draft: the lines that follow belong to the generated file.
  std::string reset_line();

  std::string error_names();

  // Releasing.
  std::string release_text(const type& t, const std::string& x);
  std::string retain_text(const type& t, const std::string& x);
  /// A function that releases what lies at an address; for records, optionals and channels.
  std::string drop_name(const type& t);
  std::string copy_name(const type& t);

  // Values.
  std::string constant_text(const type& t, __int128 n);

  std::string slot_text(var_id id);
  std::string address_text(const value& v);

  std::string text(const value& v);
  /// In parentheses where it is more than a name.
  std::string wrapped(const value& v);

  std::string binary_text(const binary_value& x, const type& to);

  std::string convert_text(const convert_value& x, const type& to);

  /// A static record for a literal used as bytes.
  std::string literal(const std::string& s);

  // Instructions.
  void line(const std::string& s);
  void mark_line(span at);

  std::string call_arguments(const operation_call& x);

  /// A built-in that answers at once or waits: the text of the call, without the use of its answer.
  std::string operation_text(const operation_call& x, const std::string& wait,
                             const std::string& self = "self");

  std::string print_part(const value& v, const std::string& on, const std::string& begin);
  bool has_errors() const;

  void emit_instr(const instr& x);
  void emit(const set_instr& x);
  void emit(const clear_instr& x);
  void emit(const retain_instr& x);
  void emit(const release_instr& x);
  void emit(const open_within& x);
  void emit(const close_within& x);
  void emit(const open_scope& x);
  void emit(const open_shield& x);
  void emit(const close_shield& x);
  void emit(const operation_call& x);
  void emit(const print_call& x);
  void emit(const function_call& x);
  void emit(const frame_call& x);
  void emit(const spawn_call& x);
  template <class Call>
  std::string draft_arguments(const Call& x);

  // Functions.
  bool returns_status(const flow& f) const {
    return f.fn->fallible() || f.may_fault || f.recursive;
  }

  std::string param_text(const flow& f, std::size_t i);

  /// The functions that C calls; the compiler warns of others that are static.
  void find_called();
  std::string prototype(const flow& f);

  /// The members of a frame: members that share bytes lie in unions of padded structs.
  void emit_frame_type(const flow& f);

  static std::string head_text(const flow& f);

  static std::string wait_what(const flow_block& b);

  void emit_wait_table(const flow& f);

  /// Blocks in reverse postorder: the way that goes well first, unwinding last.
  static std::vector<block_id> order_blocks(const flow& f);

  void name_labels(const flow& f, const std::vector<block_id>& order);

  void go_to(block_id to, block_id next);

  bool uses_bad(const flow& f) const;

  void emit_function(const flow& f);

  void emit_locals(const flow& f);

  void emit_body_head_frame(const flow& f);

  void emit_plain_head(const flow& f);

  void emit_constructor(const flow& f);

  std::string parked(const flow_block& b, const std::string& run = "0");

  void emit_tail(const flow& f, const flow_block& b, block_id next);
  void end_with(const open_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const go_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const branch_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const check_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const fault_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const choose_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const wait_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const pool_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const call_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const any_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const leave_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const yield_tail& how, const flow& f, const flow_block& b, block_id next);
  void end_with(const end_tail& how, const flow& f, const flow_block& b, block_id next);

  void emit_main();

  program& program_;
  std::vector<flow>& flows_;
  const emit_options& options_;
  const flow* flow_ = nullptr;
  std::string out_;
  std::string types_text_;
  std::string prototypes_;
  std::string frames_;
  std::string drops_;
  std::string literals_;
  std::string thunks_;
  std::set<const type*> known_;
  std::set<const function*> called_;
  std::set<std::string> drop_made_;
  std::map<std::string, std::size_t> literal_numbers_;
  std::vector<std::string> labels_;
  std::vector<bool> needs_label_;
  std::uint32_t last_line_ = 0;
  const source::source_file* last_file_ = nullptr;
  int thunk_number_ = 0;
  std::set<std::string> own_names_;  ///< the names of variables in the generated code
  bool has_errors_ = false;
};

}  // namespace heddle::draft
