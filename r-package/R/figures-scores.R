# Figures of what a fit predicts: scores by level, calibration, survival, hard rows.

#' Figures of predictions
#'
#' `plot_scores()`: how the scores of each level are spread, with the thresholds between levels. `plot_difficulty()`: the
#' rows that are hardest to grade, with the privileged feature that says why. `plot_calibration()`: do predicted
#' probabilities come true? `plot_survival()`: Kaplan-Meier curves of thirds of the score. `plot_level_contrasts()`,
#' `plot_groups()`, `plot_sweep_delta()` and `plot_stability()` are `plot()` of what the function of that name returns.
#' `plot_tuning()`: the cross-validated score along `C`, with one standard error.
#'
#' @param object A fit of [relbounds()].
#' @param newdata Rows to show; the training rows by default.
#' @param term,reference As in [level_contrasts()].
#' @param most Number of rows to show, hardest first.
#' @param bins Number of bins of equal counts, at most.
#' @param groups Number of groups of equal size by score.
#' @param risk Write the numbers at risk under the curves?
#' @param legend Show a legend?
#' @param cut,k,part,by,by_class As in [groups()].
#' @param delta,probes As in [sweep_delta()] and [stability()].
#' @param n_resamples,fraction As in [stability()].
#' @param title Title of the figure.
#' @param ... Not used; an unknown argument is an error.
#' @return A ggplot object, invisibly; it is shown.
#' @name relbounds-score-figures
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 1)
#' plot_scores(fit)
NULL

#' @rdname relbounds-score-figures
#' @export
plot_scores <- function(object, ...) UseMethod("plot_scores")

#' @rdname relbounds-score-figures
#' @export
plot_scores.relbounds <- function(object, newdata = NULL, title = NULL, ...) {
  check_arguments()
  score <- unname(stats::predict(object, newdata, type = "score"))
  truth <- if (is.null(newdata)) stats::napredict(object$na.action, stats::model.response(object$model)) else
    response_of(object, newdata)
  if (object$family %in% c("regression", "survival")) {
    return(show_figure(numbers_figure(score, truth, object, title)))
  }
  show_figure(scores_figure(score, factor(as.character(truth), levels = as.character(object$levels)),
                            if (object$family != "nominal") object$baseline$thresholds, title))
}

response_of <- function(object, newdata) {
  as_relbounds_error(eval(object$terms[[2]], newdata, environment(object$terms)),
                     "The figure needs the response in 'newdata': ")
}

scores_figure <- function(score, level, thresholds, title) {
  keep <- !is.na(score) & !is.na(level)
  table <- data.frame(score = score[keep], level = droplevels(level[keep]))
  colours <- stats::setNames(level_colours(nlevels(level)), levels(level))
  # one ridge per level, all of the same area, so that large levels do not hide small ones
  ridges <- do.call(rbind, lapply(levels(table$level), function(l) {
    s <- table$score[table$level == l]
    if (length(unique(s)) < 2) return(NULL)
    d <- stats::density(s, n = 256)
    data.frame(level = l, score = d$x, height = d$y, stringsAsFactors = FALSE)
  }))
  place <- stats::setNames(seq_along(levels(table$level)), levels(table$level))
  p <- ggplot2::ggplot()
  if (!is.null(ridges)) {
    ridges$ymin <- place[ridges$level]
    ridges$ymax <- ridges$ymin + 0.85 * ridges$height / max(ridges$height)
    p <- p + ggplot2::geom_ribbon(data = ridges, ggplot2::aes(x = score, ymin = ymin, ymax = ymax, fill = level, group = level),
                                  colour = INK, linewidth = 0.25, alpha = 0.75)
  }
  table$y <- place[as.character(table$level)]
  # short strokes stand for rows while there are few of them; many would be a grey band
  if (nrow(table) <= 600) {
    p <- p + ggplot2::geom_segment(data = table, ggplot2::aes(x = score, xend = score, y = y - 0.14, yend = y - 0.02),
                                   linewidth = 0.2, colour = INK, alpha = 0.6)
  }
  if (length(thresholds)) {
    marks <- data.frame(threshold = unname(thresholds), label = names(thresholds), stringsAsFactors = FALSE)
    top <- max(place) + 1
    p <- p + ggplot2::geom_vline(data = marks, ggplot2::aes(xintercept = threshold), linetype = "22", linewidth = 0.35, colour = INK) +
      ggplot2::geom_text(data = marks, ggplot2::aes(x = threshold, label = label), y = top + 0.05, size = 2.5, colour = INK,
                         angle = if (nrow(marks) > 2) 20 else 0, hjust = if (nrow(marks) > 2) 0 else 0.5, vjust = 0) +
      ggplot2::coord_cartesian(ylim = c(0.8, top + if (nrow(marks) > 2) 0.45 else 0.25), clip = "off")
  }
  p + ggplot2::scale_fill_manual(values = colours, guide = "none") +
    ggplot2::scale_y_continuous(breaks = unname(place) + 0.1, labels = names(place), name = NULL) +
    ggplot2::scale_x_continuous(name = if (length(thresholds)) "score (dashed: thresholds between levels)" else "score") +
    ggplot2::labs(title = title) + figure_theme()
}

