"""What models of each kind have learnt: one view per kind, named in ``crfkit.models.kinds``."""
