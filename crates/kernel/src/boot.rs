//! How a kernel is started.

use crate::card::Identity;
use crate::error::Error;
use crate::sys;
use haltere_net::Span;
use std::ffi::OsString;
use std::fs;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The kernel's own time at time 0 of the run, unless it is said otherwise.
pub(crate) const ORIGIN: Span = Span::from_millis(1000);

/// How a kernel is started. Two that are started with equal values do the same, to the byte.
#[derive(Clone, Debug)]
pub struct Boot {
    /// The user-mode Linux, as `haltere kernel build` makes it.
    pub program: PathBuf,
    /// The library that stands before functions of its C library (`python/haltere/rig/preloaded.c`).
    pub preloaded: PathBuf,
    /// The program inside, by its path on the host, whose file system the kernel has as its root.
    pub init: PathBuf,
    /// Its memory, MiB. Only what it uses is taken from the host.
    pub memory_mib: u32,
    /// Its network cards: `eth0`, `eth1` and so on.
    pub cards: Vec<Identity>,
    /// Parameters of modules that are built in, such as `tcp_cubic.hystart=0`.
    pub parameters: Vec<String>,
    /// Where its random numbers begin.
    pub dice: u64,
    /// The kernel's own time at time 0 of the run. Until then it boots, without being asked when.
    pub origin: Span,
    /// The longest that it may compute at one instant, on the machine's clock.
    pub patience: Duration,
}

impl Boot {
    /// The defaults: 1 GiB, no card, a second of its own time to boot, 30 s of patience.
    pub fn new(program: PathBuf, preloaded: PathBuf, init: PathBuf) -> Boot {
        let (origin, patience) = (ORIGIN, Duration::from_secs(30));
        Boot {
            program,
            preloaded,
            init,
            memory_mib: 1024,
            cards: Vec::new(),
            parameters: Vec::new(),
            dice: 0,
            origin,
            patience,
        }
    }

    /// Its command line. It is handed so many descriptors: its clock's socket, the clock's memory, its cards' sockets, and the program
    /// inside. A kernel mixes its command line into its random numbers (`random_init_early`): no path of the host stands on it.
    pub(crate) fn arguments(&self, handed: usize) -> Vec<OsString> {
        let inside = sys::FIRST + handed as RawFd - 1;
        let memory = format!("mem={}M", self.memory_mib);
        // There is no folder below /dev/null: the kernel can write nothing about itself.
        let fixed = [
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "uml_dir=/dev/null",
            "umid=haltere",
            "con=null",
            "con0=null,fd:1",
        ];
        let more = ["console=tty0", "quiet", "panic=-1", "virtio_net.napi_tx=0"];
        let mut all: Vec<OsString> = fixed.iter().chain(&more).map(OsString::from).collect();
        all.extend([format!("init=/proc/self/fd/{inside}").into(), memory.into()]);
        all.extend(self.parameters.iter().map(OsString::from));
        let clock = sys::FIRST;
        all.push(format!("time-travel=ext:0:haltere-fd-{clock}-{}", clock + 1).into());
        let cards = (2..handed - 1).map(|index| sys::FIRST + index as RawFd);
        all.extend(cards.map(|card| format!("virtio_uml.device=haltere-fd-{card}:1").into()));
        all
    }
}

/// The folder of kernels: `$XDG_CACHE_HOME/haltere/kernels`, or below `~/.cache` (`python/haltere/rig/kernel.py`).
fn kernels() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("haltere").join("kernels"))
}

/// The newest series of kernels that the model was shown to agree with (`AGREED` of `python/haltere/rig/kernel.py`).
const AGREED: [u32; 2] = [7, 3];

/// The key by which kernels are sorted, from their names: the newest is the greatest, but for those beyond [`AGREED`]. Among equals it is the
/// one whose timers tick as Debian's do.
fn rank(name: &str) -> (bool, Vec<u32>, bool, &str) {
    let numbers: Vec<u32> =
        name.split(|c: char| !c.is_ascii_digit()).take(3).map(|number| number.parse().unwrap_or(0)).collect();
    let agreed = numbers.get(..2).is_some_and(|series| series <= AGREED.as_slice());
    (agreed, numbers, name.contains("-hz250-"), name)
}

