" SPDX-License-Identifier: MIT
" Rules of healer; those of Monit have a syntax of their own in vim. Made by generate.py: do not edit.
autocmd BufRead,BufNewFile */healer/rules.d/*.rules,*/healer/*.rules set filetype=healer
