"""Page one of a study's report: what an output checker needs to decide; one file a part."""
