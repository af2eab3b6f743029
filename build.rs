//! Links the program at a fixed address. At any other the loader adjusts tens of thousands of addresses at each start, which takes longer than all
//! else that a short command does.

#![allow(clippy::print_stdout, reason = "that is how Cargo is answered")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
