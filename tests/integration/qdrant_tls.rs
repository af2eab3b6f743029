//! A Qdrant server behind TLS: its key goes only to one whose certificate this machine trusts.
//!
//! What is trusted is in the environment, which must not be changed while other tests run; so the calls are made by a
//! process of their own, which is this program with one test.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ralph_memory::internals::qdrant::QdrantClient;
use ralph_memory::internals::settings;
use rustls::pki_types::PrivateKeyDer;

use crate::standin::qdrant::Standin;

/// Where the process that makes the calls finds the server's address.
const ADDRESS: &str = "RALPH_MEMORY_TEST_QDRANT_TLS";

/// Returns the content of a file of `fixtures/tls`.
fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)).unwrap()
}

/// Starts a server with a certificate for this machine, which the authority `ours.pem` signed.
fn server() -> Standin {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![fixture("server.der").into()], PrivateKeyDer::Pkcs8(fixture("server-key.der").into()))
        .unwrap();
    Standin::start_tls(Some("sesame"), Arc::new(config))
}

/// Requests the server's status in another process that trusts only this certificate; returns its output.
fn asked(standin: &Standin, trusted: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trusted.pem");
    fs::write(&file, trusted).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "qdrant_tls::helper_that_asks_in_a_process_of_its_own", "--nocapture"])
        .env_clear()
        .env("SSL_CERT_FILE", &file)
        .env(ADDRESS, &standin.url)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Not a test: [`asked`] runs it in another process. Among the tests it has nothing to do.
#[test]
fn helper_that_asks_in_a_process_of_its_own() {
    let Ok(url) = std::env::var(ADDRESS) else { return };
    let settings =
        settings::QdrantSettings { url, api_key: "sesame".to_owned(), ..settings::QdrantSettings::default() };
    let result = QdrantClient::new(&settings, "all-minilm").unwrap().check();
    let said = result.map_or_else(|trouble| trouble.to_string(), |checked| format!("version {}", checked.version));
    let mut out = std::io::stdout();
    writeln!(out, "\n<{said}>").unwrap();
}

#[test]
fn a_server_with_a_trusted_certificate_is_used() {
    let standin = server();
    let said = asked(&standin, &fixture("ours.pem"));
    assert!(said.contains("<version 1.18.3>"), "{said}");
    assert_eq!(standin.knobs.n_calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_with_an_untrusted_certificate_gets_nothing() {
    let standin = server();
    let said = asked(&standin, &fixture("theirs.pem"));
    assert!(said.contains("<it cannot be reached: its certificate is not trusted here: UnknownIssuer>"), "{said}");
    assert_eq!(standin.knobs.n_calls.load(Ordering::SeqCst), 0);
}