numbers_figure <- function(score, truth, object, title) {
  survival <- object$family == "survival"
  table <- data.frame(score = score, observed = as.double(if (survival) unclass(truth)[, 1] else truth))
  event <- if (survival) ifelse(unclass(truth)[, 2] > 0, "event", "censored") else rep("row", nrow(table))
  table$kind <- factor(event)
  table <- table[stats::complete.cases(table), ]
  p <- ggplot2::ggplot(table, ggplot2::aes(x = score, y = observed))
  p <- p + if (nrow(table) > 1500 && !survival) ggplot2::geom_bin_2d(bins = 50) else
    ggplot2::geom_point(ggplot2::aes(shape = kind), size = 1.1, alpha = 0.6, colour = OTHER_COLOURS[1])
  if (!survival) p <- p + ggplot2::geom_abline(linetype = "22", colour = INK, linewidth = 0.35)
  p + ggplot2::scale_fill_gradient(low = "grey90", high = OTHER_COLOURS[1], name = "rows") +
    ggplot2::scale_shape_manual(values = c(event = 16, censored = 1, row = 16), guide = if (survival) "legend" else "none") +
    ggplot2::labs(x = if (survival) "score (higher: later)" else "predicted", y = object$response_name, title = title) +
    figure_theme()
}

#' @rdname relbounds-score-figures
#' @export
plot_difficulty <- function(object, ...) UseMethod("plot_difficulty")

#' @rdname relbounds-score-figures
#' @export
plot_difficulty.relbounds <- function(object, most = 20, title = NULL, ...) {
  check_arguments()
  show_figure(autoplot.relbounds_difficulty(difficulty(object), most = most, title = title))
}

#' @rdname relbounds-score-figures
#' @export
plot_level_contrasts <- function(object, ...) UseMethod("plot_level_contrasts")

#' @rdname relbounds-score-figures
#' @export
plot_level_contrasts.relbounds <- function(object, term, reference = NULL, title = NULL, ...) {
  check_arguments()
  show_figure(autoplot.relbounds_contrasts(level_contrasts(object, term, reference), title = title))
}

#' @rdname relbounds-score-figures
#' @export
plot_groups <- function(object, ...) UseMethod("plot_groups")

#' @rdname relbounds-score-figures
#' @export
plot_groups.relbounds <- function(object, cut = NULL, k = NULL, part = "regular", by = "context", by_class = TRUE,
                                  title = NULL, ...) {
  check_arguments()
  show_figure(autoplot.relbounds_groups(groups(object, cut, k, part, by, by_class), title = title))
}

#' @rdname relbounds-score-figures
#' @export
plot_sweep_delta <- function(object, ...) UseMethod("plot_sweep_delta")

#' @rdname relbounds-score-figures
#' @export
plot_sweep_delta.relbounds <- function(object, delta = NULL, probes = NULL, title = NULL, ...) {
  check_arguments()
  show_figure(autoplot.relbounds_sweep(sweep_delta(object, delta, probes), title = title))
}

