// Logarithm, exponential function and digamma function that give the same bits on every machine: they use
// only operations that IEEE 754 rounds exactly. Those of the C library differ between versions and
// processors.
#pragma once

namespace pipeline {

/// Natural logarithm of a positive, normal number; the relative error is below 1e-15.
double ExactLog(double number);

/// e to the power of `exponent`, which is between -700 and 700; the relative error is below 1e-15.
double ExactExp(double exponent);

/// exp(digamma(x)) for a positive x: about x - 1/2, and less than that near 0; the relative error is below
/// 1e-9.
double ExpDigamma(double x);

}  // namespace pipeline
