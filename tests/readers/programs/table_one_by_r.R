# Table ones of fair.csv as R's arsenal writes them:  Rscript table_one_by_r.R FOLDER; run by tests/readers/test_table_one.py
setwd(commandArgs(TRUE)[1])
suppressMessages(library(arsenal))
data <- read.csv("fair.csv")
data$religion <- factor(data$religion, labels = c("not at all", "mildly", "fairly", "strongly"))
data$affair <- factor(data$affair)
gaps <- data
gaps$educ[seq(17, nrow(gaps), 17)] <- NA
gaps$religion[seq(23, nrow(gaps), 23)] <- NA
formula <- affair ~ age + kwt(yrs_married, "median", "q1q3", "range") + religion + educ + occ
plain <- summary(tableby(formula, data), text = TRUE)
write.csv(as.data.frame(plain), "arsenal.csv", row.names = FALSE)
capture.output(print(plain), file = "arsenal.md")
write2html(tableby(formula, gaps), "arsenal_page.html", quiet = TRUE)
page <- readLines("arsenal_page.html")
writeLines(page[min(grep("^<table", page)):max(grep("^</table>", page))], "arsenal_gaps.html")
write.csv(as.data.frame(summary(tableby(formula, gaps), text = TRUE)), "arsenal_gaps.csv", row.names = FALSE)
everybody <- summary(tableby(~ age + religion, data), text = TRUE)
write.csv(as.data.frame(everybody), "arsenal_all.csv", row.names = FALSE)
by_four <- tableby(religion ~ age + notest(affair) + anova(educ), data, digits = 2, cat.stats = c("countrowpct"))
write.csv(as.data.frame(summary(by_four, text = TRUE)), "arsenal_rows.csv", row.names = FALSE)
