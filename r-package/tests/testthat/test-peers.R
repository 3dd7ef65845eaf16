# Against R's own models for ordered responses, on real data.

test_that("signs of strong features agree with polr and clm", {
  need_python()
  skip_if_not_installed("ordinal")
  skip_if_not_installed("MASS")
  # as numbers: of two columns for two levels either could stand in for the other, so neither would be strong
  wine <- transform(ordinal::wine, warm = as.numeric(temp == "warm"), touched = as.numeric(contact == "yes"))
  fit <- calmly(relbounds(rating ~ warm + touched, wine, C = 1, delta = 0.001, probes = 10))
  strong <- relevance(fit)[relevance(fit)$relevance == "strong", ]
  expect_true("warm" %in% strong$feature)
  clm <- ordinal::clm(rating ~ warm + touched, data = wine)
  polr <- MASS::polr(rating ~ warm + touched, data = wine)
  for (name in strong$feature) {
    expect_equal(strong$direction[strong$feature == name], c("-", "?", "+")[2 + sign(polr$coefficients[[name]])])
    expect_equal(sign(clm$beta[[name]]), sign(polr$coefficients[[name]]))
  }
})

test_that("on the severity study, too", {
  need_python()
  skip_if_not_installed("MASS")
  fit <- small_fit()
  strong <- subset(relevance(fit), relevance == "strong")
  polr <- MASS::polr(severity ~ age + stiffness + platelets + crp + esr + bmi + sex, data = severity)
  signs <- c("-", "?", "+")[2 + sign(polr$coefficients[strong$feature])]
  expect_equal(strong$direction, signs)
})

test_that("levels, missing values and update() behave as theirs", {
  need_python()
  skip_if_not_installed("MASS")
  s <- few
  s$age[1:4] <- NA
  mine <- calmly(relbounds(severity ~ age + stiffness + crp, s, C = 1, probes = 10))
  theirs <- MASS::polr(severity ~ age + stiffness + crp, data = s)
  expect_equal(nobs(mine), theirs$nobs)
  expect_equal(as.integer(mine$na.action), as.integer(theirs$na.action))
  expect_equal(names(mine$baseline$thresholds), names(theirs$zeta))
  expect_equal(levels(predict(mine, s)), levels(predict(theirs, s)))
  expect_equal(which(is.na(predict(mine, s))), which(is.na(predict(theirs, s))), ignore_attr = TRUE)
  expect_equal(formula(calmly(update(mine, . ~ . - crp))), formula(update(theirs, . ~ . - crp)), ignore_attr = TRUE)
  # the order of the levels is the factor's, not the alphabet's
  turned <- transform(few, severity = factor(severity, levels = rev(levels(severity)), ordered = TRUE))
  back <- quick(severity ~ age + stiffness + crp, turned)
  forth <- quick(severity ~ age + stiffness + crp)
  expect_equal(back$table$direction, chartr("+-", "-+", forth$table$direction))
})
