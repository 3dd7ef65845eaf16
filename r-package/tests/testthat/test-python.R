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
  expect_equal(sum(grepl("RETICULATE_PYTHON names '/nowhere/python', which does not exist", out, fixed = TRUE)), 2)
  expect_true("FALSE " %in% out)
  none <- relbounds:::named_python("")
  text <- relbounds:::python_missing("No module named 'relbounds'", list(version = "3.11", python = "/usr/bin/python3"), none)
  expect_match(text, "(/usr/bin/python3) does not have relbounds", fixed = TRUE)
  expect_match(text, "install_relbounds()", fixed = TRUE)
  text <- relbounds:::python_missing("", list(version = "3.9", python = "/usr/bin/python3"), none)
  expect_match(text, "Python 3.9 is in use", fixed = TRUE)
  named <- relbounds:::named_python(R.home("bin/R"))
  text <- relbounds:::python_missing("No module named 'relbounds'", list(version = "3.11", python = "python"), named)
  expect_match(text, "because the environment variable RETICULATE_PYTHON names it", fixed = TRUE)
  expect_match(relbounds:::named_python(tempdir())$problem, "which is a folder", fixed = TRUE)
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

test_that("the first fit comes soon after loading, which itself starts nothing", {
  need_python()
  out <- fresh_session(c(
    "loaded <- system.time(library(relbounds))[['elapsed']]",
    "cat('namespaces', 'ggplot2' %in% loadedNamespaces(), reticulate::py_available(), '\\n')"
  ))
  expect_true("namespaces FALSE FALSE " %in% out)
})

test_that("install_relbounds refuses what cannot be installed", {
  expect_problem(install_relbounds(package = "no/such/folder"), "does not exist")
  expect_problem(install_relbounds(package = paste0(tempdir(), "/")), "no pyproject.toml")
  expect_problem(install_relbounds(package = c("a", "b")), "one string")
  expect_problem(install_relbounds(extras = 3), "strings")
})

test_that("the Python package that belongs to this R package is found: a wheel, or the clone", {
  folder <- tempfile("python")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  expect_null(relbounds:::own_python_package(""))
  expect_null(relbounds:::own_python_package(folder))
  clone <- file.path(folder, "clone")
  dir.create(clone)
  writeLines(clone, file.path(folder, "clone.txt"))
  expect_null(relbounds:::own_python_package(folder))
  file.create(file.path(clone, "pyproject.toml"))
  expect_equal(relbounds:::own_python_package(folder), clone)
  file.create(file.path(folder, "relbounds-0.1.0-py3-none-any.whl"))
  expect_equal(basename(relbounds:::own_python_package(folder)), "relbounds-0.1.0-py3-none-any.whl")
})

test_that("a folder called relbounds in the working directory changes nothing", {
  folder <- tempfile("work")
  dir.create(file.path(folder, "relbounds"), recursive = TRUE)
  writeLines("raise RuntimeError('not this one')", file.path(folder, "relbounds", "__init__.py"))
  old <- setwd(folder)
  on.exit({
    setwd(old)
    unlink(folder, recursive = TRUE)
  })
  expect_equal(relbounds:::python_source("relbounds"), "relbounds")
  need_python()
  out <- fresh_session(c(sprintf("setwd('%s')", folder), "library(relbounds)", "cat(relbounds_available(), '\\n')"))
  expect_true("TRUE " %in% out)
})

test_that("the citation is complete", {
  entries <- utils::citation("relbounds")
  expect_length(entries, 6)
  text <- paste(format(entries, style = "text"), collapse = " ")
  for (word in c("Neurocomputing", "Bielefeld", "Support Vector Ordinal Regression", "Slack Variables", "10.1016/j.neucom.2019.12.133")) {
    expect_match(text, word, fixed = TRUE)
  }
})

test_that("progress is drawn by R, after a second, and never in a document", {
  expect_false(relbounds:::progress_for(NULL, show = FALSE))
  expect_false(relbounds:::progress_for(FALSE))
  expect_true(is.function(relbounds:::progress_for(NULL, show = TRUE)))
  expect_problem(relbounds:::progress_for("yes"), "TRUE, FALSE, NULL")
  file <- tempfile()
  con <- file(file, "w")
  bar <- relbounds:::progress_bar(delay = 0, con = con, width = 40)
  bar("bounds", 0, 4)
  bar("bounds", 4, 4)
  bar("refits", 3, NULL)
  close(con)
  shown <- readChar(file, 1000)
  expect_match(shown, "bounds [", fixed = TRUE)
  expect_match(shown, "4/4", fixed = TRUE)
  early <- file(file, "w")
  relbounds:::progress_bar(delay = 60, con = early)("bounds", 1, 4)
  close(early)
  expect_equal(file.size(file), 0)
  need_python()
  seen <- character()
  fit <- quick(severity ~ age + stiffness, progress = function(stage, done, total) seen <<- c(seen, stage))
  expect_gt(length(seen), 0)
  expect_match(to_markdown(fit), "stiffness")
})
