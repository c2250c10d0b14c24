//! The first and only program in a kernel that is a node of the simulator: it opens connections, writes and reads as it is told.
//! Commands come and events go as frames on the card `eth0` (`haltere_kernel::control`). All sockets are served by one loop, which waits
//! whenever nothing is to be done.

#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
fn main() {
    // The kernel names it by the descriptor that it was started from. Only the name that `ps` shows would be wrong.
    let _ = rustix::thread::set_name(c"haltere-node");
    if let Err(error) = program::run() {
        // The kernel stops when this program ends, and its console shows this line.
        eprintln!("haltere-node: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("haltere-node runs inside a Linux kernel that haltere boots");
}
