//! Products of two numbers of 64 bits, which need 128 bits at most.
//!
//! Most fit 64 bits, and are computed there: a division of 128 bits is a call of a routine on every machine. In WebAssembly a
//! multiplication is one, too, even to find that 64 bits do not suffice, and so the numbers' digits are counted there.

const WASM: bool = cfg!(target_family = "wasm");

/// `a * b`, or none if it may need more than 64 bits.
#[inline]
const fn short(a: u64, b: u64) -> Option<u64> {
    if !WASM {
        return a.checked_mul(b);
    }
    if a.leading_zeros() + b.leading_zeros() >= u64::BITS { Some(a * b) } else { None }
}

/// `a * b`.
#[inline]
pub const fn product(a: u64, b: u64) -> u128 {
    if WASM && let Some(product) = short(a, b) {
        return product as u128;
    }
    a as u128 * b as u128
}

/// `a * b`, or the largest number.
#[inline]
pub const fn saturating_product(a: u64, b: u64) -> u64 {
    if !WASM {
        return a.saturating_mul(b);
    }
    // With 62 leading zeros or fewer, both numbers together have so many digits that 64 bits cannot suffice.
    match a.leading_zeros() + b.leading_zeros() {
        64.. => a * b,
        63 => a.saturating_mul(b),
        ..63 => u64::MAX,
    }
}

/// `n * num / den`, rounded down, or the largest number.
#[inline]
pub const fn scaled(n: u64, num: u64, den: u64) -> u64 {
    if let Some(product) = short(n, num) {
        return product / den;
    }
    let wide = n as u128 * num as u128 / den as u128;
    if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_128_bits() {
        let near = [0, 1, 2, 3, u64::MAX, 8_000_000_000, 1_500];
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let all: Vec<u64> = near.into_iter().chain(edges).collect();
        for &a in &all {
            for &b in &all {
                let wide = u128::from(a) * u128::from(b);
                assert_eq!(product(a, b), wide);
                assert_eq!(saturating_product(a, b), u64::try_from(wide).unwrap_or(u64::MAX));
                for den in [1, 7, 1 << 20, u64::MAX] {
                    assert_eq!(scaled(a, b, den), u64::try_from(wide / u128::from(den)).unwrap_or(u64::MAX));
                }
            }
        }
    }
}
