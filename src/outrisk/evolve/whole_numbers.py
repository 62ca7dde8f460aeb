"""How long whole numbers are looked for by integer programming (HiGHS): soon found where they are at all."""

UNKNOWNS = 3_000  # up to which it is tried
NODES, GAP = 200, 0.5  # of a search, at most; how far from the nearest it may end
