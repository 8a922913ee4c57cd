module core

go 1.19
