//! The regularised incomplete beta function and its inverse, by continued fraction and bisection.
//!
//! Good to about twelve digits for parameters up to some tens of millions, which is far more than a rate needs.

/// Smallest magnitude of a term of the continued fraction.
const TINY: f64 = 1e-300;
/// Relative change at which the fraction has converged.
const CLOSE: f64 = 1e-15;
/// The fraction converges in about the square root of its larger parameter.
const TERMS_MAX: u32 = 200_000;

/// `I_x(a, b)`: the probability that a beta variate is at most `x`. `a` and `b` are above 0.
pub(super) fn distribution(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    // The fraction converges fast on this side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        libm::exp(front) * fraction(x, a, b) / a
    } else {
        1.0 - libm::exp(front) * fraction(1.0 - x, b, a) / b
    }
}

/// The `x` at which `I_x(a, b)` is `p`.
pub(super) fn quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-16 * high {
            break;
        }
        if distribution(middle, a, b) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The continued fraction of the incomplete beta function, evaluated from the front (Lentz).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let held = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / held(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for numerator in [even, odd] {
            d = 1.0 / held(1.0 + numerator * d);
            c = held(1.0 + numerator / c);
            change = c * d;
            result *= change;
        }
        if (change - 1.0).abs() < CLOSE {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I_x(1, 1) = x, I_x(2, 1) = x², I_x(1, 3) = 1 - (1 - x)³, I_x(2, 2) = 3x² - 2x³.
    #[test]
    fn small_parameters_have_closed_forms() {
        for x in [0.01, 0.2, 0.5, 0.77, 0.999] {
            let close = |a, b, exact: f64| {
                let got = distribution(x, a, b);
                assert!((got - exact).abs() < 1e-12, "I_{x}({a}, {b}) = {got}, not {exact}");
            };
            close(1.0, 1.0, x);
            close(2.0, 1.0, x * x);
            close(1.0, 3.0, 1.0 - (1.0 - x) * (1.0 - x) * (1.0 - x));
            close(2.0, 2.0, 3.0 * x * x - 2.0 * x * x * x);
        }
    }

    #[test]
    fn the_inverse_gives_the_argument_back() {
        for (a, b) in [(1.0, 30.0), (3.0, 8.0), (200.0, 4.0), (5_000.0, 2_000_000.0)] {
            for p in [0.025, 0.5, 0.975] {
                let x = quantile(p, a, b);
                assert!((distribution(x, a, b) - p).abs() < 1e-9, "{a} {b} {p}");
            }
        }
    }
}
