test_that("parameters and insight read a fit", {
  fit <- small_fit()
  skip_if_not_installed("parameters")
  found <- parameters::model_parameters(fit)
  expect_equal(found$Parameter, fit$table$feature)
  expect_equal(found$Coefficient, fit$table$weight)
  expect_match(attr(found, "ci_method"), "not a confidence interval")
  expect_output(print(found), "not a confidence interval")
  expect_equal(insight::find_response(fit), "severity")
  expect_true(all(c("age", "sex") %in% insight::find_predictors(fit, flatten = TRUE)))
  expect_true(insight::model_info(fit)$is_ordinal)
  expect_equal(insight::n_obs(fit), 300)
  expect_equal(nrow(insight::get_data(fit)), 300)
  expect_equal(nrow(insight::get_parameters(fit)), 7)
})

test_that("sjPlot draws a fit", {
  fit <- small_fit()
  skip_if_not_installed("sjPlot")
  p <- draw(suppressWarnings(sjPlot::plot_model(fit)))
  expect_s3_class(p, "ggplot")
  drawn <- ggplot2::ggplot_build(p)$plot$data
  expect_equal(sort(drawn$estimate), sort(fit$table$weight))
})

test_that("caret ranks features and trains", {
  fit <- small_fit()
  skip_if_not_installed("caret")
  importance <- caret::varImp(fit)
  expect_equal(importance$Overall, fit$table$upper)
  set.seed(1)
  model <- calmly(caret::train(few[c("age", "stiffness", "crp")], few$severity, method = relbounds_caret(), order = "explicit",
                               tuneGrid = data.frame(C = c(0.1, 1)), trControl = caret::trainControl("cv", 2), delta = 0.01))
  expect_true(model$bestTune$C %in% c(0.1, 1))
  expect_s3_class(model$finalModel, "relbounds")
  expect_length(predict(model, few), 100)
  expect_equal(dim(predict(model, few, type = "prob")), c(100, 4))
  expect_true(all(c("age", "stiffness") %in% rownames(caret::varImp(model)$importance)))
})

test_that("emmeans is told what to use instead", {
  fit <- small_fit()
  skip_if_not_installed("emmeans")
  expect_error(emmeans::emmeans(fit, "sex"), "level_contrasts(fit, \"factor\")", fixed = TRUE)
})

test_that("what gtsummary and modelsummary ask of tidy() and glance() is there", {
  fit <- small_fit()
  skip_if_not_installed("generics")
  # both need a character 'term' without repeats and a numeric 'estimate'; glance() must be one row
  tidied <- generics::tidy(fit, conf.int = TRUE, conf.level = 0.95, exponentiate = FALSE)
  expect_type(tidied$term, "character")
  expect_false(anyDuplicated(tidied$term) > 0)
  expect_type(tidied$estimate, "double")
  expect_true("p.value" %in% names(tidied))
  expect_equal(nrow(generics::glance(fit)), 1)
  expect_type(generics::glance(fit)$nobs, "integer")
})

test_that("tidymodels is told of an engine where parsnip is there", {
  if (!nzchar(system.file(package = "parsnip"))) expect_false(relbounds_parsnip())
  calls <- list()
  note <- function(name) function(...) calls[[length(calls) + 1]] <<- list(name, ...)
  names <- c("set_new_model", "set_model_mode", "set_model_engine", "set_fit", "set_encoding", "set_pred", "set_dependency", "set_model_arg")
  fake <- list2env(stats::setNames(lapply(names, note), names))
  expect_true(relbounds_parsnip(fake))
  expect_setequal(vapply(calls, `[[`, "", 1), names)
  preds <- Filter(function(call) call[[1]] == "set_pred", calls)
  expect_setequal(vapply(preds, `[[`, "", "type"), c("class", "prob", "numeric"))
})