#' @rdname relbounds-score-figures
#' @export
plot_stability <- function(object, ...) UseMethod("plot_stability")

#' @rdname relbounds-score-figures
#' @export
plot_stability.relbounds <- function(object, n_resamples = 50, fraction = NULL, probes = NULL, title = NULL, ...) {
  check_arguments()
  show_figure(autoplot.relbounds_stability(stability(object, n_resamples, fraction, probes), title = title))
}

#' Probabilities beside what was observed
#'
#' @param object A fit of [relbounds()].
#' @param bins Bins of equal counts at most; each holds 15 observations or more.
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame, one row an event and bin: `event`, `predicted` (mean probability of held-out observations),
#'   `observed` (share), `low` and `high` (95 % limits of the share), `n`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 1)
#' calibration_table(fit, bins = 3)
#' @export
calibration_table <- function(object, ...) UseMethod("calibration_table")

#' @rdname calibration_table
#' @export
calibration_table.relbounds <- function(object, bins = 10, ...) {
  check_arguments()
  ask(object, "calibration", bins = bins)
}

#' @rdname relbounds-score-figures
#' @export
plot_calibration <- function(object, ...) UseMethod("plot_calibration")

#' @rdname relbounds-score-figures
#' @export
plot_calibration.relbounds <- function(object, bins = 10, legend = TRUE, title = NULL, ...) {
  check_arguments()
  table <- calibration_table(object, bins)
  table$event <- factor(table$event, levels = unique(table$event))
  colours <- level_colours(nlevels(table$event))
  show_figure(
    ggplot2::ggplot(table, ggplot2::aes(x = predicted, y = observed, colour = event, shape = event)) +
      ggplot2::geom_abline(linetype = "22", colour = INK, linewidth = 0.35) +
      ggplot2::geom_linerange(ggplot2::aes(ymin = low, ymax = high), linewidth = 0.4) +
      ggplot2::geom_line(linewidth = 0.4) + ggplot2::geom_point(size = 1.6) +
      ggplot2::scale_colour_manual(values = colours) +
      ggplot2::scale_shape_manual(values = rep(c(16, 17, 15, 18, 8), length.out = nlevels(table$event))) +
      ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
      ggplot2::labs(x = "predicted probability", y = "observed share (95 % limits)", title = title) + figure_theme() +
      ggplot2::theme(legend.position = if (legend && nlevels(table$event) > 1) "bottom" else "none")
  )
}

#' Survival curves by score
#'
#' @param object A fit of [relbounds()] whose response is `Surv(time, status)`.
#' @param groups Number of groups of equal size by their held-out score, lowest first; thirds by default.
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame of Kaplan-Meier curves: `group`, `time`, `survival`, `low`, `high`, `at_risk`, `censored`.
#' @examplesIf relbounds::relbounds_available() && requireNamespace("survival", quietly = TRUE)
#' fit <- relbounds(Surv(time, status) ~ age + ph.ecog + wt.loss, data = survival::lung, C = 1)
#' head(survival_curves(fit))
#' plot_survival(fit)
#' @export
survival_curves <- function(object, ...) UseMethod("survival_curves")

#' @rdname survival_curves
#' @export
survival_curves.relbounds <- function(object, groups = 3, ...) {
  check_arguments()
  ask(object, "survival_curves", groups = groups)
}

#' @rdname relbounds-score-figures
#' @export
plot_survival <- function(object, ...) UseMethod("plot_survival")

