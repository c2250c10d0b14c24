//! Lets the linker send what draws BoringSSL's dice to ours: `src/interposed.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let with = |feature| std::env::var_os(feature).is_some();
    if with("CARGO_FEATURE_QUICHE") || with("CARGO_FEATURE_TQUIC") {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap=RAND_bytes");
    }
    if with("CARGO_FEATURE_TQUIC") {
        // The crate rand asks the kernel itself.
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap=syscall");
    }
}
