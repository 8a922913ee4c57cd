// SPDX-License-Identifier: MIT

// monoio on io_uring with the least HTTP that clients accept: the files of a folder, kept in memory
// as whole answers without a Date, and no field of a request is looked at beyond Connection.
//   http PORT DIR
use bytes::Bytes;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use std::collections::HashMap;
use std::rc::Rc;

type Site = HashMap<Vec<u8>, Bytes>;

const MISSING: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const READ_BYTES: usize = 4096;

fn load(folder: &str) -> std::io::Result<Site> {
    let mut site = Site::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let body = std::fs::read(entry.path())?;
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nServer: monoio\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        answer.extend_from_slice(&body);
        let name = format!("/{}", entry.file_name().to_string_lossy());
        site.insert(name.into_bytes(), Bytes::from(answer));
    }
    Ok(site)
}

// The answer to the first request in `text`, and how long that request is; None: not all is there.
fn first(site: &Site, text: &[u8]) -> Option<(Bytes, usize, bool)> {
    let len = memchr::memmem::find(text, b"\r\n\r\n")? + 4;
    let head = &text[..len];
    let target = head.split(|c| *c == b' ').nth(1).unwrap_or(b"");
    let answer = site.get(target).cloned().unwrap_or(Bytes::from_static(MISSING));
    let closes = memchr::memmem::find(head, b"Connection: close").is_some();
    Some((answer, len, closes))
}

async fn connection(mut stream: TcpStream, site: Rc<Site>) {
    let mut buffer = Vec::with_capacity(READ_BYTES);
    let mut pending: Vec<u8> = Vec::new(); // a request that came in part
    loop {
        let (read, filled) = stream.read(buffer).await;
        buffer = filled;
        if !matches!(read, Ok(n) if n > 0) {
            return;
        }
        let joined;
        let mut text: &[u8] = &buffer;
        if !pending.is_empty() {
            pending.extend_from_slice(text);
            joined = std::mem::take(&mut pending);
            text = &joined;
        }
        // One answer is sent as it is; several leave together.
        let mut one: Option<Bytes> = None;
        let mut many: Vec<u8> = Vec::new();
        let mut ends = false;
        while let Some((answer, len, closes)) = first(&site, text) {
            text = &text[len..];
            ends |= closes;
            if let Some(before) = one.take() {
                many.extend_from_slice(&before);
            }
            if many.is_empty() {
                one = Some(answer);
            } else {
                many.extend_from_slice(&answer);
            }
        }
        if !text.is_empty() {
            pending = text.to_vec();
        }
        let out = one.unwrap_or_else(|| Bytes::from(many));
        if !out.is_empty() && stream.write_all(out).await.0.is_err() || ends {
            return;
        }
        buffer.clear();
    }
}

async fn serve(port: u16, site: Rc<Site>) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        monoio::spawn(connection(stream, site.clone()));
    }
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    if words.len() != 3 {
        eprintln!("usage: http PORT DIR");
        std::process::exit(2);
    }
    let port = words[1].parse().expect("a port");
    let site = Rc::new(load(&words[2])?);
    let mut runtime = monoio::RuntimeBuilder::<monoio::IoUringDriver>::new()
        .with_entries(16384)
        .build()?;
    runtime.block_on(serve(port, site))
}
