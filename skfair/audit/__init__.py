"""What fresh people say of a model, whoever made it: certificates and reports."""

from skfair.audit._certify import Certificate, certify, limit_metric

__all__ = ["Certificate", "certify", "limit_metric"]
