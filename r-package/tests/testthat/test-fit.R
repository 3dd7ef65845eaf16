test_that("arguments have the names, the order and the defaults of Python", {
  need_python()
  theirs <- relbounds:::python_call("signature")
  ours <- as.list(formals(relbounds))
  # a cluster of machines is held by a Python object; subset and na.action are R's own
  theirs$client <- NULL
  expect_setequal(setdiff(names(ours), c("subset", "na.action", "...")), names(theirs))
  for (name in setdiff(names(theirs), c("formula", "data"))) {
    mine <- eval(ours[[name]])
    expect_identical(if (is.numeric(mine)) as.double(mine) else mine,
                     if (is.numeric(theirs[[name]])) as.double(theirs[[name]]) else theirs[[name]], label = name)
  }
})

test_that("the table is Python's", {
  fit <- small_fit()
  expect_s3_class(fit, "relbounds")
  expect_equal(fit$family, "ordinal")
  expect_equal(fit$levels, levels(severity$severity))
  # the same fit, by Python's own formula on the file that both packages ship
  csv <- tempfile(fileext = ".csv")
  utils::write.csv(severity, csv, row.names = FALSE)
  python <- reticulate::py_run_string(paste0(
    "import pandas as pd, relbounds as rb\n",
    "data = pd.read_csv(r'", csv, "')\n",
    "data['severity'] = pd.Categorical(data['severity'], ['none', 'mild', 'moderate', 'severe'], ordered=True)\n",
    "_fit = rb.relbounds('severity ~ age + stiffness + platelets + crp + esr + bmi + sex', data, C=1.0)\n",
    "_table = {name: [float(v) for v in _fit.table[name]] for name in\n",
    "          ['weight', 'lower', 'upper', 'signed_lower', 'signed_upper', 'p_noise', 'p_adjusted']}\n",
    "_table['relevance'] = list(map(str, _fit.table['relevance']))\n"
  ))$`_table`
  for (column in setdiff(names(python), "relevance")) {
    expect_lt(max(abs(fit$table[[column]] - python[[column]])), 1e-10, label = column)
  }
  expect_equal(as.character(fit$table$relevance), python$relevance)
})

test_that("the response decides the family", {
  need_python()
  expect_equal(quick(factor(severity > "mild") ~ age + stiffness)$family, "binary")
  expect_equal(quick(I(severity != "none") ~ age + stiffness)$family, "binary")
  expect_equal(quick(bmi ~ age + crp, epsilon = 0.1)$family, "regression")
  counted <- transform(few, grade = as.integer(severity))
  by_code <- quick(grade ~ age + stiffness, counted)
  expect_equal(by_code$family, "ordinal")
  # codes or names: the same bounds
  expect_equal(by_code$table$upper, quick(severity ~ age + stiffness)$table$upper)
})

test_that("subset and weights are looked up in the data", {
  need_python()
  f <- severity ~ age + stiffness
  fit <- calmly(relbounds(f, few, subset = age > 50, C = 1, delta = 0.01, order = "explicit"))
  expect_equal(nobs(fit), sum(few$age > 50))
  expect_equal(fit$table, calmly(relbounds(f, subset(few, age > 50), C = 1, delta = 0.01, order = "explicit"))$table)

  twice <- calmly(relbounds(f, few, weights = ifelse(age > 50, 2, 1), C = 1, delta = 0.01, order = "explicit"))
  s <- transform(few, w = ifelse(age > 50, 2, 1))
  expect_equal(calmly(relbounds(f, s, weights = "w", C = 1, delta = 0.01, order = "explicit"))$table, twice$table)
  expect_equal(calmly(relbounds(f, s, weights = w, C = 1, delta = 0.01, order = "explicit"))$table, twice$table)
  expect_equal(unname(weights(twice)), s$w)
  expect_false(isTRUE(all.equal(coef(twice), coef(quick(f)))))
  expect_problem(relbounds(f, few, weights = "balanced"), "balance = TRUE")
  expect_problem(relbounds(severity ~ age, s, weights = "ww"), "is not a column")
  expect_problem(relbounds(severity ~ age, s, weights = -w), "negative")
})

test_that("na.action is R's, and 'missing' means what it means in Python", {
  need_python()
  s <- few
  s$age[c(2, 5)] <- NA
  padded <- calmly(relbounds(severity ~ age + stiffness, s, na.action = na.exclude, C = 1, delta = 0.01, order = "explicit"))
  expect_equal(nobs(padded), 98)
  expect_length(fitted(padded), 100)
  expect_true(all(is.na(fitted(padded)[c(2, 5)])))
  expect_problem(relbounds(severity ~ age, s, na.action = na.fail), "missing values")
  expect_problem(relbounds(severity ~ age, s, na.action = na.pass), "whole rows")
  expect_problem(relbounds(severity ~ age, s, missing = "raise"), "missing values")
  expect_problem(relbounds(severity ~ age, s, missing = "keep"), "\"drop\" or \"raise\"")
  expect_output(print(padded), "2 observations deleted due to missingness")
  s[] <- NA
  expect_problem(relbounds(severity ~ age, s), "No complete row")
})

test_that("a function can call relbounds with its own variables", {
  need_python()
  inside <- function(d, cut) {
    f <- severity ~ age + I(stiffness > cut)
    calmly(relbounds(f, data = d, subset = age > 5 * cut, C = 1, delta = 0.01, order = "explicit"))
  }
  fit <- inside(few, 9)
  expect_equal(nobs(fit), sum(few$age > 45))
  expect_length(predict(fit, head(few)), 6)
})

test_that("privileged features have rows of their own, and are never needed again", {
  need_python()
  fit <- quick(severity ~ age + stiffness | priv(biopsy), privileged = "teacher")
  expect_setequal(unique(fit$table$part), c("regular", "privileged"))
  expect_equal(relevance(fit, "privileged")$feature, "biopsy")
  expect_length(predict(fit, few[1:4, c("age", "stiffness")]), 4)
  expect_output(print(summary(fit)), "Privileged features")
})

test_that("unknown arguments are errors that list the known ones", {
  expect_problem(relbounds(severity ~ age, severity, prbes = 3), "Did you mean 'probes'?", "relbounds_option_error")
  expect_problem(relbounds(severity ~ age, severity, n.jobs = 3), "n_jobs", "relbounds_option_error")
  expect_problem(relbounds(severity ~ age, as.matrix(1:3)), "must be a data frame")
  expect_problem(relbounds(42, severity), "must be a formula")
})

test_that("Python's errors and warnings are R conditions without a traceback", {
  need_python()
  expect_problem(relbounds(severity ~ age, severity, C = -1), "C = -1", "relbounds_option_error")
  expect_problem(relbounds(severity ~ age, severity, solver = "cvxoptt"), "Did you mean 'cvxopt'?")
  expect_problem(relbounds(severity ~ age, severity, family = "ordnal"), "ordnal")
  expect_problem(relbounds(severity ~ age, severity, level = NA), "'level' is NA")
  # one feature only: no permuted one can replace it, and the fit says what follows; once
  said <- testthat::capture_warnings(relbounds(severity ~ stiffness, severity, C = 1, probes = 4, control = "published", delta = 0.01))
  expect_length(said, 1)
  expect_match(said, "^None of 40 permuted")
})

test_that("seed and n_jobs: the same table whatever set.seed and the number of processes say", {
  need_python()
  f <- severity ~ age + stiffness + crp + esr
  set.seed(1)
  one <- quick(f, seed = 3)
  set.seed(2)
  two <- quick(f, seed = 3, n_jobs = 2)
  expect_equal(one$table, two$table)
})
