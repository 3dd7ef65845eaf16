# Figures: base graphics and ggplot2, from one table of what is drawn.

# Okabe and Ito: told apart by colour-blind readers, and in grey by their lightness.
class_colours <- c(strong = "#0072B2", weak = "#E69F00", irrelevant = "#999999")

# Noise thresholds of 'upper', one per part.
noise_ends <- function(object) {
  rows <- object$intervals[object$intervals$bound == "upper", , drop = FALSE]
  stats::setNames(rows$upper, rows$part)
}

# What noise reaches, row by row: some terms are compared with noise of their own kind.
row_noise <- function(table, ends) {
  own <- ends[paste0(table$part, ": ", table$term)]
  unname(ifelse(is.na(own), ends[table$part], own))
}

# What is drawn, in the order from top to bottom; parts stay apart.
plot_table <- function(object, sort = TRUE, features = NULL) {
  table <- object$table
  if (!is.null(features)) {
    unknown <- setdiff(features, table$feature)
    if (length(unknown)) {
      relbounds_stop("There is no feature ", quote_names(unknown[1]), " in the fit.", nearest(unknown[1], table$feature))
    }
    table <- table[table$feature %in% features, , drop = FALSE]
  }
  part <- factor(table$part, levels = c("regular", "privileged"))
  rank <- if (sort) order(part, -as.integer(table$relevance), -table$upper, -table$lower) else order(part)
  table <- table[rank, , drop = FALSE]
  table$noise <- row_noise(table, noise_ends(object))
  table$row <- seq_len(nrow(table)) + ifelse(table$part == "privileged" & any(table$part == "regular"), 1, 0)
  table
}

#' Plot relevance intervals
#'
#' One bar per feature, from the least to the most that any equally good model uses it; the point is the best model.
#' The dashed line is what noise reaches. `+`, `-` and `?` at the right give the direction: the same in every equally
#' good model, or open.
#'
#' @param x,object A fit of [relbounds()].
#' @param sort Most relevant features first? `FALSE` keeps the order of the formula.
#' @param features Names of the features to show; all by default.
#' @param xlab,main,cex As in [plot()].
#' @param legend Show a legend?
#' @param ... For `plot()`: passed to [graphics::plot.window()]. For `autoplot()`: not used.
#' @return `plot()`: the table that was drawn, invisibly. `autoplot()`: a ggplot object.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' plot(fit)
#' @export
plot.relbounds <- function(x, sort = TRUE, features = NULL, xlab = "Relevance", main = NULL, cex = NULL, legend = TRUE,
                           ...) {
  table <- plot_table(x, sort, features)
  n <- max(table$row)
  if (is.null(cex)) cex <- min(1, max(0.4, 30 / n))
  labels <- table$feature
  old <- graphics::par(no.readonly = TRUE)
  on.exit(graphics::par(old))
  graphics::plot.new()
  wide <- max(graphics::strwidth(labels, units = "inches", cex = cex)) + 0.25
  mai <- graphics::par("mai")
  top <- if (is.null(main)) 0.15 else 0.6
  if (legend) top <- top + 0.35
  graphics::par(mai = c(0.85, min(wide, 0.5 * graphics::par("fin")[1]), top, 0.35), xaxs = "i")
  graphics::par(new = TRUE)
  graphics::plot.new()
  graphics::plot.window(xlim = c(0, 1.04 * max(table$upper, table$noise, 1e-6)), ylim = c(n + 0.6, 0.4), yaxs = "i", ...)
  colour <- class_colours[as.character(table$relevance)]
  graphics::abline(h = table$row, col = "grey93", lwd = 0.8)
  half <- 0.3
  graphics::rect(table$lower, table$row - half, table$upper, table$row + half, col = colour, border = colour)
  graphics::segments(table$noise, table$row - 0.5, table$noise, table$row + 0.5, lty = 2, col = "grey25")
  graphics::points(abs(table$weight), table$row, pch = 21, bg = "white", col = "black", cex = 0.9 * cex, xpd = TRUE)
  graphics::axis(1)
  graphics::axis(2, at = table$row, labels = labels, las = 1, tick = FALSE, cex.axis = cex, line = -0.7, gap.axis = -1)
  graphics::axis(4, at = table$row, labels = table$direction, las = 1, tick = FALSE, cex.axis = cex, line = -0.8,
                 gap.axis = -1)
  if (length(unique(table$part)) > 1) {
    gap <- min(table$row[table$part == "privileged"]) - 1
    graphics::text(graphics::par("usr")[2], gap, "privileged", adj = c(1, 0.4), font = 3, cex = max(cex, 0.7))
  }
  graphics::box(bty = "l")
  graphics::title(xlab = xlab, line = 2.4)
  if (!is.null(main)) graphics::title(main = main, line = if (legend) 2 else 0.8)
  if (legend) {
    known <- names(class_colours)[names(class_colours) %in% table$relevance]
    graphics::legend(
      "top", inset = c(0, -0.32 / graphics::par("pin")[2]), xpd = NA, horiz = TRUE, bty = "n", cex = 0.85,
      legend = c(known, "best model", "noise"), fill = c(class_colours[known], NA, NA),
      border = c(class_colours[known], NA, NA), pch = c(rep(NA, length(known)), 21, NA),
      lty = c(rep(NA, length(known)), NA, 2), col = c(rep(NA, length(known)), "black", "grey25"), x.intersp = 0.7
    )
  }
  invisible(table)
}

#' @rdname plot.relbounds
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds <- function(object, sort = TRUE, features = NULL, ...) {
  table <- plot_table(object, sort, features)
  table$feature <- factor(table$feature, levels = rev(unique(table$feature)))
  table$part <- factor(table$part, levels = c("regular", "privileged"))
  table$best <- abs(table$weight)
  table$relevance <- factor(as.character(table$relevance), levels = names(class_colours))
  # Along the discrete axis, a row is as wide as 1.
  table$place <- stats::ave(as.integer(table$feature), table$part, FUN = rank)
  # Names inside aes() are columns of the tables above.
  feature <- lower <- upper <- relevance <- best <- direction <- noise <- place <- NULL
  ggplot2::ggplot(table, ggplot2::aes(y = feature)) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = lower, xmax = upper, colour = relevance), linewidth = 3.2) +
    ggplot2::geom_segment(ggplot2::aes(x = noise, xend = noise, y = place - 0.5, yend = place + 0.5), linetype = "dashed",
                          colour = "grey25") +
    ggplot2::geom_point(ggplot2::aes(x = best), shape = 21, fill = "white", size = 1.8) +
    ggplot2::geom_text(ggplot2::aes(x = Inf, label = direction), hjust = 1.4, size = 3.2) +
    ggplot2::facet_grid(rows = "part", scales = "free_y", space = "free_y") +
    ggplot2::scale_colour_manual(values = class_colours, drop = FALSE, name = NULL) +
    ggplot2::scale_x_continuous(limits = c(0, NA), expand = ggplot2::expansion(mult = c(0, 0.08))) +
    ggplot2::labs(x = "Relevance", y = NULL) +
    ggplot2::theme_minimal() +
    ggplot2::theme(
      panel.grid.minor = ggplot2::element_blank(), legend.position = "top",
      strip.text = if (nlevels(droplevels(table$part)) > 1) ggplot2::element_text() else ggplot2::element_blank()
    )
}
