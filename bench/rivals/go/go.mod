module core

go 1.21
