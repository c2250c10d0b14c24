//! Lets the linker send what draws BoringSSL's dice to ours: `src/interposed.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_QUICHE").is_some() {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap=RAND_bytes");
    }
}
