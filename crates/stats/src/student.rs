//! Student's t distribution.

/// Returns the probability of a value below `t`. Small probabilities have full relative precision.
///
/// Source: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.1 and 26.5.27.
pub fn below(freedom: f64, t: f64) -> f64 {
    let all = freedom + t * t;
    let tail = 0.5 * incomplete_beta((freedom / 2.0, freedom / all), (0.5, t * t / all));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the value below which a value lies with this probability.
pub fn quantile(freedom: f64, probability: f64) -> f64 {
    if probability < 0.5 {
        return -quantile(freedom, 1.0 - probability);
    }
    let tail = 1.0 - probability;
    let (mut low, mut high) = (0.0, 1.0);
    while below(freedom, -high) > tail {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if below(freedom, -middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The regularised incomplete beta function of `a`, `b` and `x`, by Lentz's continued fraction. `y` is 1 − x, which would lose
/// digits if it were counted here.
///
/// Source: Abramowitz and Stegun, 26.5.8; W. J. Lentz, Applied Optics 15(3), 1976.
fn incomplete_beta((a, x): (f64, f64), (b, y): (f64, f64)) -> f64 {
    const LEAST: f64 = 1e-300;
    if x <= 0.0 {
        return 0.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta((b, y), (a, x));
    }
    let logarithm = a * libm::log(x) + b * libm::log(y) - log_beta(a, b);
    let held = |value: f64| if value.abs() < LEAST { LEAST } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / held(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for part in [even, odd] {
            d = 1.0 / held(1.0 + part * d);
            c = held(1.0 + part / c);
            factor = c * d;
            fraction *= factor;
        }
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    libm::exp(logarithm) * fraction / a
}

fn log_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

#[cfg(test)]
mod tests {
    use super::{below, quantile};

    /// The values of any textbook, with the digits of scipy.
    #[test]
    fn known_quantiles() {
        for (freedom, probability, expected) in [
            (1.0, 0.975, 12.706204736174694),
            (9.0, 0.975, 2.262157162798205),
            (9.0, 0.9975, 3.689662392304245),
            (30.0, 0.95, 1.697260886593957),
        ] {
            let found = quantile(freedom, probability);
            assert!((found / expected - 1.0).abs() < 1e-12, "{freedom} {probability}: {found}");
        }
    }

    #[test]
    fn both_sides_make_one() {
        for freedom in [1.0, 2.0, 7.0, 80.0] {
            for t in [0.0, 0.1, 1.0, 3.0, 40.0] {
                assert!((below(freedom, t) + below(freedom, -t) - 1.0).abs() < 1e-15);
            }
        }
        assert!((below(1.0, -1e9) * std::f64::consts::PI * 1e9 - 1.0).abs() < 1e-12, "the tail of Cauchy's");
    }
}
