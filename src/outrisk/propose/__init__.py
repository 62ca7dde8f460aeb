"""What `outrisk init` proposes for data: a codebook that points at nobody, keys, a target, outputs."""
