//! A language server that misbehaves as it is told: `fake-ls MODE…`, modes joined by commas. Each line that begins with
//! `BAD` is an error `FAKE1`. With `--shim` it is the shim of the tests.
//!
//! `FAKE_SPAWN_LOG` names a file that gets a line for each start, `FAKE_DELAY_MS` says how slow `slow` is.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io::{Read as _, Write as _},
    process::{ExitCode, exit},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use ccd_framing::{Decoder, Event, Limits, encode};
use ccd_process::shim;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|first| first.to_str()) {
        Some(shim::FLAG) => shim::main(arguments),
        Some("--version") => {
            let _ = std::io::stdout().write_all(b"fake 1\n");
            ExitCode::SUCCESS
        }
        Some(modes) => Arc::new(Fake::new(modes)).serve(),
        None => ExitCode::FAILURE,
    }
}

struct Fake {
    modes: Vec<String>,
    output: Mutex<()>,
    texts: Mutex<HashMap<String, String>>,
    last: Mutex<HashMap<String, Vec<Value>>>,
    /// Questions without an answer, and lists that wait for them.
    open: Mutex<Vec<String>>,
    held: Mutex<Vec<Value>>,
    down: Mutex<bool>,
}

impl Fake {
    fn new(modes: &str) -> Self {
        Self {
            modes: modes.split(',').map(str::to_owned).collect(),
            output: Mutex::default(),
            texts: Mutex::default(),
            last: Mutex::default(),
            open: Mutex::default(),
            held: Mutex::default(),
            down: Mutex::default(),
        }
    }

    fn is(&self, mode: &str) -> bool {
        self.modes.iter().any(|one| one == mode)
    }

    fn raw(&self, bytes: &[u8]) {
        let _guard = self.output.lock().unwrap();
        let size = if self.is("split-frames") { 7 } else { bytes.len().max(1) };
        let mut out = std::io::stdout();
        for piece in bytes.chunks(size) {
            if out.write_all(piece).and_then(|()| out.flush()).is_err() {
                exit(1);
            }
        }
    }

    fn send(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let body = message.to_string();
        if self.is("split-frames") {
            let head =
                format!("content-length: {}\r\ncontent-type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n", body.len());
            self.raw(&[head.as_bytes(), body.as_bytes()].concat());
        } else {
            self.raw(&encode(body.as_bytes()));
        }
    }

    fn die(&self, code: i32, words: &str) -> ! {
        let _ = writeln!(std::io::stderr(), "{words}");
        exit(code)
    }

    fn serve(self: Arc<Self>) -> ExitCode {
        if let Some(log) = std::env::var_os("FAKE_SPAWN_LOG") {
            let mut log = OpenOptions::new().create(true).append(true).open(log).unwrap();
            log.write_all(b"started\n").unwrap();
        }
        if self.is("banner") {
            self.raw(b"Fake server 1.0\nreading Content-Length framed messages\nready\n");
        }
        if self.is("banner-crlf") {
            self.raw(b"Fake server 1.0\r\nlicence: none\r\n\r\n");
        }
        if self.is("crash-start") {
            self.die(7, "fatal: license expired");
        }
        if self.is("noisy-stderr") {
            let line = format!("{}\n", "x".repeat(1023));
            (0..10 * 1024).for_each(|_| std::io::stderr().write_all(line.as_bytes()).unwrap());
        }
        if self.is("silent-start") {
            thread::sleep(Duration::from_secs(600));
        }
        let mut decoder = Decoder::new(Limits::default());
        let mut buffer = vec![0; 64 << 10];
        loop {
            while let Some(event) = decoder.next().unwrap() {
                let Event::Message(message) = event else { self.die(5, "fatal: junk from the client") };
                self.take(message.parse().unwrap());
            }
            match std::io::stdin().read(&mut buffer) {
                Ok(count @ 1..) => decoder.push(&buffer[..count]),
                _ => return ExitCode::from(1),
            }
        }
    }

