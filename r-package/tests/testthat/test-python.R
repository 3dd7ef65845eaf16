test_that("loading the package does not start Python", {
  out <- fresh_session(c("library(relbounds)", "cat(reticulate::py_available(), nrow(severity), '\\n')"))
  expect_true("FALSE 300 " %in% out)
})

test_that("a missing or wrong Python gives one clear message with the command to run", {
  code <- c(
    "library(relbounds)",
    "e <- tryCatch(relbounds(severity ~ age, severity), error = identity)",
    "cat(class(e)[1:2], '\\n'); cat(conditionMessage(e), '\\n'); cat(relbounds_available(), '\\n')",
    "print(relbounds_config())"
  )
  out <- fresh_session(code, env = "RETICULATE_PYTHON=/nowhere/python")
  expect_true("relbounds_python_error relbounds_error " %in% out)
  expect_true(any(grepl("install_relbounds()", out, fixed = TRUE)))
  expect_true("FALSE " %in% out)
  text <- relbounds:::python_missing("No module named 'relbounds'", list(version = "3.11", python = "/usr/bin/python3"))
  expect_match(text, "(/usr/bin/python3) does not have the package relbounds", fixed = TRUE)
  text <- relbounds:::python_missing("", list(version = "3.9", python = "/usr/bin/python3"))
  expect_match(text, "Python 3.9 is in use", fixed = TRUE)
})

test_that("a Python that is running already does not keep the package from loading", {
  need_python()
  out <- fresh_session(c("invisible(reticulate::py_config())", "library(relbounds)", "cat(relbounds_available(), '\\n')"))
  expect_true("TRUE " %in% out)
})

test_that("newer versions of reticulate are told what is needed, older ones are left alone", {
  asked <- NULL
  newer <- function(packages = NULL, python_version = NULL, ..., exclude_newer = NULL, action = "add") {
    asked <<- list(packages, python_version)
  }
  expect_true(relbounds:::declare_python(newer, "relbounds"))
  expect_equal(asked, list("relbounds", ">=3.11"))
  expect_false(relbounds:::declare_python(NULL, "relbounds"))
  expect_false(relbounds:::declare_python(newer, NULL))
  expect_false(relbounds:::declare_python(function(...) stop("too late"), "relbounds"))
})

test_that("relbounds_config tells what is used", {
  need_python()
  config <- relbounds_config()
  expect_true(config$available)
  expect_output(print(config), "Everything is there")
  expect_true(all(c("numpy", "cvxopt") %in% names(config$packages)))
})

test_that("install_relbounds refuses what pip could not install", {
  expect_problem(install_relbounds(package = "no/such/folder"), "does not exist")
  expect_problem(install_relbounds(package = tempdir()), "no pyproject.toml")
  expect_problem(install_relbounds(package = c("a", "b")), "one string")
})