#' @rdname relbounds-score-figures
#' @export
plot_survival.relbounds <- function(object, groups = 3, risk = TRUE, legend = TRUE, title = NULL, ...) {
  check_arguments()
  table <- survival_curves(object, groups)
  table$group <- factor(table$group, levels = unique(table$group))
  colours <- level_colours(nlevels(table$group))
  lost <- table[table$censored > 0, ]
  last <- max(table$time)
  ticks <- Filter(function(t) t <= last, pretty(c(0, last)))
  numbers <- if (risk) risk_table(table, ticks)
  show_figure(
    ggplot2::ggplot(table, ggplot2::aes(x = time, y = survival, colour = group, linetype = group)) +
      ggplot2::geom_step(ggplot2::aes(y = low), linewidth = 0.2, alpha = 0.6) +
      ggplot2::geom_step(ggplot2::aes(y = high), linewidth = 0.2, alpha = 0.6) +
      ggplot2::geom_step(linewidth = 0.7) +
      ggplot2::geom_point(data = lost, shape = 3, size = 1.2, stroke = 0.4) +
      ggplot2::scale_colour_manual(values = colours) +
      risk_layers(numbers) +
      ggplot2::scale_x_continuous(breaks = ticks) +
      ggplot2::scale_y_continuous(limits = c(if (risk) min(numbers$y) - 0.03 else 0, 1), breaks = seq(0, 1, 0.25),
                                  name = "surviving (95 % limits)") +
      ggplot2::labs(x = "time (+: censored)", title = title) + figure_theme() +
      ggplot2::theme(panel.grid.major.y = ggplot2::element_line(colour = "grey92", linewidth = 0.3),
                     legend.position = if (legend) "bottom" else "none")
  )
}

# How many of each group are followed just before each tick: a line a group, under the curves.
risk_table <- function(table, ticks) {
  place <- function(k) -0.07 * k - 0.08
  groups <- levels(table$group)
  do.call(rbind, lapply(seq_along(groups), function(k) {
    rows <- table[table$group == groups[k], ]
    rows <- rows[order(rows$time), ]
    left <- vapply(ticks, function(t) {
      later <- rows$at_risk[rows$time >= t]
      if (length(later)) as.integer(later[1]) else 0L
    }, 1L)
    data.frame(group = factor(groups[k], levels = groups), time = ticks, y = place(k), count = left)
  }))
}

risk_layers <- function(numbers) {
  if (is.null(numbers)) return(NULL)
  list(ggplot2::geom_hline(yintercept = 0, linewidth = 0.3, colour = INK),
       ggplot2::annotate("text", x = 0, y = -0.06, label = "at risk", size = 2.5, hjust = 0, colour = INK),
       ggplot2::geom_text(data = numbers, ggplot2::aes(x = time, y = y, label = count, colour = group), size = 2.5,
                          hjust = ifelse(numbers$time == 0, 0, 0.5), show.legend = FALSE, inherit.aes = FALSE))
}

#' @rdname relbounds-score-figures
#' @export
plot_tuning <- function(object, ...) UseMethod("plot_tuning")

#' @rdname relbounds-score-figures
#' @export
plot_tuning.relbounds <- function(object, legend = TRUE, title = NULL, ...) {
  check_arguments()
  table <- object$baseline$scores
  if (is.null(table) || !nrow(table)) {
    relbounds_stop("Nothing was tuned: C was given as a number. Leave C out to have it chosen.")
  }
  known <- setdiff(names(table)[vapply(table, function(v) length(unique(v)) > 1, NA)], c("C", "mean", "se"))
  known <- known[vapply(table[known], function(v) is.character(v) || length(unique(v)) < 8, NA)]
  table$kind <- if (length(known)) do.call(paste, c(lapply(known, function(k) paste(k, table[[k]])), sep = ", ")) else ""
  show_figure(
    ggplot2::ggplot(table, ggplot2::aes(x = C, y = mean, colour = kind)) +
      ggplot2::geom_linerange(ggplot2::aes(ymin = mean - se, ymax = mean + se), linewidth = 0.3, na.rm = TRUE) +
      ggplot2::geom_line(linewidth = 0.4) + ggplot2::geom_point(size = 1.1) +
      ggplot2::geom_vline(xintercept = object$baseline$C, linetype = "22", colour = INK, linewidth = 0.35) +
      ggplot2::scale_x_log10(name = "C (dashed: chosen)") +
      ggplot2::scale_colour_manual(values = rep(OTHER_COLOURS, length.out = length(unique(table$kind)))) +
      ggplot2::labs(y = paste0(object$baseline$metric, ", cross-validated"), title = title) + figure_theme() +
      ggplot2::theme(legend.position = if (legend && length(unique(table$kind)) > 1) "bottom" else "none")
  )
}
