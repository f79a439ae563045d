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
    fn long_messages_get_long_lengths() {
        let text = "x".repeat(300);
        let mut b = Buf::default();
        b.message(1, |b| b.message(2, |b| b.string(3, &text)));
        // 300 characters + tag and two length bytes = 303; + tag and two = 306.
        assert_eq!(b.0[..9], [0x0a, 0xb2, 0x02, 0x12, 0xaf, 0x02, 0x1a, 0xac, 0x02]);
        assert_eq!(b.0.len(), 309);
    }
}
