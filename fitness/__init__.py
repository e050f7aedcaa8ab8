"""How good an expression is: data, kernels, metrics, constants, scores and the evaluators that run them."""
