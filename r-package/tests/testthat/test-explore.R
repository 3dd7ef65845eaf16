explored <- local({
  fit <- NULL
  function() {
    need_python()
    if (is.null(fit)) {
      fit <<- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = few, C = 0.3, probes = 6)
    }
    fit
  }
})

test_that("what-ifs give narrower intervals and remember their constraint", {
  fit <- explored()
  held <- constrain(fit, esr = "off")
  expect_s3_class(held, "relbounds")
  expect_equal(held$table["esr", "upper"], 0, tolerance = 1e-6)
  expect_true(all(held$table$upper <= fit$table$upper + 1e-6))
  expect_true(all(held$table$lower >= fit$table$lower - 1e-6))
  expect_output(print(held), "esr = 0")
  again <- constrain(held, list(crp = c(0, 0.3)))
  expect_length(again$constraints, 2)
  expect_length(predict(held, few), 100)
  expect_problem(constrain(fit), "Name the features")
  expect_problem(constrain(fit, essr = 0), "Did you mean 'esr'?")
  expect_problem(constrain(fit, age = c(0.9, 0.8)), "age")
})

test_that("substitutes, groups and choices", {
  fit <- explored()
  found <- substitutes(fit, "esr")
  expect_equal(found$feature[1], "crp")
  expect_problem(substitutes(fit, 3), "one string")
  g <- groups(fit, k = 4)
  expect_equal(max(g$labels), 4)
  expect_equal(unname(stats::cutree(g$tree, k = 4)), unname(g$labels), ignore_attr = TRUE)
  expect_output(print(g), "4 groups of 5 features")
  grDevices::pdf(NULL)
  plot(g)
  grDevices::dev.off()
  best <- choose_features(fit, c(crp = 60, esr = 3), other = 1)
  expect_s3_class(best$formula, "formula")
  expect_false("crp" %in% best$terms)
  expect_output(print(best), "proved cheapest")
  expect_problem(choose_features(fit, 3), "named numbers")
})

test_that("sweeps, stability and the risk bound", {
  fit <- explored()
  s <- sweep_delta(fit, c(0.001, 0.1), probes = 4)
  expect_equal(s$deltas, c(0.001, 0.1))
  expect_equal(nrow(s$table), 10)
  expect_output(print(s), "Sweep over 2 tolerances")
  st <- stability(fit, n_resamples = 2, probes = 4)
  expect_equal(unname(rowSums(st$frequencies[c("strong", "weak", "irrelevant")])), rep(1, 5))
  expect_output(print(st), "2 subsamples of 80% of the rows")
  grDevices::pdf(NULL)
  plot(s)
  plot(st)
  grDevices::dev.off()
  risk <- risk_bound(fit)
  expect_true(risk$vacuous)
  expect_output(print(risk), "vacuous")
})
