//! Boots kernels and shows their consoles.
use haltere_kernel::{Boot, Node};
use haltere_net::Time;
fn main() {
    for _ in 0..4 {
        let boot = Boot::found().unwrap();
        let mut node = Node::boot(&boot).unwrap();
        node.run(Time::ZERO).unwrap();
        println!("{} | wakes {:?}", node.last_words(), node.next_wake());
    }
}
