// SPDX-License-Identifier: MIT
// Syntax files for editors, made of the lexer's own word lists.
#pragma once

#include <string>

namespace heddle::draft {

/// For Vim and Neovim: syntax/draft.vim.
[[nodiscard]] std::string vim_syntax();
/// For Visual Studio Code, Sublime Text and what else reads TextMate grammars.
[[nodiscard]] std::string textmate_grammar();

}  // namespace heddle::draft
