// SPDX-License-Identifier: MIT

// hyper on tokio's current-thread runtime: the files of a folder, kept in memory.
//   http PORT DIR
// Answers to pipelined requests leave together (pipeline_flush), as hyper's users set it.
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_TYPE, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::convert::Infallible;
use std::rc::Rc;

type Site = HashMap<String, Bytes>;

fn load(folder: &str) -> std::io::Result<Site> {
    let mut site = Site::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("/{}", entry.file_name().to_string_lossy());
        site.insert(name, Bytes::from(std::fs::read(entry.path())?));
    }
    Ok(site)
}

fn answer(site: &Site, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let found = site.get(request.uri().path());
    let mut response = Response::new(Full::new(found.cloned().unwrap_or_default()));
    if found.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let fields = response.headers_mut();
    fields.insert(SERVER, HeaderValue::from_static("hyper"));
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

async fn serve(port: u16, site: Rc<Site>) -> std::io::Result<()> {
    // As the other servers have it: 1,200 clients may ask for a connection at once.
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], port)))?;
    let listener = socket.listen(4096)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let site = site.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let response = answer(&site, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            // A client that leaves in the middle is no error of ours.
            let _ = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, serve(port, site))
}
