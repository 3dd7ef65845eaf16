"""Small smooth models of a response on a few kept columns, and what is left over: score residuals.

The score part of the block test asks whether a term says something about the response that the kept terms do not say.
It needs no model with the term in it: only the model without, and the derivative of its log-likelihood by the linear
predictor, one value (nominal: one vector) an observation. Permuting the term changes neither.

==============  ==================================================================================================
response        model
==============  ==================================================================================================
ordinal         proportional odds, ``P(y <= l) = F(theta_l - eta)`` with F logistic; levels may be censored
binary          logistic regression: proportional odds with two levels
regression      least squares; the residuals' normal scores (default) or the residuals themselves
nominal         multinomial logit, one linear predictor a level but the first
survival        Cox's model, Breslow's way with ties; martingale residuals
==============  ==================================================================================================

Every model is fitted by Newton's method with step halving and a ridge so small that it only shows where the data
leave a coefficient open (separable, collinear). None raises on such data.
"""

from relbounds.linear.noise.smooth.facts import FloatArray, Response, Smooth
from relbounds.linear.noise.smooth.fit import fit_smooth

__all__ = ["FloatArray", "Response", "Smooth", "fit_smooth"]
