test_that("a kernel fit predicts in R what Python predicts", {
  need_python()
  fit <- svor(severity ~ age + bmi + crp, severity, C = 1, width = 2, solver = "qp")
  expect_s3_class(fit, "svor")
  guess <- predict(fit, severity)
  expect_identical(levels(guess), levels(severity$severity))
  expect_true(is.ordered(guess))
  expect_equal(mean(as.integer(guess) != as.integer(severity$severity)), fit$training[["mze"]])
  expect_identical(predict(fit), guess)
  expect_false(is.unsorted(fit$thresholds))
  expect_equal(sum(fit$support$n), nrow(severity))
  expect_lt(fit$violation, 1e-2)
  score <- predict(fit, head(severity), type = "score")
  expect_type(score, "double")
  holed <- head(severity)
  holed$bmi[2] <- NA
  expect_identical(unname(which(is.na(predict(fit, holed)))), 2L)
})

test_that("linear kernels, costs, privileged features and grids arrive", {
  need_python()
  k <- nlevels(severity$severity)
  cost <- abs(outer(seq_len(k), seq_len(k), "-"))^2
  fit <- svor(severity ~ age + bmi, severity, order = "implicit", kernel = "linear", C = 1, cost = cost)
  expect_identical(fit$kernel, "linear")
  slacks <- svor(severity ~ age + bmi | priv(biopsy), few, order = "implicit", C = 1, width = 2)
  expect_identical(slacks$slack, "modelled")
  expect_length(predict(slacks, few[c("age", "bmi")]), nrow(few))
  tuned <- svor(severity ~ age + bmi, few, kernel = "linear", C = c(0.1, 10), cv = 3, solver = "qp")
  expect_identical(nrow(tuned$scores), 2L)
  expect_true(tuned$C %in% c(0.1, 10))
})

test_that("a kernel of one's own is a function of two matrices", {
  need_python()
  dot <- function(a, b) a %*% t(b)
  own <- svor(severity ~ age + bmi, few, kernel = dot, C = 1, solver = "qp")
  named <- svor(severity ~ age + bmi, few, kernel = "linear", C = 1, solver = "qp")
  expect_equal(predict(own, few, type = "score"), predict(named, few, type = "score"), tolerance = 1e-4)
  expect_equal(own$kernel, "function")
  holed <- few[1:3, ]
  holed$bmi[2] <- NA
  expect_equal(unname(is.na(predict(own, holed))), c(FALSE, TRUE, FALSE))
})

test_that("it prints, summarises and draws", {
  need_python()
  fit <- svor(severity ~ age + bmi, few, C = 1, width = 1, solver = "qp")
  expect_output(print(fit), "Thresholds")
  expect_output(print(summary(fit)), "Call:.*Levels:.*Thresholds:.*Dual objective")
  expect_equal(nrow(as.data.frame(fit)), nlevels(few$severity))
  drawn <- draw(plot(fit, resolution = 20))
  expect_equal(nrow(drawn$layers[[1]]$data), 400)
  expect_equal(mean(residuals(fit) != 0), fit$training[["mze"]])
  more <- svor(severity ~ age + bmi + crp, few, C = 1, width = 1, solver = "qp")
  expect_problem(plot(more), "Say which", "relbounds_option_error")
  expect_problem(plot(more, c("age", "bmj")), "Did you mean")
  expect_s3_class(draw(plot(more, c("age", "crp"), resolution = 10)), "ggplot")
})

test_that("problems are R conditions", {
  need_python()
  expect_problem(svor(severity ~ age, few, order = "explict"), "Did you mean 'explicit'", "relbounds_option_error")
  expect_problem(svor(severity ~ age, few, C = -1), "C = -1", "relbounds_option_error")
  expect_problem(svor(severity ~ age, few, kernel = 3), "must be \"rbf\", \"linear\", or a function")
  expect_problem(svor(severity ~ age, few, kernel = function(a, b) 1, C = 1), "shape")
  expect_problem(svor(severity ~ age, few, widht = 1), "There is no argument 'widht'")
  expect_problem(svor(severity ~ age, few, C = 1, width = 1, cost = diag(2)), "shape")
})
