library(testthat)
library(relbounds)
test_check("relbounds")
