module apiary/bench/subjects/go

go 1.19
