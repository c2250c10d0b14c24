//! Schedulers and coupled congestion controls that a test brings.

use super::*;

/// Uses the paths in turn.
pub struct Turns(pub usize);

impl PathScheduler for Turns {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        assert!(demand.waiting < ANSWER + 1000 && paths.iter().all(|p| !p.own));
        self.0 += 1;
        let after = paths.iter().cycle().skip(self.0 % paths.len()).take(paths.len());
        after.into_iter().find(|p| p.can_send(now)).map_or(Pick::WaitUntil(now + millis(1)), |p| Pick::On(p.id))
    }
}

/// Sends everything on every path.
struct Twice;

impl PathScheduler for Twice {
    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let usable = || paths.iter().filter(|p| p.state.usable());
        if usable().all(|p| p.can_send(now)) {
            return Pick::Copies(usable().map(|p| p.id).collect::<PathSet>());
        }
        let paced = usable().map(|p| p.paced_until).max().unwrap_or(Time::NEVER);
        Pick::WaitUntil(if usable().all(PathView::has_room) { paced } else { Time::NEVER })
    }
}

fn with(scheduler: Box<dyn PathScheduler>) -> Pair<Connection, Connection> {
    let parts = Parts { scheduler, controllers: None };
    let mut pair = two_pipes(Connection::with_parts(config(Role::Server, 2), parts), 2);
    pair.run(millis(300));
    add(&mut pair, 1).unwrap();
    pair
}

#[test]
fn a_scheduler_of_ones_own_decides() {
    let mut turns = with(Box::new(Turns(0)));
    finish(&mut turns);
    let [first, second] = shares(&turns);
    assert!(second * 3 > first && first * 3 > second, "{first} and {second} bytes");
    // Every byte on both paths: each carries nearly the whole, and the application still reads each byte once.
    let mut twice = with(Box::new(Twice));
    finish(&mut twice);
    let [first, second] = shares(&twice);
    assert!(first > ANSWER * 9 / 10 && second > ANSWER * 8 / 10, "{first} and {second} bytes");
}

/// Lowest RTT first; notes the heads of line that it is told of.
struct Heads(Box<dyn PathScheduler>, Arc<Mutex<Vec<(PathId, Time)>>>);

impl PathScheduler for Heads {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        self.0.pick(paths, demand, now)
    }
    fn on_blocked(&mut self, head: PathId, now: Time) {
        self.1.lock().unwrap().push((head, now));
    }
}

#[test]
fn the_scheduler_is_told_which_path_holds_up_a_connection_without_window() {
    let heads = |window: u64| {
        let told = Arc::new(Mutex::new(Vec::new()));
        let scheduler = Box::new(Heads(made(scheduler::LOWEST_RTT), told.clone()));
        let server = Connection::with_parts(config(Role::Server, 2), Parts { scheduler, controllers: None });
        let small = Config { connection_window: window, max_connection_window: window, ..config(Role::Client, 2) };
        // The second path has a round trip of 400 ms.
        let (first, second) = (link(10, 10), link(10, 200));
        let mut pair = Pair::new(Connection::new(small), server, &first, &first, 4, one(ANSWER));
        pair = pair.and_path(&second, &second, 5);
        pair.run(millis(300));
        add(&mut pair, 1).unwrap();
        finish(&mut pair);
        told.lock().unwrap().clone()
    };
    let told = heads(250_000);
    assert!(told.iter().any(|(head, _)| *head == PathId(1)), "the slow path blocks the fast one: {told:?}");
    assert!(
        told.is_sorted_by_key(|(_, at)| *at) && told.len() as u64 <= ANSWER / 125_000,
        "once a window: {}",
        told.len()
    );
    assert_eq!(heads(20_000_000), []);
}

/// The view of a coupled control: the number of paths, and the sum of their windows beside its own.
type Sums = Arc<Mutex<Vec<(usize, u64, u64)>>>;

/// A controller that grows by what its path has of the sum of all windows.
struct Shared {
    window: u64,
    seen: Sums,
}

impl CongestionController for Shared {
    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        let sum: u64 = siblings.iter().map(|path| path.window).sum();
        let own = PathView::own(siblings).map_or(self.window, |path| path.window);
        assert_eq!(own, self.window.max(own), "the view is of now");
        self.seen.lock().unwrap().push((siblings.len(), sum, self.window));
        self.window += ack.delivered * self.window / sum.max(self.window);
    }
    fn on_congestion(&mut self, _: &Congestion) {
        self.window = (self.window / 2).max(3000);
    }
    fn on_undo(&mut self) {}
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn set_mss(&mut self, _: u64, _: u64) {}
}

#[test]
fn a_coupled_control_sees_all_windows_and_none_where_there_is_one_path() {
    let seen = Sums::default();
    let first_draws: Arc<Mutex<Vec<u64>>> = Arc::default();
    let (shared, draws) = (seen.clone(), first_draws.clone());
    let parts = Parts {
        scheduler: made(scheduler::LOWEST_RTT),
        controllers: Some(Box::new(move |config| {
            let mut stream: Stream = config.stream;
            draws.lock().unwrap().push(stream.bits());
            Box::new(Shared { window: config.initial_window, seen: shared.clone() })
        })),
    };
    let mut pair = two_pipes(Connection::with_parts(config(Role::Server, 2), parts), 2);
    pair.run(millis(500));
    assert!(seen.lock().unwrap().iter().all(|(paths, _, _)| *paths == 0));
    add(&mut pair, 1).unwrap();
    finish(&mut pair);
    let seen = seen.lock().unwrap();
    let coupled: Vec<_> = seen.iter().filter(|(paths, _, _)| *paths == 2).collect();
    assert!(coupled.len() > 500 && coupled.iter().all(|(_, sum, own)| sum > own));
    let draws = first_draws.lock().unwrap();
    assert!(draws.len() == 2 && draws[0] != draws[1], "each path has a random stream of its own");
}
