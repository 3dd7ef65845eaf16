test_that("figures are drawn, whatever the number of features", {
  fit <- small_fit()
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  drawn <- plot(fit)
  expect_equal(nrow(drawn), nrow(fit$table))
  expect_false(is.unsorted(rev(as.integer(drawn$relevance))))
  expect_equal(plot(fit, sort = FALSE, legend = FALSE, main = "Title")$feature, fit$table$feature)
  expect_equal(nrow(plot(fit, features = c("age", "bmi"))), 2)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  expect_problem(plot(fit, features = "agee"), "Did you mean 'age'?")
})

test_that("autoplot makes a ggplot that holds the bounds", {
  skip_if_not_installed("ggplot2")
  p <- ggplot2::autoplot(small_fit())
  expect_s3_class(p, "ggplot")
  built <- ggplot2::ggplot_build(p)
  expect_equal(sort(built$data[[1]]$xmax), sort(small_fit()$table$upper))
})

test_that("tidy, glance and augment have fixed names", {
  skip_if_not_installed("generics")
  fit <- small_fit()
  tidied <- generics::tidy(fit)
  expect_equal(names(tidied)[1:6], c("term", "estimate", "conf.low", "conf.high", "p.value", "adj.p.value"))
  expect_equal(nrow(tidied), 8)
  expect_equal(nrow(generics::glance(fit)), 1)
  more <- generics::augment(fit)
  expect_true(all(c(".fitted", ".score", ".resid") %in% names(more)))
  expect_equal(more$.fitted, unname(fitted(fit)))
  expect_equal(nrow(generics::augment(fit, newdata = severity[1:5, names(severity) != "severity"])), 5)
  # the whole data set, of which the fit left out some rows
  s <- few
  s$age[3] <- NA
  part <- quick(severity ~ age + crp + stiffness, s)
  expect_true(is.na(generics::augment(part, data = s)$.fitted[3]))
})

test_that("broom finds the methods", {
  skip_if_not_installed("broom")
  expect_equal(nrow(broom::tidy(small_fit())), 8)
})

test_that("tables for papers", {
  fit <- small_fit()
  expect_match(to_latex(fit), "\\begin{tabular}", fixed = TRUE)
  expect_match(to_markdown(fit), "stiffness")
  expect_match(to_html(fit), "<table", fixed = TRUE)
  file <- tempfile(fileext = ".tex")
  to_latex(fit, file = file)
  expect_true(any(grepl("tabular", readLines(file))))
  skip_if_not_installed("knitr")
  shown <- knitr::knit_print(fit)
  expect_match(as.character(shown), "|age", fixed = TRUE)
  expect_s3_class(knitr::kable(relevance(fit)), "knitr_kable")
  skip_if_not_installed("xtable")
  expect_s3_class(xtable::xtable(fit), "xtable")
  expect_output(print(xtable::xtable(fit)), "stiffness")
})
