test_that("a fit survives saveRDS and a new session", {
  fit <- small_fit()
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  # without Python: everything but what Python computes
  out <- fresh_session(c(
    "library(relbounds)",
    sprintf("fit <- readRDS('%s')", file),
    "invisible(capture.output(print(summary(fit))))",
    "cat('predicted', as.character(predict(fit, severity[1:3, ])), '\\n')",
    "cat('started', reticulate::py_available(), '\\n')"
  ), env = "RETICULATE_PYTHON=/nowhere/python")
  expect_true(paste("predicted", paste(predict(fit, severity[1:3, ]), collapse = " "), "") %in% out)
  expect_true("started FALSE " %in% out)
  # with Python: the fit is made whole again
  out <- fresh_session(c(
    "library(relbounds)",
    sprintf("fit <- readRDS('%s')", file),
    "cat(to_markdown(fit))"
  ))
  expect_true(any(grepl("stiffness", out)))
})

test_that("a fit that cannot be made whole says so", {
  fit <- small_fit()
  fit$serialized <- NULL
  expect_problem(to_latex(fit), "Fit it again")
  fit$serialized <- charToRaw("nonsense")
  expect_problem(to_latex(fit), "saved")
})