    fn take(self: &Arc<Self>, message: Value) {
        let (id, params) = (&message["id"], &message["params"]);
        let uri = || params["textDocument"]["uri"].as_str().unwrap().to_owned();
        match message["method"].as_str() {
            None => self.answered(&message),
            Some("initialize") => {
                assert_eq!(params["capabilities"]["general"]["positionEncodings"], json!(["utf-8", "utf-16"]));
                let encoding = if self.is("utf-8") { "utf-8" } else { "utf-16" };
                let mut capabilities = json!({"textDocumentSync": 2, "positionEncoding": encoding});
                if self.is("pull") {
                    capabilities["diagnosticProvider"] = json!({"interFileDependencies": false});
                }
                self.send(json!({"id": id, "result": {"capabilities": capabilities}}));
            }
            Some("initialized") if self.is("asks-config") => self.ask(),
            Some("initialized") if self.is("registers-pull") => {
                let registration = json!({"id": "d", "method": "textDocument/diagnostic"});
                self.send(json!({"id": "r", "method": "client/registerCapability", "params": {"registrations": [registration]}}));
            }
            Some("textDocument/didOpen") => {
                let text = params["textDocument"]["text"].as_str().unwrap().to_owned();
                self.texts.lock().unwrap().insert(uri(), text.clone());
                self.check(uri(), &params["textDocument"]["version"], text, None);
            }
            Some("textDocument/didChange") => {
                if self.is("crash-each-change") {
                    self.die(9, "fatal: change");
                }
                let mut text = self.texts.lock().unwrap()[&uri()].clone();
                let old = text.clone();
                let changes = params["contentChanges"].as_array().unwrap();
                assert_eq!(changes.len(), 1);
                if changes[0]["range"].is_null() {
                    self.die(3, "fatal: bad line number");
                }
                let end = changes[0]["range"]["end"]["line"].as_u64().unwrap();
                if end != text.matches('\n').count() as u64 {
                    self.die(3, "fatal: not the whole text");
                }
                text = changes[0]["text"].as_str().unwrap().to_owned();
                self.texts.lock().unwrap().insert(uri(), text.clone());
                self.check(uri(), &params["textDocument"]["version"], text, Some(old));
            }
            Some("textDocument/diagnostic") if self.is("pull") || self.is("registers-pull") => {
                if self.is("cancels") && self.last.lock().unwrap().insert("cancelled".to_owned(), Vec::new()).is_none() {
                    let error = json!({"code": -32802, "message": "cancelled"});
                    return self.send(json!({"id": id, "error": error}));
                }
                let items = self.list(&self.texts.lock().unwrap()[&uri()]);
                // Some servers say no kind.
                self.send(json!({"id": id, "result": {"kind": "", "items": items}}));
            }
            Some("shutdown") if self.is("ignores-shutdown") => {}
            Some("shutdown") if message.get("params").is_some() => {
                self.send(json!({"id": id, "error": {"code": -32602, "message": "expected no params"}}));
            }
            Some("shutdown") => {
                *self.down.lock().unwrap() = true;
                self.send(json!({"id": id, "result": null}));
            }
            Some("exit") if message.get("params").is_none() => exit(i32::from(!*self.down.lock().unwrap())),
            Some("fake/die") => self.die(9, "fatal: asked to"),
            Some(method) if !id.is_null() => {
                if self.is("dies-in-request") {
                    self.die(9, "fatal: in a request");
                }
                let error = json!({"code": -32601, "message": format!("no {method}")});
                self.send(json!({"id": id, "error": error}));
            }
            Some(_) => {}
        }
    }

    /// Publishes nothing until all questions are answered.
    fn ask(&self) {
        let watch = json!({"id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": [{"globPattern": "**/*.fake"}]}});
        let asks = [
            ("c1", "workspace/configuration", json!({"items": [{"section": "a"}, {"section": "b"}]})),
            ("c2", "client/registerCapability", json!({"registrations": [watch]})),
            ("c3", "window/workDoneProgress/create", json!({"token": "t"})),
            ("c4", "window/showMessageRequest", json!({"type": 2, "message": "Really?"})),
            ("c5", "fake/unknownRequest", json!({})),
            ("c6", "client/unregisterCapability", json!({"unregisterations": [{"id": "w", "method": "x"}]})),
            ("c7", "workspace/applyEdit", json!({"edit": {}})),
        ];
        *self.open.lock().unwrap() = asks.iter().map(|(id, ..)| (*id).to_owned()).collect();
        for (id, method, params) in asks {
            self.send(json!({"id": id, "method": method, "params": params}));
        }
    }

    fn answered(&self, message: &Value) {
        let Some(id) = message["id"].as_str() else { return };
        let good = match id {
            "c1" => message["result"] == json!([null, null]),
            "c5" => message["error"]["code"] == -32601,
            "c7" => message["result"]["applied"] == false,
            _ => message.get("result").is_some_and(Value::is_null),
        };
        if !good {
            self.die(4, &format!("wrong answer: {message}"));
        }
        let mut open = self.open.lock().unwrap();
        open.retain(|other| other != id);
        if open.is_empty() {
            self.held.lock().unwrap().drain(..).for_each(|list| self.send(list));
        }
    }

    fn list(&self, text: &str) -> Vec<Value> {
        let bad = text.lines().enumerate().filter(|(_, line)| line.starts_with("BAD"));
        bad.map(|(at, line)| {
            let (line_at, end) = if self.is("bad-positions") { (99_999, -7) } else { (at, line.encode_utf16().count() as i64) };
            let range = json!({"start": {"line": line_at, "character": 0}, "end": {"line": line_at, "character": end}});
            json!({"range": range, "severity": 1, "code": "FAKE1", "source": "fake", "message": format!("bad line: {line}")})
        })
        .collect()
    }

    fn publish(&self, uri: &str, version: i64, list: &[Value]) {
        let mut params = json!({"uri": uri, "diagnostics": list});
        if !self.is("noversion") && !self.is("silent-if-same") {
            params["version"] = json!(version);
        }
        let message = json!({"method": "textDocument/publishDiagnostics", "params": params});
        if self.open.lock().unwrap().is_empty() {
            self.send(message);
        } else {
            self.held.lock().unwrap().push(message);
        }
    }

    fn check(self: &Arc<Self>, uri: String, version: &Value, text: String, old: Option<String>) {
        if self.is("silent") || self.is("pull") || self.is("registers-pull") {
            return;
        }
        let (fake, version) = (Arc::clone(self), version.as_i64().unwrap());
        thread::spawn(move || {
            if fake.is("slow") {
                let delay = std::env::var("FAKE_DELAY_MS").unwrap().parse().unwrap();
                thread::sleep(Duration::from_millis(delay));
            }
            if let Some(old) = old.filter(|_| fake.is("stale-first")) {
                fake.publish(&uri, version - 1, &fake.list(&old));
                thread::sleep(Duration::from_millis(200));
            }
            let list = fake.list(&text);
            let before = fake.last.lock().unwrap().insert(uri.clone(), list.clone());
            let messages = |list: &[Value]| list.iter().map(|one| one["message"].clone()).collect::<Vec<_>>();
            if fake.is("silent-if-same") && before.is_some_and(|before| messages(&before) == messages(&list)) {
                return;
            }
            fake.publish(&uri, version, &list);
        });
    }
}
