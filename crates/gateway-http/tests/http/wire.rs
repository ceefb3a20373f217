//! A client that is nothing but HTTP/1.1 over TCP, so that what goes over the wire is exactly what
//! a test says.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// The patience of a client that is told of no other.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection, used again for each request.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
    /// Headers sent with every request.
    pub(crate) headers: Vec<(String, String)>,
    /// A test that waits so long has failed.
    pub(crate) patience: Duration,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    /// `code` and `field` of an error.
    pub(crate) fn fault(&self) -> (String, Option<String>) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        (text("code").unwrap_or_else(|| panic!("no error: {self:?}")), text("field"))
    }
}

async fn within<T>(patience: Duration, what: &str, future: impl Future<Output = T>) -> T {
    timeout(patience, future).await.unwrap_or_else(|_| panic!("{what} took too long"))
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = within(PATIENCE, "connecting", TcpStream::connect(address)).await.expect("a connection");
        Self { stream: BufReader::new(stream), headers: Vec::new(), patience: PATIENCE }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("POST", path, body).await
    }

    /// Sends a request with a body and reads its answer.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let body = body.as_ref();
        let mut request = self.head(method, path);
        request.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        self.send(&request).await;
        self.answer().await
    }

    /// The request line and the headers of every request, without the empty line.
    pub(crate) fn head(&self, method: &str, path: &str) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    /// Sends bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        within(self.patience, "sending", self.stream.write_all(bytes)).await.expect("sent");
    }

    /// Sends a piece of a chunked body; an empty one ends it.
    pub(crate) async fn send_chunk(&mut self, bytes: &[u8]) {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.send(&chunk).await;
    }

    /// Reads an answer whole.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.answer_head().await;
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                answer.body.extend_from_slice(&chunk);
            }
        } else {
            let length = answer.header("content-length").expect("a length").parse().expect("a number");
            answer.body = vec![0; length];
            within(self.patience, "the body", self.stream.read_exact(&mut answer.body)).await.expect("a body");
        }
        answer
    }

    /// Reads the status and the headers of an answer.
    pub(crate) async fn answer_head(&mut self) -> Answer {
        let status_line = self.line().await;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {status_line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            if line.is_empty() {
                return Answer { status, headers, body: Vec::new() };
            }
            let (name, value) = line.split_once(':').expect("a header");
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// Reads a piece of a chunked answer; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await, 16).expect("a chunk length");
        let mut chunk = vec![0; length];
        within(self.patience, "a chunk", self.stream.read_exact(&mut chunk)).await.expect("a chunk");
        assert_eq!(self.line().await, "");
        (length > 0).then_some(chunk)
    }

    /// Whether the other side has closed, and sent nothing before.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        within(self.patience, "the close", self.stream.read(&mut byte)).await.map_or(true, |read| read == 0)
    }

    async fn line(&mut self) -> String {
        let mut line = Vec::new();
        within(self.patience, "a line", self.stream.read_until(b'\n', &mut line)).await.expect("a line");
        let line = String::from_utf8(line).expect("UTF-8");
        line.trim_end().to_owned()
    }
}
