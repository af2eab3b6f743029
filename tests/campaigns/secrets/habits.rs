//! Secrets as people write them down: whole commands, files and statements, in which the value stands in a place of its
//! own. They are carried as they are, since none of them fits into another's syntax.

use super::codes::base64;
use super::notes::sentence;
use super::template::{bytes, marked};
use crate::random::Random;

/// What people choose or have made, in place of `{P}`.
const PASSWORDS: [&str; 6] =
    ["«b62 16-24»", "«b62 20»", "«Word»-«Word»-«dig 3»!", "«b62 8»#«b62 6»", "«url 23»«b62 1»", "«hex 32»"];

/// Templates: kind, text.
const HABITS: [(&str, &str); 30] = [
    ("netrc", "machine «host» login «word» password ⟦{P}⟧"),
    ("netrc", "machine git.«host»\n  login «word»-ci\n  password ⟦{P}⟧"),
    ("netrc", "default login «word» password ⟦{P}⟧"),
    ("docker-login", "docker login -u «word» -p ⟦{P}⟧ registry.«host»"),
    ("docker-login", "$ docker login registry.«host» --username ci --password ⟦{P}⟧"),
    ("docker-login", "docker login \\\n  -u «word» \\\n  -p '⟦{P}⟧' \\\n  registry.«host»"),
    ("docker-login", "podman login -u ci -p \"⟦{P}⟧\" quay.«host»"),
    ("mysql", "mysql -h «host» -u root -p⟦{P}⟧ «word»"),
    ("mysql", "mysqldump -u«word» -p'⟦{P}⟧' «word» > dump.sql"),
    ("mysql", "docker exec -i db mariadb -uroot -p⟦{P}⟧ < «word».sql"),
    ("sshpass", "sshpass -p ⟦{P}⟧ ssh deploy@«host»"),
    ("sshpass", "sshpass -p'⟦{P}⟧' rsync -a out/ «word»@«host»:/srv"),
    ("sshpass", "sshpass -p \"⟦{P}⟧\" scp «word».tar.gz root@10.0.0.«1-9 1»:/tmp"),
    ("cookie", "Cookie: session=⟦«b62 32»⟧; theme=dark"),
    ("cookie", "curl -H 'Cookie: lang=en; sid=⟦«hex 32»⟧' https://«host»/«word»"),
    ("cookie", "Set-Cookie: connect.sid=⟦s%3A«url 32».«b64 43»⟧; Path=/; HttpOnly"),
    ("cookie", "> Cookie: _session_id=⟦«hex 32»⟧"),
    ("table", "| user | password |\n|------|----------|\n| «word» | ⟦{P}⟧ |"),
    ("table", "| host | user | password | note |\n|:--|:--|:--|:--|\n| «host» | root | `⟦{P}⟧` | until Friday |"),
    ("table", "| what | value |\n|---|---|\n| password | ⟦{P}⟧ |\n| port | 5432 |"),
    ("table", "| service | api key |\n|---|---|\n| «word» | ⟦«b62 32»⟧ |"),
    ("identified-by", "CREATE USER '«word»'@'%' IDENTIFIED BY '⟦{P}⟧';"),
    ("identified-by", "ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY '⟦{P}⟧';"),
    ("identified-by", "grant all on «word».* to '«word»'@'%' identified by \"⟦{P}⟧\";"),
    ("yaml-block", "«word»:\n  user: «word»\n  password: >-\n    ⟦{P}⟧\n  port: 5432"),
    ("yaml-block", "password: |\n  ⟦{P}⟧\nhost: «host»"),
    ("yaml-block", "api_key: >\n  ⟦«b62 40»⟧\nregion: eu"),
    ("kubeconfig", "users:\n- name: «word»-admin\n  user:\n    client-key-data: ⟦{K}⟧"),
    ("kubeconfig", "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\ndata:\n  tls.key: ⟦{K}⟧"),
    ("kubeconfig", "    client-certificate-data: {C}\n    client-key-data: ⟦{K}⟧"),
];

/// Returns the kind of a habit and its text with marks, among sentences, in a fence or indented.
pub(crate) fn habit(random: &mut Random, number: usize) -> (&'static str, &'static str, String) {
    let (kind, template) = HABITS[number % HABITS.len()];
    let password = *random.pick(&PASSWORDS);
    let armoured = |random: &mut Random, label: &str| {
        let key = bytes(random, 900);
        let dashes = "-".repeat(5);
        let body = base64(&key, false);
        let text = format!("{dashes}BEGIN {label}{dashes}\n{body}\n{dashes}END {label}{dashes}\n");
        base64(text.as_bytes(), false)
    };
    let (key, certificate) = (armoured(random, "RSA PRIVATE KEY"), armoured(random, "CERTIFICATE"));
    let template = template.replace("{P}", password).replace("{K}", &key).replace("{C}", &certificate);
    let text = marked(random, &template);
    let (before, after) = (sentence(random), sentence(random));
    let (carrier, text) = match random.below(4) {
        0 => ("fence", format!("{before}\n\n```\n{text}\n```\n")),
        1 => ("plain", format!("{text}\n")),
        2 => ("among", format!("{before}\n\n{text}\n\n{after}\n")),
        _ => (
            "indented",
            format!("{before}\n\n{}\n", text.lines().flat_map(|line| ["    ", line, "\n"]).collect::<String>()),
        ),
    };
    (kind, carrier, text)
}
