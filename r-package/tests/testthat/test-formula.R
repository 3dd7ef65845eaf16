design <- function(formula, data = severity, na.action = stats::na.omit) {
  frame <- as.call(list(as.name("model.frame"), formula = NULL, data = data, na.action = na.action))
  relbounds:::relbounds_design(formula, data, frame, globalenv())
}

test_that("the formula has R's meaning", {
  d <- design(severity ~ . - pulse - sodium | priv(biopsy, log(followup + 10)))
  expect_equal(d$X$names, c("age", "sex[female]", "sex[male]", "bmi", "platelets", "stiffness", "crp", "esr", "il6"))
  expect_equal(d$Z$names, c("biopsy", "log(followup + 10)"))
  expect_equal(d$Z$X[, 2], log(severity$followup + 10))

  d <- design(severity ~ I(age^2) + poly(bmi, 2) + factor(pulse > 70) + crp:esr)
  expect_equal(d$X$names, c("I(age^2)", "poly(bmi, 2)1", "poly(bmi, 2)2", "pulse[FALSE]",
                            "pulse[TRUE]", "crp:esr"))
  expect_equal(unique(d$X$terms), c("I(age^2)", "poly(bmi, 2)", "factor(pulse > 70)", "crp:esr"))
  expect_equal(d$X$X[, 6], severity$crp * severity$esr)
})

test_that("factors get one column per level, in interactions too", {
  d <- design(severity ~ sex * age)
  expect_equal(d$X$names, c("sex[female]", "sex[male]", "age", "sex[female]:age", "sex[male]:age"))
  expect_equal(rowSums(d$X$X[, 1:2]), rep(1, 300))
  expect_equal(rowSums(d$X$X[, 4:5]), severity$age)
  # an ordered feature is coded by level, not by polynomials
  s <- transform(severity, stage = cut(age, c(0, 50, 60, 200), ordered_result = TRUE))
  expect_equal(ncol(design(severity ~ stage, s)$X$X), 3)
})

test_that("columns of a number that is cut into levels are known to hold the same number", {
  s <- transform(severity, site = factor(rep(c("A", "B", "C"), 100)))
  d <- design(severity ~ age + site:age + poly(bmi, 2):sex + age:bmi, s)
  expect_equal(d$X$facts$numbers, list(`age:site` = list(0L, 0L, 0L), `poly(bmi, 2):sex` = list(0L, 1L, 0L, 1L)))
  expect_equal(rowSums(d$X$X[, d$X$terms == "age:site"]), severity$age)
})

test_that("an intercept makes no difference", {
  expect_equal(design(severity ~ age + sex - 1)$X$names, design(severity ~ age + sex)$X$names)
  expect_equal(design(severity ~ 0 + sex)$X$names, c("sex[female]", "sex[male]"))
})

test_that("'.' stands for what no other part names", {
  expect_false("biopsy" %in% design(severity ~ . | priv(biopsy))$X$names)
  expect_true("followup" %in% design(severity ~ . | priv(biopsy))$X$names)
  d <- design(severity ~ age | priv(.), severity[c("severity", "age", "biopsy", "followup")])
  expect_equal(d$Z$names, c("biopsy", "followup"))
})

test_that("privileged terms may be separated by commas or '+'", {
  one <- design(severity ~ age | priv(biopsy, followup))
  two <- design(severity ~ age | priv(biopsy + followup))
  expect_equal(one$Z, two$Z)
})

test_that("parts come in any order, and terms know their levels and variables", {
  one <- design(severity ~ age | priv(biopsy) | adjust(sex, log(bmi)))
  two <- design(severity ~ age | adjust(sex, log(bmi)) | priv(biopsy))
  expect_equal(one$adjust$X, two$adjust$X)
  expect_equal(one$Z$X, two$Z$X)
  d <- design(severity ~ log(age) + factor(sex) + factor(sex):pulse)
  expect_equal(d$X$facts$levels, list(`factor(sex)` = list("female", "male")))
  expect_equal(d$X$facts$variables$`factor(sex):pulse`, list("sex", "pulse"))
  s <- transform(severity, stage = cut(age, c(0, 50, 60, 200), ordered_result = TRUE), one = factor("a"))
  expect_equal(design(severity ~ stage + bmi, s)$X$facts$ordered, list("stage"))
  expect_equal(unlist(design(severity ~ sex:stage, s)$X$facts$levels[[1]])[1:2], c("female:(0,50]", "male:(0,50]"))
})

