//! Links the program at a fixed address. At any other the loader adjusts tens of thousands of addresses at each start: of a debug build 85,000, which
//! is 2 of the 4.4 ms of CPU that `--version` takes.

#![allow(clippy::print_stdout, reason = "that is how Cargo is answered")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
