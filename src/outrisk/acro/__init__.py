"""Folders of ACRO: what a session holds, as a study; what is wrong with it; an annotated copy to hand back."""
