# Figures, all by ggplot2: autoplot() makes one, plot() shows it. Colours, order and marks are those of the Python side.

# One colour, one meaning: these belong to the classes and to nothing else. They differ in lightness too, so that they
# can be told apart in grey.
CLASS_COLOURS <- c(strong = "#0B5394", weak = "#E08A1E", irrelevant = "#B9B9B9", fixed = "#7A7A7A")
NO_CLASS <- "#7A7A7A"
# For what is no class: groups, reasons, curves.
OTHER_COLOURS <- c("#117733", "#AA4499", "#44AA99", "#882255", "#999933", "#5E4B8B", "#6B3E26")
INK <- "grey15"
# The middle of the colour map viridis, whose ends vanish on black and on white: for ordered levels.
SHADES <- c("#3E4989", "#375A8C", "#31688E", "#2A768E", "#25848E", "#20928C", "#1FA088", "#27AD81", "#3BBB75")
level_colours <- function(k) if (k == 1) OTHER_COLOURS[1] else grDevices::colorRampPalette(SHADES)(k)

# What every figure shares: no grid where it says nothing, legend below, text that can be read at column width.
figure_theme <- function(size = 9) {
  ggplot2::theme_minimal(base_size = size) +
    ggplot2::theme(
      panel.grid.minor = ggplot2::element_blank(), panel.grid.major.y = ggplot2::element_blank(),
      panel.grid.major.x = ggplot2::element_line(colour = "grey92", linewidth = 0.3),
      axis.line.x = ggplot2::element_line(colour = INK, linewidth = 0.3),
      axis.ticks.x = ggplot2::element_line(colour = INK, linewidth = 0.3),
      axis.text = ggplot2::element_text(colour = INK), text = ggplot2::element_text(colour = INK),
      # two short lines rather than one that is cut off in a narrow figure
      legend.position = "bottom", legend.box = "vertical", legend.spacing.y = ggplot2::unit(0, "lines"), legend.title = ggplot2::element_blank(), legend.key.size = ggplot2::unit(0.8, "lines"),
      legend.margin = ggplot2::margin(0, 0, 0, 0), legend.spacing.x = ggplot2::unit(0.25, "lines"),
      # white, so that a figure can be read on any page
      plot.background = ggplot2::element_rect(fill = "white", colour = NA), plot.title.position = "plot"
    )
}

show_figure <- function(p) {
  print(p)
  invisible(p)
}

# Names inside aes() are columns of the tables; this tells R CMD check.
utils::globalVariables(c(
  "at", "best", "class", "count", "delta", "direction", "end", "feature", "fill", "from", "group", "height", "label", "level",
  "lower", "middle", "noise", "part", "place", "predicted", "reason", "reference", "relevance", "score", "share",
  "signed_lower", "signed_upper", "slack", "surviving", "term", "threshold", "time", "to", "upper", "weight", "x", "xend",
  "y", "yend", "ymin", "ymax", "observed", "kind", "mark", "event", "low", "high", "survival", "C", "se", "cost"
))

# What noise of the same kind reaches, for each row of the table: a term may have noise of its own.
row_noise <- function(object, table) {
  ends <- object$intervals
  if (is.null(ends) || !nrow(ends)) return(rep(NA_real_, nrow(table)))
  ends <- ends[ends$bound == "upper", , drop = FALSE]
  key <- function(part, term) paste(part, term, sep = "\r")
  own <- ends$upper[match(key(table$part, table$term), key(ends$part, ends$term))]
  whole <- ends$upper[match(key(table$part, ""), key(ends$part, ends$term))]
  # levels and columns are judged against noise of the same level, which has no common threshold
  ifelse(table$row == "term", ifelse(is.na(own), whole, own), NA_real_)
}

PARTS <- c(regular = "regular features", adjust = "adjusted for", privileged = "privileged features")

shorten <- function(text, longest = 30) {
  tail <- longest %/% 2 - 1
  ifelse(nchar(text) <= longest, text,
         paste0(substr(text, 1, longest - tail - 1), "\u2026", substr(text, nchar(text) - tail + 1, nchar(text))))
}