test_that("variables are found where the formula was written", {
  f <- local({
    mine <- severity$age * 2
    severity ~ mine + bmi
  })
  expect_equal(design(f)$X$X[, 1], severity$age * 2)
})

test_that("names that need quotes work", {
  s <- severity
  names(s)[names(s) == "bmi"] <- "body mass"
  d <- design(severity ~ `body mass` + age, s)
  expect_equal(d$X$names, c("body mass", "age"))
})

test_that("missing values: rows of the variables in use count, others do not", {
  s <- severity
  s$age[1:3] <- NA
  s$biopsy[3:4] <- NA
  s$pulse[10:20] <- NA
  expect_equal(nrow(design(severity ~ age | priv(biopsy), s)$X$X), 296)
  expect_equal(nrow(design(severity ~ . - pulse | priv(biopsy), s)$X$X), 296)
  expect_problem(design(severity ~ age, s, na.action = stats::na.fail), "missing values")
  s$age <- NA_real_
  expect_problem(design(severity ~ age, s), "No complete row is left")
})

test_that("unused levels are dropped, the order is kept", {
  d <- design(severity ~ age, subset(severity, severity != "mild"))
  expect_equal(d$response$levels, c("none", "moderate", "severe"))
})

test_that("formulas that make no sense are shown with a caret", {
  formula_problem <- function(f, pattern, ...) expect_problem(design(f, ...), pattern, "relbounds_formula_error")
  formula_problem(severity ~ age | priv(biopsy) | priv(followup), "two priv(...) parts")
  formula_problem(severity ~ age | priv(), "priv() is empty")
  formula_problem(severity ~ age | biopsy, "Write '| priv(biopsy)'")
  formula_problem(severity ~ age + priv(biopsy), "must stand behind '|'")
  formula_problem(severity ~ age + biopsy | priv(biopsy), "both parts")
  formula_problem(severity ~ age + severity, "stands among the features")
  formula_problem(~age, "no response")
  formula_problem(severity ~ 1, "names no feature")
  formula_problem(severity ~ . | priv(.), "'.' stands in two parts")
  formula_problem(severity ~ bmj, "Did you mean 'bmi'?")
  formula_problem(severity ~ age + offset(bmi), "offset()")
  formula_problem(severity ~ age | adjust(bmi) | adjust(sex), "two adjust(...) parts")
  formula_problem(severity ~ age | adjust(bmi, priv(sex)), "A part stands inside adjust()")
  formula_problem(severity ~ age | priv(bmi) | adjust(bmi), "both parts")
  formula_problem(severity ~ age + adjust(bmi), "must stand behind '|'")
  expect_match(conditionMessage(caught(design(severity ~ age | priv(biopsy) | priv(followup)))),
               "\n    severity ~ age | priv(biopsy) | priv(followup)\n                                    ^", fixed = TRUE)
})

test_that("responses without an order are refused with the remedy", {
  s <- transform(severity, site = factor(rep(c("a", "b", "c"), 100)), text = as.character(severity))
  d <- function(family) relbounds:::response_codes(s$site, "site", family)
  expect_problem(d("ordinal"), "ordered(site, levels = c(\"a\", \"b\", \"c\"))")
  expect_false(d("auto")$ordered)
  expect_problem(design(text ~ age, s), "is text")
  expect_problem(design(Sys.Date() + age ~ bmi, s), "is a Date")
  expect_problem(design(severity ~ age, subset(s, severity == "mild")), "one level only")
  expect_problem(design(cbind(age, bmi) ~ crp), "2 columns")
})

test_that("values that are not finite are refused by name", {
  s <- transform(severity, crp = replace(crp, 1, 0))
  expect_problem(design(severity ~ log(crp), s), "'log(crp)' has infinite")
})

test_that("counts of cases and controls are told to be rows, and these work", {
  expect_error(relbounds(cbind(ncases, ncontrols) ~ agegp + alcgp, data = esoph), "frequency = n")
  rows <- rbind(transform(esoph, case = 1, n = ncases), transform(esoph, case = 0, n = ncontrols))
  fit <- relbounds(case ~ agegp + alcgp, data = rows, frequency = n)
  expect_equal(nobs(fit), sum(esoph$ncases, esoph$ncontrols))
})
