# Tests between groups of fair.csv as rows of broom::tidy:  Rscript tests_by_broom.R FOLDER, where fair.csv lies; run by
# tests/readers/test_printed_tests.py
setwd(commandArgs(TRUE)[1])
suppressMessages(library(broom))
data <- read.csv("fair.csv")
small <- data[seq(1, nrow(data), 97), ]
write_tidy <- function(name, test) write.csv(tidy(test), name, row.names = FALSE)

write_tidy("tidy_t.csv", t.test(age ~ affair, small))
grouped <- cbind(tidy(t.test(age ~ affair, small, var.equal = TRUE)), group1 = 0, group2 = 1)  # as rstatix names them
write.csv(grouped, "tidy_groups.csv", row.names = FALSE)
write_tidy("tidy_wilcox.csv", wilcox.test(age ~ affair, small))
write_tidy("tidy_chisq.csv", chisq.test(data$religion, data$affair))
write_tidy("tidy_prop.csv", prop.test(table(small$religion > 2, small$affair)))
write_tidy("tidy_fisher.csv", fisher.test(small$religion > 2, small$affair))
write_tidy("tidy_kruskal.csv", kruskal.test(age ~ religion, small))
write_tidy("tidy_oneway.csv", oneway.test(age ~ religion, small, var.equal = TRUE))
write_tidy("tidy_aov.csv", aov(age ~ factor(religion), small))
write_tidy("tidy_aov_number.csv", aov(age ~ religion, small))
write_tidy("tidy_paired.csv", t.test(small$age, small$educ, paired = TRUE))
write_tidy("tidy_signed.csv", wilcox.test(small$age, small$educ, paired = TRUE, exact = FALSE))
write_tidy("tidy_mcnemar.csv", mcnemar.test(data$children > 0, data$religion > 2))
write_tidy("tidy_cor.csv", cor.test(small$age, small$educ))
write_tidy("tidy_spearman.csv", cor.test(small$age, small$educ, method = "spearman", exact = FALSE))
write_tidy("tidy_kendall.csv", cor.test(small$age, small$educ, method = "kendall", exact = FALSE))
write_tidy("tidy_less.csv", t.test(age ~ affair, small, alternative = "less"))
