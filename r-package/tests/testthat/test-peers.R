# Against R's own models for ordered responses, on real data.

test_that("signs of strong features agree with polr and clm", {
  need_python()
  skip_if_not_installed("ordinal")
  skip_if_not_installed("MASS")
  wine <- ordinal::wine
  fit <- calmly(relbounds(rating ~ temp + contact, wine, C = 1))
  strong <- relevance(fit)[relevance(fit)$relevance == "strong", ]
  expect_setequal(strong$term, c("temp", "contact"))
  expect_equal(strong$feature, c("temp: warm - cold", "contact: yes - no"))
  clm <- ordinal::clm(rating ~ temp + contact, data = wine)
  polr <- MASS::polr(rating ~ temp + contact, data = wine)
  expect_equal(strong$direction, unname(c("-", "?", "+")[2 + sign(polr$coefficients)]))
  expect_equal(sign(clm$beta), sign(polr$coefficients))
})

test_that("a two-level factor is the same variable coded 0 and 1, whatever the order of its levels", {
  need_python()
  columns <- c("weight", "lower", "upper", "p_adjusted", "relevance")
  plain <- quick(severity ~ stiffness + I(as.numeric(sex == "male")))$table[columns]
  factor <- quick(severity ~ stiffness + sex)$table[columns]
  expect_equal(factor, plain, ignore_attr = TRUE, tolerance = 1e-6)
  turned <- quick(severity ~ stiffness + factor(sex, levels = c("male", "female")))$table[columns]
  turned$weight <- abs(turned$weight)
  factor$weight <- abs(factor$weight)
  expect_equal(turned, factor, ignore_attr = TRUE, tolerance = 1e-6)
})

test_that("counts are rows written out: MASS::housing", {
  need_python()
  skip_if_not_installed("MASS")
  some <- subset(MASS::housing, Infl != "High" & Type %in% c("Tower", "Atrium"))
  long <- some[rep(seq_len(nrow(some)), some$Freq), ]
  counted <- quick(Sat ~ Infl + Type + Cont, some, frequency = "Freq")
  written <- quick(Sat ~ Infl + Type + Cont, long)
  expect_equal(counted$table, written$table, tolerance = 1e-8)
  expect_equal(nobs(counted), sum(some$Freq))
  said <- testthat::capture_warnings(relbounds(Sat ~ Infl + Type + Cont, some, weights = Freq, C = 1, delta = 0.01, order = "explicit"))
  expect_match(said[1], "say frequency = instead")
})

test_that("on the severity study, too", {
  need_python()
  skip_if_not_installed("MASS")
  fit <- small_fit()
  strong <- subset(relevance(fit), relevance == "strong")
  polr <- MASS::polr(severity ~ age + stiffness + platelets + crp + esr + bmi + sex, data = severity)
  signs <- unname(c("-", "?", "+")[2 + sign(polr$coefficients[strong$feature])])
  expect_equal(strong$direction, signs)
})

test_that("levels, missing values and update() behave as theirs", {
  need_python()
  skip_if_not_installed("MASS")
  s <- few
  s$age[1:4] <- NA
  mine <- calmly(relbounds(severity ~ age + stiffness + crp, s, C = 1, delta = 0.01, order = "explicit"))
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
