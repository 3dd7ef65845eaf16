test_that("unknown arguments and beginnings of names are refused by every function and method", {
  fit <- small_fit()
  odd <- function(expr, name) {
    problem <- caught(expr)
    expect_s3_class(problem, "relbounds_option_error")
    expect_match(conditionMessage(problem), paste0("There is no argument '", name, "'"), fixed = TRUE)
  }
  odd(groups(fit, bu = "overlap"), "bu")
  odd(groups(fit, par = "regular"), "par")
  odd(sweep_delta(fit, deltas = 1), "deltas")
  odd(stability(fit, B = 5), "B")
  odd(predict(fit, tpye = "score"), "tpye")
  odd(predict(fit, newd = few), "newd")
  odd(relbounds(severity ~ age, severity, prob = 3), "prob")
  odd(svor(severity ~ age, severity, widht = 3), "widht")
  odd(substitutes(fit, "esr", k = 2), "k")
  odd(cheapest(fit, c(crp = 1), others = 2), "others")
  odd(risk_bound(fit, ta = 0.1), "ta")
  odd(relevance(fit, parts = "all"), "parts")
  odd(selected(fit, kid = "strong"), "kid")
  odd(coef(fit, scal = "share"), "scal")
  odd(plot(fit, sorted = TRUE), "sorted")
  odd(write_report(fit, "a.html", titel = "x"), "titel")
  odd(summary(fit, digits = 2), "digits")
  odd(lapply(list(fit), groups, kk = 2), "kk")
  odd(install_relbounds(extra = "forest"), "extra")
  expect_problem(risk_bound(fit, 0.05, 3), "without a name")
})

test_that("every S3 method of the package looks at its arguments", {
  ns <- asNamespace("relbounds")
  methods <- unique(getNamespaceInfo(ns, "S3methods")[, 3])
  # aliases of another method, methods that only refuse, and methods whose '...' goes on to one that looks
  exempt <- c("[.relbounds_between", "is.na.relbounds_between", "as.data.frame.relbounds_between", "constrain.relbounds",
              "update.relbounds", "xtable.relbounds", "knit_print.relbounds")
  # generics of other packages: what they pass on is theirs
  theirs <- c("varImp", "emm_basis", "recover_data", "find_formula", "find_parameters", "get_data", "get_parameters", "model_info",
              "model_parameters")
  exempt <- c(exempt, paste0(theirs, ".relbounds"), "varImp.relbounds_forest")
  silent <- Filter(function(name) {
    f <- get0(name, ns, mode = "function")
    if (is.null(f) || name %in% exempt || grepl("^(plot[.]|tidy[.]|to_|logLik|vcov|anova)", name)) return(FALSE)
    !any(grepl("check_arguments", deparse(body(f)), fixed = TRUE))
  }, methods)
  expect_equal(silent, character())
})

test_that("a report is HTML, and says what else can be written", {
  fit <- small_fit()
  expect_problem(write_report(fit, "r.pdf"), "to_word(), to_latex(), to_markdown() or to_csv()", "relbounds_option_error")
})

test_that("attaching the package masks nothing of R", {
  exported <- getNamespaceExports("relbounds")
  for (package in c("base", "stats", "graphics", "grDevices", "utils", "methods", "datasets")) {
    expect_equal(intersect(exported, getNamespaceExports(package)), character(), label = package)
  }
})

test_that("families of glm() get one line", {
  expect_problem(relbounds(severity ~ age, severity, family = binomial()), "say family = \"binary\"", "relbounds_option_error")
  expect_problem(relbounds(severity ~ age, severity, family = gaussian), "say family = \"regression\"")
  expect_problem(relbounds(severity ~ age, severity, family = poisson()), "leave it out")
  expect_problem(relbounds(severity ~ age, severity, family = "binray"), "Did you mean 'binary'?")
})

test_that("a formula of others can be checked before it runs", {
  expect_problem(relbounds(severity ~ age + I(system("true")), severity, safe = TRUE), "may not call 'system'", "relbounds_formula_error")
  expect_problem(relbounds(severity ~ base::eval(age), severity, safe = TRUE), "may not call")
  expect_silent(relbounds:::check_safe(severity ~ log(age) + poly(bmi, 2) + factor(sex) | adjust(pulse)))
})
