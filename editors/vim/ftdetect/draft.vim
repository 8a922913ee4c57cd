au BufRead,BufNewFile *.draft setfiletype draft
