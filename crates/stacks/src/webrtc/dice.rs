//! The random numbers of str0m. It draws all but those of DTLS from the generator of the thread (crate fastrand), which is lent it for the
//! length of a call, in the state that this connection left it. Those of DTLS begin with a seed that is drawn there, too.

use haltere_net::rng::Stream;

/// The state of a connection's generator between two calls.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub fn new(stream: &mut Stream) -> Dice {
        Dice(stream.bits())
    }

    /// Dice that both ends of a call have, in every run.
    pub fn of_both() -> Dice {
        Dice(0)
    }

    /// Does `work`, which draws from these dice.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let of_others = fastrand::get_seed();
        fastrand::seed(self.0);
        let result = work();
        self.0 = fastrand::get_seed();
        fastrand::seed(of_others);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;
    use haltere_net::rng::Streams;

    #[test]
    fn two_connections_in_turn_draw_as_each_does_alone() {
        let dice = |name| Dice::new(&mut Streams::new(1, 0).named(name));
        let draw = |dice: &mut Dice| dice.lend(|| fastrand::u64(..));
        let alone = |name| {
            let mut dice = dice(name);
            [draw(&mut dice), draw(&mut dice), draw(&mut dice)]
        };
        let (mut a, mut b) = (dice("a"), dice("b"));
        let in_turn = [draw(&mut a), draw(&mut b), draw(&mut a), draw(&mut b), draw(&mut a), draw(&mut b)];
        let [a0, b0, a1, b1, a2, b2] = in_turn;
        assert_eq!(([a0, a1, a2], [b0, b1, b2]), (alone("a"), alone("b")));
        assert_ne!(a0, b0);
    }
}
