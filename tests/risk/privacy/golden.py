"""The golden cases of ../shared/golden/privacy_metrics: their tables, and what each variant is called here.

docs/privacy-metrics.md shows the same mapping to a reader.
"""

import json
from functools import cache

import numpy as np
import pandas as pd

from outrisk.risk import Encoding

TO_REAL = "synthetic_to_real"
ENCODINGS = {
    "onehot_zscore": "onehot_zscore",
    "onehot_minmax": "onehot_minmax",
    "numeric_raw": "numeric_raw",
    "gower_union": "gower",
    "gower_real": "gower_real",
    "pca_k": "pca",
    "famd_k": "famd",
}
_PAIRS, _NEAREST = "min and max over all pairs (paper)", "min and max over the nearest distances only (reference code)"

PARAMETERS = {
    ("ZCAP", "paper"): {},
    ("GCAP", "paper (all synthetic records at the minimal Hamming distance)"): {},
    ("AIR", "paper_per_record_f1/distinct"): {"form": "record_f1", "tolerance": "synthetic"},
    ("AIR", "paper_per_record_f1/records"): {"form": "record_f1", "tolerance": "synthetic", "weighting": "records"},
    ("AIR", "paper_global_f1"): {"form": "total_f1", "tolerance": "synthetic", "weighting": "none"},
    ("AIR", "hit_share/distinct"): {"tolerance": "synthetic"},
    ("AIR", "hit_share/unweighted"): {"tolerance": "synthetic", "weighting": "none"},
    ("CRP", "paper_distinct"): {"form": "distinct"},
    ("CRP", "share_of_real_records"): {},
    ("CRP", "share_of_synthetic_records"): {"form": "synthetic"},
    ("CVP", f"u <= 0.2, {_PAIRS}"): {},
    ("CVP", f"u <= 0.2, {_NEAREST}"): {"bounds": "nearest"},
    ("CVP", f"u < 0.2, {_PAIRS}"): {"strict": True},
    ("CVP", f"u < 0.2, {_NEAREST}"): {"strict": True, "bounds": "nearest"},
    ("DVP", f"DVP' = 1 - share(u >= 0.8), {_PAIRS}"): {},
    ("DVP", f"DVP' = 1 - share(u >= 0.8), {_NEAREST}"): {"bounds": "nearest"},
    ("NSND", f"mean u (paper eq 21, low = close), {_PAIRS}"): {"risk": False},
    ("NSND", f"mean u (paper eq 21, low = close), {_NEAREST}"): {"risk": False, "bounds": "nearest"},
    ("NSND", f"1 - mean u, {_PAIRS}"): {},
    ("NSND", f"1 - mean u, {_NEAREST}"): {"bounds": "nearest"},
    ("Auth", "Auth"): {"risk": False},
    ("Auth", "AuthPrime"): {},
    ("Auth", "per_synthetic_Auth"): {"risk": False, "per": "synthetic"},
    ("Auth", "per_synthetic_AuthPrime"): {"per": "synthetic"},
    ("ID", "paper_pointwise"): {"entropy": "pointwise"},
    ("ID", "multiply_by_entropy"): {"entropy": "multiply"},
    ("ID", "divide_by_entropy"): {"entropy": "divide"},
    ("ID", "unweighted"): {"entropy": "none"},
    ("MDCR", "med_real_to_synthetic"): {"form": "numerator"},
    ("MDCR", "med_synthetic_to_real"): {"form": "numerator", "side": TO_REAL},
    ("MDCR", "med_real_to_real"): {"form": "denominator"},
    ("NNAA", "left"): {"form": "left"},
    ("NNAA", "right"): {"form": "right"},
    ("NNAA", "paper_sum"): {"form": "sum"},
    ("NNAA", "paper_prime=1-sum"): {"form": "paper"},
    ("NNAA", "half_sum"): {"form": "accuracy"},
    ("NNAA", "risk=1-half_sum"): {},
    ("NNDR", "paper"): {"form": "paper"},
    ("NNDR", "mean_ratio"): {"form": "ratio"},
    ("NNDR", "risk=1-mean_ratio"): {},
    ("NNDR", "real_to_synthetic/mean_ratio"): {"form": "ratio", "side": "real_to_synthetic"},
    ("NNDR", "real_to_synthetic/risk=1-mean_ratio"): {"side": "real_to_synthetic"},
    ("HiddR", "hits/|Z| (paper)"): {"over": "synthetic", "among": "first"},
    ("HiddR", "hits/|Y| (reference code)"): {"among": "first"},
    ("HiddR", "hits/|Y|, a tie that holds the partner counts"): {},
    ("HitR", "paper_pairs_over_Y"): {"form": "pairs"},
    ("HitR", "share_of_real_hit"): {},
    ("HitR", "literal_h=0"): {"parts": np.inf},
    ("HitR", "share_of_synthetic_hit"): {"form": "synthetic"},
    **{("DCR", side + form): {"form": ours, **where}
       for side, where in (("paper", {}), ("synthetic_to_real", {"side": TO_REAL}))
       for form, ours in (("", "distance"), ("/prime_ln", "risk"), ("/prime_log10", "log10"))},
    **{("MDCR", side + form): {"form": ours, **where}
       for side, where in (("paper", {}), ("synthetic_to_real", {"side": TO_REAL}))
       for form, ours in (("", "ratio"), ("/prime_sigmoid", "sigmoid"), ("/one_minus_sigmoid", "one_minus_sigmoid"),
                          ("/risk=1/(1+ratio)", "risk"))},
}  # fmt: skip


class Golden:
    """Cases, and their tables as each source read them."""

    def __init__(self, folder):
        document = json.loads((folder / "cases.json").read_text())
        self.folder, self.datasets = folder, document["datasets"]
        self.formula = [case for case in document["cases"] if case["source"] == "formula by brute force"]
        self.reference = [case for case in document["cases"] if case["source"] == "PrivEval code"]
        assert len(self.formula) + len(self.reference) == len(document["cases"]) == 1296
        self.frames, self.raw, self.labels = cache(self.frames), cache(self.raw), cache(self.labels)

    def frames(self, data):
        """Text, but for the columns typed numeric."""
        described = self.datasets[data]
        frames = []
        for table in ("real", "synthetic"):
            frame = pd.read_csv(self.folder / described[table], dtype=str, keep_default_na=False)
            numeric = [name for name, kind in described["column_types"].items() if kind == "numeric"]
            frames.append(frame[list(described["column_types"])].astype(dict.fromkeys(numeric, float)))
        return frames

    def raw(self, data):
        """As pandas reads the files: whole numbers and 0/1 as numbers, True/False as truth values."""
        return [pd.read_csv(self.folder / self.datasets[data][table]) for table in ("real", "synthetic")]

    def labels(self, data):
        """As `raw`, all that is no number replaced by its rank among the values of both tables."""
        real, synthetic = (frame.copy() for frame in self.raw(data))
        for name in real.select_dtypes(exclude="number"):
            levels = sorted({*real[name], *synthetic[name]})
            for frame in (real, synthetic):
                frame[name] = frame[name].map(levels.index).astype("int64")
        return [real, synthetic]


def encoding(case):
    """The encoding of a formula case, as parameters."""
    name = case["preprocessing"]
    return {"encoding": Encoding(ENCODINGS[name], k=case["params"].get("k"))} if name in ENCODINGS else {}
