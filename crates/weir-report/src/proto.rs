// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Just enough of protobuf's wire format to write trace packets quickly.
//!
//! A trace event takes some tens of nanoseconds here, which a generic encoder with its size pass and
//! allocations does not reach; that matters at a million slices a second. Field numbers are those of
//! Perfetto's published `trace_packet.proto`, `track_event.proto` and `track_descriptor.proto`.

/// Bytes of a message under construction.
#[derive(Debug, Default)]
pub struct Buf(pub Vec<u8>);

const VARINT: u32 = 0;
const BYTES: u32 = 2;

impl Buf {
    #[inline]
    pub fn varint(&mut self, mut value: u64) {
        // Most values are small: ids and enums.
        if value < 0x80 {
            self.0.push(value as u8);
            return;
        }
        let mut bytes = [0u8; 10];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        self.0.extend_from_slice(&bytes[..=len]);
    }

    /// Field with an integer, enum or bool.
    #[inline]
    pub fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | VARINT));
        self.varint(value);
    }

    pub fn string(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field << 3 | BYTES));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Field with a message that `fill` writes. One byte is set aside for its length; a message longer
    /// than that byte can say is moved, which is rare enough.
    #[inline]
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        self.varint(u64::from(field << 3 | BYTES));
        let at = self.0.len();
        self.0.push(0);
        fill(self);
        let len = self.0.len() - at - 1;
        if len < 0x80 {
            self.0[at] = len as u8;
        } else {
            let body = self.0.split_off(at + 1);
            self.0.pop();
            self.varint(len as u64);
            self.0.extend_from_slice(&body);
        }
    }
}

/// One packet with a track event, built in place. It is always shorter than 128 bytes, so that every
/// length in it takes one byte: at most three annotations of ten-byte numbers fit.
#[derive(Debug)]
pub struct Packet {
    bytes: [u8; 128],
    len: usize,
    /// Time in the bytes, and where the event's fields begin: many packets have the time of the last.
    t: u64,
    event: usize,
}

/// Trace.packet with its length still open; sequence id 1; flag "needs incremental state"; timestamp.
const HEAD: [u8; 7] = [0x0a, 0, 0x50, 1, 0x68, 2, 0x40];

impl Default for Packet {
    fn default() -> Self {
        Self::of_sequence(1)
    }
}

impl Packet {
    /// Packets of another sequence, a number below 128.
    pub fn of_sequence(id: u8) -> Self {
        let mut packet = Self { bytes: [0; 128], len: 0, t: 0, event: 0 };
        packet.bytes[..HEAD.len()].copy_from_slice(&HEAD);
        packet.bytes[3] = id;
        packet.head(0);
        packet
    }
}

impl Packet {
    /// A packet of time `t` with an empty event.
    #[inline]
    pub fn begin(&mut self, t: u64) {
        if t != self.t {
            self.head(t);
        }
        self.len = self.event;
    }

    fn head(&mut self, t: u64) {
        self.len = HEAD.len();
        self.varint(t);
        self.push(0x5a);
        self.push(0);
        self.t = t;
        self.event = self.len;
    }

    /// Fills in the lengths; the bytes of the finished packet.
    #[inline]
    pub fn end(&mut self) -> &[u8] {
        debug_assert!(self.len < 128);
        let (event, len) = (self.event & 127, self.len & 127);
        self.bytes[event - 1] = (len - event) as u8;
        self.bytes[1] = (len - 2) as u8;
        &self.bytes[..len]
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        // The mask changes nothing, but shows the compiler that the index is in range.
        self.bytes[self.len & 127] = byte;
        self.len += 1;
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// Field with an integer or enum.
    #[inline]
    pub fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | VARINT));
        self.varint(value);
    }

    /// Field with a number of eight bytes.
    #[inline]
    pub fn fixed64(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | 1));
        value.to_le_bytes().into_iter().for_each(|b| self.push(b));
    }

    /// Field with a message that `fill` writes.
    #[inline]
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        self.varint(u64::from(field << 3 | BYTES));
        self.push(0);
        let at = self.len;
        fill(self);
        self.bytes[(at - 1) & 127] = (self.len - at) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_little_endian_base_128() {
        let mut b = Buf::default();
        for v in [0, 1, 127, 128, 300, u64::MAX] {
            b.varint(v);
        }
        let max = [0xff; 9].into_iter().chain([1]);
        assert_eq!(b.0, [0, 1, 127, 0x80, 1, 0xac, 2].into_iter().chain(max).collect::<Vec<u8>>());
    }

    #[test]
    fn packets_hold_the_largest_event() {
        let mut p = Packet::default();
        p.begin(u64::MAX);
        p.uint(11, u64::MAX);
        p.uint(10, u64::MAX);
        for _ in 0..3 {
            p.message(4, |p| {
                p.uint(1, 9);
                p.uint(3, u64::MAX);
            });
        }
        let bytes = p.end();
        assert_eq!(usize::from(bytes[1]), bytes.len() - 2);
        p.begin(1);
        p.uint(9, 3);
        assert_eq!(p.end(), [0x0a, 10, 0x50, 1, 0x68, 2, 0x40, 1, 0x5a, 2, 0x48, 3]);
    }

    #[test]
    fn long_messages_get_long_lengths() {
        let text = "x".repeat(300);
        let mut b = Buf::default();
        b.message(1, |b| b.message(2, |b| b.string(3, &text)));
        // 300 characters + tag and two length bytes = 303; + tag and two = 306.
        assert_eq!(b.0[..9], [0x0a, 0xb2, 0x02, 0x12, 0xaf, 0x02, 0x1a, 0xac, 0x02]);
        assert_eq!(b.0.len(), 309);
    }
}
