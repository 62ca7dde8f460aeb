# R --vanilla --quiet --no-readline < session_by_r.R > ../printed/r_session.txt
d <- mtcars
d$shape <- factor(d$vs, labels = c("in a v", "straight"))
d$box <- factor(d$am, labels = c("auto", "hand"))
m <- glm(am ~ wt, data = d, family = binomial)
summary(m)
summary(lm(mpg ~ wt + shape, data = d))
summary(lm(mpg ~ wt + shape, data = d[d$hp < 150, ]))
table(d$shape, d$box)
xtabs(~ shape + box, d)
table(d$cyl)
with(d, table(shape, cyl, box))
t.test(mpg ~ box, data = d)
