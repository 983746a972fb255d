//! Writes records straight in Kafka's protocol, for what no client library lets one write: header names that are
//! not UTF-8.
//!
//! One connection, one Produce request (version 3), one record batch (format 2), one answer.

#![expect(clippy::disallowed_methods, reason = "a test waits for other processes, and reads its environment")]
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// Answers of a broker that has not yet taken up a partition that was just made.
const NOT_KNOWN_YET: i16 = 3;
const NOT_LEADER_YET: i16 = 6;

/// A record in bytes.
#[derive(Default)]
pub struct RawRecord<'a> {
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

/// Appends the records to a partition and returns the offset of the first.
///
/// # Panics
/// The broker cannot be reached or refuses them.
pub fn produce(
    bootstrap: &str,
    topic: &str,
    partition: i32,
    create_ms: i64,
    records: &[RawRecord<'_>],
) -> i64 {
    let batch = batch(create_ms, records);
    let mut body = Vec::new();
    body.extend((-1i16).to_be_bytes()); // no transactional id
    body.extend((-1i16).to_be_bytes()); // acks: all
    body.extend(10_000i32.to_be_bytes());
    body.extend(1i32.to_be_bytes());
    string(&mut body, topic.as_bytes());
    body.extend(1i32.to_be_bytes());
    body.extend(partition.to_be_bytes());
    body.extend(len32(&batch).to_be_bytes());
    body.extend(batch);
    // correlation id, one topic with its name, one partition: number, error code, first offset
    let at = 4 + 4 + 2 + topic.len() + 4 + 4;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ask(bootstrap, 0, 3, &body);
        let code = i16::from_be_bytes(answer[at..at + 2].try_into().expect("two bytes"));
        if code == 0 {
            return i64::from_be_bytes(answer[at + 2..at + 10].try_into().expect("eight bytes"));
        }
        let again = [NOT_KNOWN_YET, NOT_LEADER_YET].contains(&code) && Instant::now() < deadline;
        assert!(again, "the broker refused the batch with error code {code}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn ask(bootstrap: &str, api: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(api.to_be_bytes());
    request.extend(version.to_be_bytes());
    request.extend(7i32.to_be_bytes());
    string(&mut request, b"raw");
    request.extend(body);
    let mut stream = TcpStream::connect(bootstrap).expect("the broker answers");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(&len32(&request).to_be_bytes()).expect("written");
    stream.write_all(&request).expect("written");
    let mut size = [0; 4];
    stream.read_exact(&mut size).expect("an answer");
    let mut answer = vec![0; usize::try_from(i32::from_be_bytes(size)).expect("a length")];
    stream.read_exact(&mut answer).expect("a whole answer");
    answer
}

fn batch(create_ms: i64, records: &[RawRecord<'_>]) -> Vec<u8> {
    let count = i32::try_from(records.len()).expect("few records");
    let mut tail = Vec::new();
    tail.extend(0i16.to_be_bytes()); // no compression, create time, no transaction
    tail.extend((count - 1).to_be_bytes());
    tail.extend(create_ms.to_be_bytes());
    tail.extend(create_ms.to_be_bytes());
    tail.extend((-1i64).to_be_bytes()); // no producer id, epoch, sequence
    tail.extend((-1i16).to_be_bytes());
    tail.extend((-1i32).to_be_bytes());
    tail.extend(count.to_be_bytes());
    for (delta, record) in (0i64..).zip(records) {
        let record = encode(delta, record);
        varint(&mut tail, i64::from(len32(&record)));
        tail.extend(record);
    }
    let mut batch = Vec::new();
    batch.extend(0i64.to_be_bytes());
    batch.extend((len32(&tail) + 9).to_be_bytes());
    batch.extend((-1i32).to_be_bytes());
    batch.push(2);
    batch.extend(crc32c(&tail).to_be_bytes());
    batch.extend(tail);
    batch
}

fn encode(delta: i64, record: &RawRecord<'_>) -> Vec<u8> {
    let mut bytes = vec![0];
    varint(&mut bytes, 0);
    varint(&mut bytes, delta);
    nullable(&mut bytes, record.key);
    nullable(&mut bytes, record.value);
    varint(&mut bytes, i64::try_from(record.headers.len()).expect("few headers"));
    for (name, value) in &record.headers {
        nullable(&mut bytes, Some(name));
        nullable(&mut bytes, *value);
    }
    bytes
}

fn nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    varint(out, bytes.map_or(-1, |bytes| i64::from(len32(bytes))));
    out.extend(bytes.unwrap_or_default());
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(i16::try_from(text.len()).expect("a short text").to_be_bytes());
    out.extend(text);
}

fn varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).expect("seven bits") | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).expect("seven bits"));
}

fn len32(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).expect("less than 2 GiB")
}

/// CRC-32C (Castagnoli), bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 },
        )
    })
}
