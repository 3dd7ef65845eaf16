need_forest <- function() {
  need_python()
  if (forest_available()) return(invisible())
  if (nzchar(Sys.getenv("RELBOUNDS_REQUIRE_PYTHON"))) stop("lightgbm and boruta are not installed.")
  testthat::skip("The Python packages lightgbm and boruta are not available.")
}

test_that("a product of two features is seen, and its table is one of R", {
  need_forest()
  set.seed(1)
  data <- data.frame(matrix(rnorm(400 * 4), 400, dimnames = list(NULL, c("a", "b", "c", "d"))))
  data$grade <- cut(data$a * data$b, c(-Inf, -0.3, 0.3, Inf), labels = c("low", "mid", "high"), ordered_result = TRUE)
  fit <- forest_relevance(grade ~ ., data, probes = 10, repeats = 1)
  expect_s3_class(fit, "relbounds_forest")
  expect_identical(fit$family, "ordinal")
  expect_setequal(selected(fit, "strong"), c("a", "b"))
  expect_identical(relevance(fit)$feature, c("a", "b", "c", "d"))
  expect_true(all(c("lower", "upper", "importance", "removal_loss", "p_noise") %in% names(as.data.frame(fit))))
  expect_identical(nrow(groups(fit)), 0L)
  expect_output(print(fit), "2 strong")
  expect_output(print(summary(fit)), "Forest relevance")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit))
})

test_that("a factor without an order is a response, and copies form a group", {
  need_forest()
  set.seed(2)
  data <- data.frame(x = rnorm(150), z = rnorm(150), w = rnorm(150))
  data$copy <- data$x + 0.02 * rnorm(150)
  data$kind <- ifelse(data$x > 0.4, "a", ifelse(data$z > 0, "b", "c"))
  fit <- forest_relevance(kind ~ ., data, probes = 6, repeats = 1)
  expect_identical(fit$family, "multiclass")
  expect_setequal(selected(fit, "weak"), c("x", "copy"))
  expect_setequal(groups(fit)$members[[1]], c("x", "copy"))
})

test_that("problems are R conditions", {
  need_forest()
  expect_problem(forest_relevance(severity ~ age, severity, method = "other"), "is not known", "relbounds_option_error")
  expect_problem(forest_relevance(severity ~ age, severity, rounds = 3), "There is no argument 'rounds'")
  expect_problem(forest_relevance(severity ~ age | priv(biopsy), severity), "no privileged part")
})
