"""OutRisk: is this statistical output safe to release?"""

__version__ = "0.1.0"