# The rows of a figure from top to bottom: parts apart, levels indented under their term.
figure_rows <- function(table, sort = "table", features = NULL, levels = TRUE) {
  sort <- one_of(sort, c("table", "upper", "lower", "name"), "sort")
  if (!levels) table <- table[table$row == "term", , drop = FALSE]
  table <- if (is.null(features)) shown_rows(table) else pick_features(table, features)
  if (!"row" %in% names(table)) table$row <- "term"
  table$part <- factor(as.character(table$part), levels = names(PARTS))
  owner <- interaction(table$part, table$term, drop = TRUE)
  first <- stats::ave(seq_len(nrow(table)), owner, FUN = min)
  most <- function(column) -stats::ave(ifelse(is.na(table[[column]]), -Inf, table[[column]]), owner, FUN = max)
  own <- seq_len(nrow(table))
  order <- switch(sort,
    table = order(table$part, first, own), upper = order(table$part, most("upper"), first, own),
    lower = order(table$part, most("lower"), most("upper"), first, own), name = order(table$part, table$term, own)
  )
  table <- table[order, , drop = FALSE]
  several <- length(unique(table$part)) > 1
  new_part <- !duplicated(table$part)
  inside <- table$row != "term"
  after <- c(FALSE, inside[-length(inside)]) & !inside
  step <- 1 + 0.4 * (after & !new_part)
  if (several) step <- step + ifelse(new_part, 1 + 0.5 * (seq_along(new_part) > 1), 0)
  table$at <- cumsum(step)
  table$label <- ifelse(inside, paste0("   ", shorten(inside_label(table$feature, table$term))), shorten(table$feature))
  attr(table, "heads") <- if (several) {
    data.frame(at = table$at[new_part] - 1, label = PARTS[as.character(table$part[new_part])], stringsAsFactors = FALSE)
  }
  table
}

# "site[A]" under "site" is "A".
inside_label <- function(feature, term) {
  own <- startsWith(feature, paste0(term, "[")) & endsWith(feature, "]")
  ifelse(own, substr(feature, nchar(term) + 2, nchar(feature) - 1), feature)
}

pick_features <- function(table, features) {
  strings(features, "features")
  known <- c(table$feature, table$term)
  unknown <- setdiff(features, known)
  if (length(unknown)) {
    relbounds_stop("There is no feature ", quote_names(unknown[1]), " in the fit.", nearest(unknown[1], unique(known)),
                   class = "relbounds_option_error")
  }
  table[table$feature %in% features | table$term %in% features, , drop = FALSE]
}

#' Figures
#'
#' `autoplot()` makes a figure with ggplot2, which can be changed and saved as any other; `plot()` shows it. The figures
#' are those of the Python side: the same colours, order and marks.
#'
#' The figure of a fit has one bar per feature, from the least to the most that any equally good model uses it; the black
#' line across the bar is the best model. The dashed line is what noise reaches. `+` and `-` at the right give the
#' direction where it is the same in every equally good model. Levels stand under their term.
#'
#' @param x,object A fit, or what [groups()], [sweep_delta()], [stability()], [level_contrasts()], [difficulty()],
#'   [cheapest()], [compare_fits()] or [svor()] return.
#' @param sort Order inside a part: `"table"` (that of the formula), `"upper"`, `"lower"` or `"name"`.
#' @param orientation Direction of the bars: `"horizontal"` or `"vertical"`.
#' @param levels Show levels and columns under their terms?
#' @param features Names of features or terms to show; all by default. For [svor()]: two names.
#' @param palette Named colours of `strong`, `weak` and `irrelevant`, where others are wanted.
#' @param threshold,direction,best Show the noise threshold, the direction, the best model?
#' @param legend Show a legend?
#' @param title Title of the figure.
#' @param most Number of rows to show, hardest first.
#' @param resolution Points of the grid along each side.
#' @param ... Not used; an unknown argument is an error.
#' @return A ggplot object; `plot()` returns it invisibly.
#' @name relbounds-figures
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' plot(fit)
#' plot(fit, sort = "upper", title = "What severity hangs on")
NULL

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds <- function(object, orientation = "horizontal", sort = "table", features = NULL, levels = TRUE,
                               palette = NULL, threshold = TRUE, direction = TRUE, best = TRUE, legend = TRUE,
                               title = NULL, ...) {
  check_arguments()
  orientation <- one_of(orientation, c("horizontal", "vertical"), "orientation")
  table <- figure_rows(object$table, sort, features, levels)
  table$noise <- row_noise(object, table)
  upright <- orientation == "vertical"
  p <- bars_figure(table, attr(table, "heads"), palette, threshold, direction, best, legend, title, before = object$before,
                   upright = upright)
  if (!upright) return(p)
  p + ggplot2::coord_flip() + ggplot2::theme(
    axis.text.x = ggplot2::element_text(angle = 90, hjust = 1, vjust = 0.5), axis.text.y = ggplot2::element_text(),
    panel.grid.major.x = ggplot2::element_blank(), panel.grid.major.y = ggplot2::element_line(colour = "grey92", linewidth = 0.3))
}

