* Tables of fair.csv as PSPP writes them, SPSS's free twin:  pspp by_pspp.sps -o pspp.csv, in the folder of fair.csv.
GET DATA /TYPE=TXT /FILE="fair.csv" /ARRANGEMENT=DELIMITED /DELIMITERS="," /FIRSTCASE=2
  /VARIABLES=affair F2.0 affairs F12.7 marriage F2.0 religion F2.0 age F8.1 yrs_married F8.1 children F8.1 educ F4.0 text A20.
AUTORECODE VARIABLES=text /INTO occ.
VALUE LABELS religion 1 'not at all' 2 'mildly' 3 'fairly' 4 'strongly'.
LOGISTIC REGRESSION VARIABLES=affair WITH religion occ /CATEGORICAL=religion occ /PRINT=CI(95).
REGRESSION /VARIABLES=age yrs_married /DEPENDENT=affairs /STATISTICS=COEFF R.
CROSSTABS /TABLES=occ BY religion /CELLS=COUNT ROW COLUMN.
CROSSTABS /TABLES=affair BY religion.
FREQUENCIES /VARIABLES=religion.
MEANS TABLES=educ BY occ.
