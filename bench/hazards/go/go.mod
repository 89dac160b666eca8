module apiary/hazards

go 1.19