bars_figure <- function(table, heads, palette, threshold, direction, best, legend, title, before = NULL,
                        xlab = "relevance (share of the norm)", upright = FALSE) {
  colours <- CLASS_COLOURS
  unknown <- setdiff(names(palette), names(CLASS_COLOURS))
  if (length(unknown)) {
    relbounds_stop("'palette' has a colour for '", unknown[1], "'; the classes are ", quote_names(names(CLASS_COLOURS)), ".",
                   nearest(unknown[1], names(CLASS_COLOURS)), class = "relbounds_option_error")
  }
  colours[names(palette)] <- unlist(palette)
  table$class <- as.character(table$relevance)
  table$class[is.na(table$class)] <- "adjusted for"
  colours["adjusted for"] <- NO_CLASS
  known <- names(colours)[names(colours) %in% table$class]
  table$class <- factor(table$class, levels = known)
  was <- if (!is.null(before)) before[match(table$feature, before$feature), , drop = FALSE]
  reach <- max(table$upper, was$upper, if (threshold) table$noise, abs(table$weight), 1e-9, na.rm = TRUE)
  # an interval that is a single value must still be seen
  table$to <- pmax(table$upper, table$lower + 0.004 * reach)
  half <- ifelse(table$row == "term", 0.33, 0.24)
  table$ymin <- table$at - half
  table$ymax <- table$at + half
  p <- ggplot2::ggplot(table)
  if (!is.null(was)) {
    was$ymin <- table$ymin
    was$ymax <- table$ymax
    p <- p + ggplot2::geom_rect(data = was, ggplot2::aes(xmin = lower, xmax = upper, ymin = ymin, ymax = ymax), fill = NA,
                                colour = "grey60", linetype = "dotted", linewidth = 0.3)
  }
  p <- p + ggplot2::geom_rect(ggplot2::aes(xmin = lower, xmax = to, ymin = ymin, ymax = ymax, fill = class, colour = class),
                              linewidth = 0.3)
  marks <- c()
  if (threshold && any(is.finite(table$noise))) {
    p <- p + ggplot2::geom_segment(
      data = table[is.finite(table$noise), ],
      ggplot2::aes(x = noise, xend = noise, y = at - 0.5, yend = at + 0.5, linetype = "noise reaches"), colour = INK,
      linewidth = 0.35)
    marks <- c(marks, "noise reaches" = "22")
  }
  if (best) {
    p <- p + ggplot2::geom_segment(
      ggplot2::aes(x = abs(weight), xend = abs(weight), y = ymin, yend = ymax, linetype = "best model"), colour = "black",
      linewidth = 0.6)
    marks <- c(marks, "best model" = "solid")
  }
  if (direction) {
    said <- table[table$direction %in% c("+", "-") & table$class %in% c("strong", "weak", "adjusted for"), ]
    said$mark <- ifelse(said$direction == "-", "\u2212", "+")
    if (nrow(said)) {
      p <- p + ggplot2::geom_text(data = said, ggplot2::aes(x = 1.06 * reach, y = at, label = mark), size = 3, colour = INK)
    }
  }
  bold <- rep("plain", nrow(table))
  breaks <- table$at
  labels <- table$label
  if (!is.null(heads)) {
    breaks <- c(breaks, heads$at)
    labels <- c(labels, heads$label)
    bold <- c(bold, rep("bold", nrow(heads)))
    labels <- labels[order(breaks)]
    bold <- bold[order(breaks)]
    breaks <- base::sort(breaks)
    p <- p + ggplot2::expand_limits(y = breaks[1] - 0.3)
  }
  edge <- colours
  # from top to bottom, or, with upright bars, from left to right
  rows <- if (upright) ggplot2::scale_y_continuous else ggplot2::scale_y_reverse
  p + rows(breaks = breaks, labels = labels, expand = ggplot2::expansion(add = 0.3), name = NULL) +
    ggplot2::scale_x_continuous(limits = c(0, 1.08 * reach), expand = ggplot2::expansion(mult = c(0, 0.01)), name = xlab) +
    ggplot2::scale_fill_manual(values = colours, breaks = known) +
    ggplot2::scale_colour_manual(values = edge, breaks = known, guide = "none") +
    ggplot2::scale_linetype_manual(values = marks) +
    ggplot2::guides(fill = ggplot2::guide_legend(order = 1, override.aes = list(colour = NA)),
                    linetype = ggplot2::guide_legend(order = 2)) +
    ggplot2::labs(title = title) + figure_theme() +
    ggplot2::theme(
      # a vector of faces is what ggplot2 has for bold heads among plain labels
      axis.text.y = suppressWarnings(ggplot2::element_text(face = bold, hjust = 0, size = label_size(length(breaks)))),
      legend.position = if (legend) "bottom" else "none"
    )
}

