"""Audits of privacy claims, in four layers.

==============  ============================================  ====================================
layer           looks at                                      sees
==============  ============================================  ====================================
certificate     exact fractions, no samples                   a support short by a hair
coupling        the same noise on two adjacent databases      masks, scales and branches on data
noise law       draws against their exact law                 wrong scale, support or sampler
black box       probabilities of events on two databases      anything, if it is large enough
==============  ============================================  ====================================

:func:`dp_cmdp.audit.subject.audit` takes any callable;
:func:`dp_cmdp.audit.suite.audit_everything` audits all that this package ships and shows that bugs,
put in on purpose, are caught.
"""