/// Whether a kernel's folder has a name, a version or a series of versions: `6.12` or `6.12.117` for `6.12.117-hz250-0cb23e`.
fn is_named(folder: &str, wanted: &str) -> bool {
    folder.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with("-hz"))
}

/// A kernel that can be a node, and the library that it is started with.
fn usable(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let config = fs::read_to_string(folder.join("config")).ok()?;
    let has = |option: &&str| config.lines().any(|line| line.strip_prefix("CONFIG_") == Some(option));
    let library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with("preloaded-") && name.ends_with(".so")
    };
    let files = fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
    let written = |path: &PathBuf| fs::metadata(path).and_then(|about| about.modified()).ok();
    let preloaded = files.filter(library).max_by_key(written)?;
    let program = folder.join("linux");
    // A kernel without the salt draws other random numbers than one that was built elsewhere (`python/haltere/rig/kernel.config`).
    let needed = ["UML_TIME_TRAVEL_SUPPORT=y", "VIRTIO_UML=y", "VIRTIO_NET=y", "BUILD_SALT=\"haltere\""];
    (needed.iter().all(has) && program.is_file()).then_some((program, preloaded))
}

impl Boot {
    /// How the kernel is started that is the default in the user's cache, of those that can be nodes; `HALTERE_KERNEL` names another one. `HALTERE_NODE` names the program
    /// inside.
    ///
    /// # Errors
    /// If one of them is missing; the error says how to get it.
    pub fn found() -> Result<Boot, Error> {
        let init = std::env::var_os("HALTERE_NODE").map(PathBuf::from).filter(|path| path.is_file());
        let init = init.ok_or_else(|| {
            let what = "the program that runs inside a kernel is not there";
            Error::Missing(format!("{what}: build it by `make build`, or name it in HALTERE_NODE"))
        })?;
        Ok(Boot { init, ..Boot::kernel_found()? })
    }

    /// As [`Boot::found`], without the program inside.
    ///
    /// # Errors
    /// If there is no kernel.
    pub fn kernel_found() -> Result<Boot, Error> {
        let named = std::env::var("HALTERE_KERNEL").ok().filter(|wanted| !wanted.is_empty());
        let fits = |name: &str| named.as_ref().is_none_or(|wanted| is_named(name, wanted));
        let folders = kernels().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
        let folders = folders
            .filter_map(|folder| Some((folder.as_ref().ok()?.file_name().into_string().ok()?, folder.ok()?.path())));
        let all = folders.filter(|(name, _)| fits(name)).filter_map(|(name, folder)| Some((name, usable(&folder)?)));
        let chosen = all.max_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)));
        let (_, (program, preloaded)) = chosen.ok_or_else(|| {
            let which = named.map_or_else(String::new, |name| format!(" {name}"));
            Error::Missing(format!("there is no kernel{which} that can be a node: build one by `haltere kernel build` (once; some minutes, no root)"))
        })?;
        Ok(Boot::new(program, preloaded, PathBuf::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_named, rank};

    #[test]
    fn a_kernel_is_found_by_its_name_its_version_and_its_series() {
        let fits = |wanted| is_named("6.12.117-hz250-a", wanted);
        assert!(["6.12.117-hz250-a", "6.12.117", "6.12", "6"].into_iter().all(fits));
        assert!(!["6.12.11", "6.1", "7.3", "6.12.117-hz250", "6.12.117-hz250-a.b"].into_iter().any(fits));
    }

    #[test]
    fn the_newest_kernel_comes_first_but_for_those_that_nobody_has_compared() {
        let mut names = ["7.10.1-hz250-a", "6.12.9-hz250-a", "7.3.0-hz1000-a", "6.12.117-hz250-a", "7.3.0-hz250-a"];
        names.sort_by(|a, b| rank(b).cmp(&rank(a)));
        assert_eq!(names, ["7.3.0-hz250-a", "7.3.0-hz1000-a", "6.12.117-hz250-a", "6.12.9-hz250-a", "7.10.1-hz250-a"]);
    }
}
