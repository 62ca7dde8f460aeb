"""What outputs print of a data set: fast, as tests go through all that print the same."""

import numpy as np

from outrisk.outputs import Frequencies
from outrisk.problem.blocks import level_in


def published(outputs, data):
    """What is printed; counts of tables by numpy, as many data sets are gone through."""
    return [each for output in outputs for each in output.publish(numbers_of(output, data))]


def numbers_of(output, data):
    if not isinstance(output, Frequencies) or output.weight:
        return output.refit(data)
    inside = np.ones(len(data), bool)
    for mask in output.cells.masks:
        inside &= mask.include[level_in(mask.joint, data.codes)]
    place = level_in(output.cells.joint(output.by), data.codes[inside])
    return output.of_counts(np.bincount(place, minlength=int(np.prod(output.cells.shape))).astype(float))
