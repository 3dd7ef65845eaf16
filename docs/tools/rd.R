# Writes every help page of the R package as Markdown, and a table of what is where:
#   Rscript rd.R r-package/man folder
args <- commandArgs(trailingOnly = TRUE)
pages <- list.files(args[1], pattern = "[.]Rd$", full.names = TRUE)
dir.create(args[2], recursive = TRUE, showWarnings = FALSE)
parsed <- lapply(pages, tools::parse_Rd)
names(parsed) <- tools::file_path_sans_ext(basename(pages))

tag_of <- function(part) { tag <- attr(part, "Rd_tag"); if (is.null(tag)) "" else tag }
tagged <- function(rd, tag) rd[vapply(rd, function(part) tag_of(part) == tag, logical(1))]
flat <- function(part) gsub("\\s+", " ", trimws(paste(unlist(part), collapse = "")))
aliases <- lapply(parsed, function(rd) vapply(tagged(rd, "\\alias"), flat, character(1)))
homes <- unlist(lapply(names(aliases), function(page) setNames(rep(page, length(aliases[[page]])), aliases[[page]])))

plain <- function(text) gsub("([\\\\`*_<>{}$|~])", "\\\\\\1", text)  # text stays text
link <- function(part, shown) {
  option <- attr(part, "Rd_option")
  topic <- if (is.null(option)) flat(part) else sub("^=", "", sub("^[^=].*:", "", flat(option)))
  if (topic %in% names(homes)) paste0("[", shown, "](", homes[[topic]], ".md)") else shown
}
# `code`: inside code, where Markdown's signs mean nothing
md <- function(part, code = FALSE) {
  inside <- function(x, code = FALSE) paste(vapply(x, md, character(1), code = code), collapse = "")
  switch(tag_of(part),
    TEXT = if (code) as.character(part) else plain(as.character(part)),
    RCODE = , VERB = as.character(part),
    COMMENT = , "\\Sexpr" = "",
    USERMACRO = {  # the name and the arguments of a macro; what it expands to comes after it
      doi <- part[length(part)]
      if (identical(attr(part, "macro"), "\\doi")) paste0("[doi:", doi, "](https://doi.org/", doi, ")") else ""
    },
    "\\code" = , "\\verb" = , "\\samp" = , "\\file" = , "\\env" = , "\\option" = , "\\command" = {
      links <- Filter(function(x) tag_of(x) == "\\link", part)
      shown <- paste0("`", inside(part, code = TRUE), "`")
      if (length(links) == 1 && !code) link(links[[1]], shown) else shown
    },
    "\\link" = if (code) inside(part, code = TRUE) else link(part, inside(part)),
    "\\pkg" = , "\\strong" = , "\\bold" = paste0("**", inside(part), "**"),
    "\\emph" = , "\\var" = paste0("*", inside(part), "*"),
    "\\dQuote" = paste0("\u201c", inside(part), "\u201d"),
    "\\url" = paste0("<", inside(part, code = TRUE), ">"),
    "\\href" = paste0("[", inside(part[[2]]), "](", flat(part[[1]]), ")"),
    "\\eqn" = paste0("$", flat(part[[1]]), "$"),
    "\\R" = "R", "\\dots" = , "\\ldots" = "...", "\\cr" = "\n",
    "\\preformatted" = paste0("\n```r\n", sub("^\n", "", inside(part, code = TRUE)), "\n```\n"),
    "\\itemize" = , "\\enumerate" = bullets(part),
    "\\describe" = , "\\value" = definitions(part),
    "\\tabular" = cells(part),
    "\\dontrun" = , "\\donttest" = inside(part, code = TRUE),
    "\\dontshow" = , "\\testonly" = "",
    {
      if (tag_of(part) %in% c("", "LIST", "\\description", "\\details", "\\note", "\\references", "\\seealso", "\\format", "\\source", "\\author"))
        inside(part, code)
      else stop("no rule for ", tag_of(part))
    }
  )
}
words <- function(x) trimws(paste(vapply(x, md, character(1)), collapse = ""))
bullets <- function(part) {
  starts <- which(vapply(part, function(x) tag_of(x) == "\\item", logical(1)))
  ends <- c(starts[-1] - 1, length(part))
  lines <- mapply(function(from, to) paste0("- ", gsub("\n", "\n  ", words(part[from + seq_len(to - from)]))), starts, ends)
  paste0("\n\n", paste(lines, collapse = "\n"), "\n\n")
}
definitions <- function(part) {
  items <- vapply(part, function(x) {
    if (tag_of(x) != "\\item") return(md(x))
    paste0("\n", words(x[[1]]), "\n: ", gsub("\n", "\n  ", words(x[[2]])), "\n")
  }, character(1))
  paste(items, collapse = "")
}
cells <- function(part) {
  rows <- list(); cell <- ""; row <- character()
  for (x in part[[2]]) {
    if (tag_of(x) == "\\tab") { row <- c(row, trimws(cell)); cell <- "" }
    else if (tag_of(x) == "\\cr") { rows <- c(rows, list(c(row, trimws(cell)))); row <- character(); cell <- "" }
    else cell <- paste0(cell, md(x))
  }
  if (nzchar(trimws(cell))) rows <- c(rows, list(c(row, trimws(cell))))
  line <- function(row) paste0("| ", paste(gsub("\n", " ", row), collapse = " | "), " |")
  paste0("\n\n", paste(c(line(rows[[1]]), line(rep("---", length(rows[[1]]))), vapply(rows[-1], line, character(1))), collapse = "\n"), "\n\n")
}
usage <- function(part) {
  text <- paste(vapply(part, function(x) {
    if (tag_of(x) %in% c("\\method", "\\S3method"))
      paste0("## S3 method for class '", flat(x[[2]]), "'\n", flat(x[[1]]))
    else md(x, code = TRUE)
  }, character(1)), collapse = "")
  paste0("```r\n", trimws(text), "\n```")
}

known <- c("\\description" = "", "\\usage" = "Usage", "\\arguments" = "Arguments", "\\value" = "Value", "\\format" = "Format", "\\details" = "Details",
           "\\note" = "Note", "\\source" = "Source", "\\references" = "References", "\\seealso" = "See also", "\\examples" = "Examples")
facts <- character()
for (page in names(parsed)) {
  rd <- parsed[[page]]
  title <- flat(tagged(rd, "\\title"))
  out <- c(paste("#", plain(title)), "")
  for (tag in names(known)) {
    for (part in tagged(rd, tag)) {
      heading <- if (nzchar(known[[tag]])) c(paste("##", known[[tag]]), "") else character()
      body <- switch(tag, "\\usage" = usage(part),
                     "\\examples" = paste0("```r\n", trimws(paste(vapply(part, md, character(1), code = TRUE), collapse = "")), "\n```"),
                     "\\arguments" = definitions(part), "\\value" = definitions(part), words(part))
      out <- c(out, heading, body, "")
    }
    if (tag == "\\details")
      for (part in tagged(rd, "\\section")) out <- c(out, paste("##", words(part[[1]])), "", words(part[[2]]), "")
  }
  writeLines(out, file.path(args[2], paste0(page, ".md")))
  facts <- c(facts, paste(page, title, paste(aliases[[page]], collapse = " "), sep = "\t"))
}
writeLines(facts, file.path(args[2], "pages.tsv"))