label_size <- function(n) max(4, min(8, 8 * 40 / n))

#' @rdname relbounds-figures
#' @export
plot.relbounds <- function(x, ...) show_figure(autoplot.relbounds(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_groups <- function(object, title = NULL, ...) {
  check_arguments()
  if (is.null(object$tree)) relbounds_stop("There is no tree to draw here: groups of a forest, or of a single feature, have none.")
  drawn <- tree_lines(object$tree)
  labels <- object$tree$labels[object$tree$order]
  leaves <- data.frame(label = shorten(labels), at = seq_along(labels), group = unname(object$labels[labels]),
                       relevance = unname(object$relevance[labels]))
  leaves$relevance <- factor(leaves$relevance, levels = names(CLASS_COLOURS))
  tall <- max(drawn$yend, object$height)
  runs <- rle(leaves$group)
  last <- cumsum(runs$lengths)
  brackets <- data.frame(y = last - runs$lengths + 0.7, yend = last + 0.3, group = runs$values)
  ggplot2::ggplot() +
    ggplot2::geom_segment(data = drawn, ggplot2::aes(x = y, xend = yend, y = x, yend = xend), linewidth = 0.4, colour = INK) +
    ggplot2::geom_vline(xintercept = object$height, linetype = "22", colour = INK, linewidth = 0.35) +
    ggplot2::annotate("text", x = object$height, y = -Inf, label = "cut", vjust = 1.4, hjust = -0.2, size = 2.7, colour = INK) +
    ggplot2::geom_point(data = leaves, ggplot2::aes(x = -0.02 * tall, y = at, fill = relevance), shape = 22, size = 2.6, stroke = 0.3) +
    ggplot2::geom_segment(data = brackets, ggplot2::aes(x = 1.04 * tall, xend = 1.04 * tall, y = y, yend = yend),
                          linewidth = 0.5, colour = INK) +
    ggplot2::geom_text(data = brackets, ggplot2::aes(x = 1.09 * tall, y = (y + yend) / 2, label = group), size = 2.8, colour = INK) +
    ggplot2::scale_fill_manual(values = CLASS_COLOURS, breaks = names(CLASS_COLOURS)[names(CLASS_COLOURS) %in% leaves$relevance]) +
    ggplot2::scale_y_reverse(breaks = leaves$at, labels = leaves$label, name = NULL, expand = ggplot2::expansion(add = 0.8)) +
    ggplot2::scale_x_continuous(name = "distance", expand = ggplot2::expansion(mult = c(0.03, 0.02))) +
    ggplot2::labs(title = title) + figure_theme() +
    ggplot2::theme(axis.text.y = ggplot2::element_text(size = label_size(nrow(leaves))))
}

# Segments of a tree: along x the leaves in the order drawn, along y the height.
tree_lines <- function(tree) {
  place <- numeric(nrow(tree$merge))
  base <- numeric(nrow(tree$merge))
  leaf <- match(seq_along(tree$order), tree$order)
  out <- vector("list", nrow(tree$merge))
  for (i in seq_len(nrow(tree$merge))) {
    at <- vapply(tree$merge[i, ], function(m) if (m < 0) leaf[-m] + 0 else place[m], 0)
    low <- vapply(tree$merge[i, ], function(m) if (m < 0) 0 else base[m], 0)
    h <- tree$height[i]
    out[[i]] <- data.frame(x = c(at, at[1]), xend = c(at, at[2]), y = c(low, h), yend = c(h, h, h))
    place[i] <- mean(at)
    base[i] <- h
  }
  do.call(rbind, out)
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_groups <- function(x, ...) show_figure(autoplot.relbounds_groups(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_sweep <- function(object, features = NULL, title = NULL, ...) {
  check_arguments()
  table <- object$table
  if (!"term" %in% names(table)) table$term <- table$feature
  if (!is.null(features)) table <- pick_features(table, features)
  shown <- unique(table$feature)
  # the axis is logarithmic: a tolerance of 0 has no place on it
  table <- table[table$delta > 0, , drop = FALSE]
  table$feature <- factor(table$feature, levels = shown)
  table$class <- factor(as.character(table$relevance), levels = names(CLASS_COLOURS))
  ggplot2::ggplot(table, ggplot2::aes(x = delta)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = lower, ymax = upper), fill = "grey85") +
    ggplot2::geom_line(ggplot2::aes(y = lower), colour = INK, linewidth = 0.3) +
    ggplot2::geom_line(ggplot2::aes(y = upper), colour = INK, linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = lower, ymax = upper, colour = class), linewidth = 1.6) +
    ggplot2::geom_vline(xintercept = max(object$delta, min(table$delta)), linetype = "22", colour = INK, linewidth = 0.35) +
    ggplot2::facet_wrap("feature", labeller = ggplot2::as_labeller(shorten)) +
    ggplot2::scale_x_log10(name = "tolerance (delta; dashed: that of the fit)",
                           labels = function(v) format(v, scientific = FALSE, drop0trailing = TRUE, trim = TRUE),
                           guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::scale_y_continuous(name = "relevance (share of the norm)", limits = c(0, NA)) +
    ggplot2::scale_colour_manual(values = CLASS_COLOURS, breaks = levels(droplevels(table$class)), name = NULL) +
    ggplot2::labs(title = title) + figure_theme() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_line(colour = "grey92", linewidth = 0.3),
                   panel.spacing.x = ggplot2::unit(1.2, "lines"))
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_sweep <- function(x, ...) show_figure(autoplot.relbounds_sweep(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_stability <- function(object, title = NULL, ...) {
  check_arguments()
  shares <- object$frequencies
  known <- intersect(names(CLASS_COLOURS), names(shares))
  long <- do.call(rbind, lapply(known, function(class) {
    data.frame(feature = shares$feature, class = class, share = shares[[class]], stringsAsFactors = FALSE)
  }))
  long$feature <- factor(long$feature, levels = rev(unique(shares$feature)))
  long$class <- factor(long$class, levels = rev(known))
  ggplot2::ggplot(long, ggplot2::aes(x = share, y = feature, fill = class)) +
    ggplot2::geom_col(width = 0.66) +
    ggplot2::scale_fill_manual(values = CLASS_COLOURS, breaks = known) +
    ggplot2::scale_y_discrete(name = NULL, labels = shorten) +
    ggplot2::scale_x_continuous(name = "share of subsamples", expand = ggplot2::expansion(mult = c(0, 0.02))) +
    ggplot2::labs(title = title) + figure_theme()
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_stability <- function(x, ...) show_figure(autoplot.relbounds_stability(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_contrasts <- function(object, title = NULL, ...) {
  check_arguments()
  table <- as.data.frame(object)
  table$label <- paste(table$level, "\u2212", table$reference)
  table$label <- factor(table$label, levels = rev(unique(table$label)))
  table$middle <- (table$signed_lower + table$signed_upper) / 2
  table$kind <- ifelse(grepl("always", table$direction), "one direction in every model", "open")
  colours <- c("one direction in every model" = OTHER_COLOURS[1], open = NO_CLASS)
  ggplot2::ggplot(table, ggplot2::aes(y = label, colour = kind)) +
    ggplot2::geom_vline(xintercept = 0, colour = INK, linewidth = 0.35) +
    ggplot2::geom_errorbarh(ggplot2::aes(xmin = signed_lower, xmax = signed_upper), height = 0.35, linewidth = 0.6) +
    ggplot2::scale_colour_manual(values = colours, breaks = names(colours)[names(colours) %in% table$kind]) +
    ggplot2::scale_x_continuous(name = "difference in every equally good model (share of the norm)") +
    ggplot2::labs(title = if (is.null(title)) table$term[1] else title, y = NULL) + figure_theme()
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_contrasts <- function(x, ...) show_figure(autoplot.relbounds_contrasts(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_difficulty <- function(object, most = 20, title = NULL, ...) {
  check_arguments()
  if (!is.numeric(most) || length(most) != 1 || is.na(most) || most < 1) {
    relbounds_stop("'most' must be a number of rows, 1 or more.", class = "relbounds_option_error")
  }
  table <- as.data.frame(object)
  table$row <- rownames(table)
  table <- utils::head(table[order(-table$slack), ], most)
  none <- "no privileged reason"
  table$reason[!nzchar(table$reason)] <- none
  reasons <- unique(c(setdiff(table$reason, none), intersect(none, table$reason)))
  colours <- stats::setNames(rep(OTHER_COLOURS, length.out = length(reasons)), reasons)
  if (none %in% reasons) colours[none] <- NO_CLASS
  table$label <- paste0(table$row, " (", table[[1]], ")")
  table$label <- factor(table$label, levels = rev(table$label))
  table$reason <- factor(table$reason, levels = reasons)
  ggplot2::ggplot(table, ggplot2::aes(x = slack, y = label, fill = reason)) +
    ggplot2::geom_col(width = 0.7) +
    ggplot2::scale_fill_manual(values = colours) +
    ggplot2::scale_x_continuous(name = "slack explained by privileged features", expand = ggplot2::expansion(mult = c(0, 0.03))) +
    ggplot2::labs(title = title, y = NULL) + figure_theme()
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_difficulty <- function(x, ...) show_figure(autoplot.relbounds_difficulty(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_choice <- function(object, title = NULL, ...) {
  check_arguments()
  table <- as.data.frame(object)
  table <- table[order(table$chosen, table$cost), ]
  table$term <- factor(table$term, levels = table$term)
  table$kind <- ifelse(table$chosen, "chosen", "left out")
  ggplot2::ggplot(table, ggplot2::aes(x = cost, y = term, fill = kind)) +
    ggplot2::geom_col(width = 0.66) +
    ggplot2::scale_fill_manual(values = c(chosen = OTHER_COLOURS[1], "left out" = NO_CLASS)) +
    ggplot2::scale_x_continuous(name = "cost", expand = ggplot2::expansion(mult = c(0, 0.03))) +
    ggplot2::labs(title = title, y = NULL) + figure_theme()
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_choice <- function(x, ...) show_figure(autoplot.relbounds_choice(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_comparison <- function(object, title = NULL, ...) {
  check_arguments()
  table <- as.data.frame(object)
  table$feature <- factor(table$feature, levels = rev(unique(table$feature)))
  table$fit <- factor(table$fit, levels = names(object$fits))
  table$class <- factor(table$relevance, levels = names(CLASS_COLOURS))
  k <- nlevels(table$fit)
  table$at <- as.integer(table$feature) + (k / 2 + 0.5 - as.integer(table$fit)) * 0.8 / k
  half <- 0.33 / k
  table$label <- as.integer(table$fit)
  ggplot2::ggplot(table) +
    ggplot2::geom_rect(ggplot2::aes(xmin = lower, xmax = pmax(upper, lower + 0.004), ymin = at - half, ymax = at + half, fill = class)) +
    ggplot2::geom_text(ggplot2::aes(x = -0.01, y = at, label = label), size = 2, hjust = 1, colour = INK) +
    ggplot2::scale_fill_manual(values = CLASS_COLOURS, breaks = levels(droplevels(table$class))) +
    ggplot2::scale_y_continuous(breaks = seq_len(nlevels(table$feature)), labels = shorten(levels(table$feature)), name = NULL) +
    ggplot2::scale_x_continuous(name = "relevance (share of the norm)", expand = ggplot2::expansion(mult = c(0.04, 0.02))) +
    ggplot2::labs(title = title, caption = paste(seq_len(k), levels(table$fit), sep = ": ", collapse = "   ")) + figure_theme()
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_comparison <- function(x, ...) show_figure(autoplot.relbounds_comparison(x, ...))

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.relbounds_forest <- function(object, sort = "table", features = NULL, palette = NULL, threshold = TRUE,
                                      legend = TRUE, title = NULL, ...) {
  check_arguments()
  table <- figure_rows(object$table, sort, features)
  at <- object$intervals$upper[object$intervals$bound == "removal_loss"]
  table$noise <- if (length(at)) at[1] / object$unit else NA_real_
  if (!"weight" %in% names(table)) table$weight <- NA_real_
  if (!"direction" %in% names(table)) table$direction <- ""
  bars_figure(table, attr(table, "heads"), palette, threshold, FALSE, FALSE, legend, title,
              xlab = "rise in loss (share of what is explained)")
}

#' @rdname relbounds-figures
#' @export
plot.relbounds_forest <- function(x, ...) show_figure(autoplot.relbounds_forest(x, ...))
