" Draft, the language of `heddle draft`. Made by `heddle draft syntax vim`.
if exists("b:current_syntax")
  finish
endif
syn keyword draftKeyword module use pub const record enum extern fn thread main let var take if else while loop for in match return break continue fail move
syn keyword draftWaiting any wait scope within shield spawn nowait defer try or
syn keyword draftConstant true false none
syn keyword draftType channel broadcast rendezvous event text job bool byte int i8 i16 i32 i64 u8 u16 u32 u64 duration error view bytes buffer conn listener file timer semaphore permit void subscription
syn match draftNumber "\<\d[0-9A-Za-z_]*\>"
syn region draftText start=+"+ skip=+\\.+ end=+"+ oneline
syn match draftText "'\(\\.[0-9a-f]*\|[^'\\]\)'"
syn match draftComment "//.*$"
syn match draftCall "\<\h\w*\ze("
hi def link draftKeyword Keyword
hi def link draftWaiting Statement
hi def link draftConstant Constant
hi def link draftType Type
hi def link draftNumber Number
hi def link draftText String
hi def link draftComment Comment
hi def link draftCall Function
setlocal commentstring=//\ %s
let b:current_syntax = "draft"
