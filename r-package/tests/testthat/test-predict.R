test_that("predict in R is predict in Python", {
  fit <- small_fit()
  scores <- predict(fit, severity, type = "score")
  expect_named(scores, row.names(severity))
  expect_equal(predict(fit), predict(fit, severity))
  # training scores as Python has them
  restored <- reticulate::import("relbounds.interop.plain")$restore(fit$serialized)
  theirs <- unlist(reticulate::py_eval("lambda f: [float(v) for v in f.decision_function()]")(restored))
  expect_lt(max(abs(scores - theirs)), 1e-10)
  guess <- unlist(reticulate::py_eval("lambda f: [str(v) for v in f.predict()]")(restored))
  expect_equal(as.character(predict(fit, severity)), guess)
})

test_that("classes come back as the response was", {
  need_python()
  expect_s3_class(predict(small_fit(), severity), "ordered")
  expect_equal(levels(predict(small_fit(), severity[1, ])), levels(severity$severity))
  fit <- quick(I(severity != "none") ~ age + stiffness + crp)
  expect_type(predict(fit, severity), "logical")
  s <- transform(few, ill = factor(severity > "mild", labels = c("no", "yes")))
  fit <- quick(ill ~ age + stiffness, s)
  expect_equal(levels(predict(fit, severity)), c("no", "yes"))
  expect_false(is.ordered(predict(fit, severity)))
  counted <- transform(few, grade = 2 * as.integer(severity))
  fit <- quick(grade ~ age + stiffness + crp, counted, family = "ordinal")
  expect_true(all(predict(fit, counted) %in% c(2, 4, 6, 8)))
  fit <- quick(bmi ~ age + crp, epsilon = 0.1)
  expect_equal(predict(fit, severity), predict(fit, severity, type = "score"))
  expect_problem(predict(fit, type = "class"), "there are no classes")
})

test_that("stored terms and levels are applied to new data", {
  need_python()
  fit <- quick(severity ~ poly(age, 2) + sex + stiffness | adjust(factor(crp > 10), bmi))
  expect_false(isTRUE(all.equal(fit$baseline$adjust_weights, c(0, 0), check.attributes = FALSE)))
  some <- severity[5:9, ]
  expect_equal(predict(fit, some, type = "score"), predict(fit, severity, type = "score")[5:9])
  # one level of a factor is enough, as text too
  expect_equal(predict(fit, transform(some, sex = as.character(sex)), type = "score"), predict(fit, some, type = "score"))
  males <- droplevels(severity[severity$sex == "male", ])
  expect_length(predict(fit, males), nrow(males))
  # one row, and a row with a missing value
  expect_length(predict(fit, some[1, ]), 1)
  some$age[2] <- NA
  expect_equal(unname(is.na(predict(fit, some))), c(FALSE, TRUE, FALSE, FALSE, FALSE))
})

test_that("new data that do not fit are refused", {
  fit <- small_fit()
  expect_problem(predict(fit, severity["age"]), "lacks 'stiffness'")
  adjusted <- quick(severity ~ stiffness | adjust(age))
  expect_problem(predict(adjusted, severity["stiffness"]), "lacks 'age'")
  strange <- transform(severity[1:3, ], sex = factor(c("male", "female", "other")))
  expect_problem(predict(fit, strange), "new level")
  expect_problem(predict(fit, transform(severity[1:3, ], age = as.character(age))), "does not fit the model")
  expect_problem(predict(fit, severity, type = "link"), "is not known; use \"response\"")
  expect_problem(predict(fit, severity, tpye = "score"), "Did you mean 'type'?")
})

test_that("a column that was constant in training is forgotten in prediction", {
  need_python()
  s <- transform(few, one = 7)
  fit <- quick(severity ~ age + one + stiffness, s)
  expect_length(predict(fit, s[1:3, ]), 3)
})
