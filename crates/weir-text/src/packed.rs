// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Files that the program carries along, compressed: build scripts pack them, the program unpacks them when it needs them.

/// Bytes, compressed (zlib).
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6)
}

/// The bytes that [`pack`] was given.
///
/// # Panics
/// `packed` is not the result of [`pack`].
pub fn unpack(packed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec_zlib(packed).expect("packed by the build")
}

/// Texts with their names, in one piece.
pub fn pack_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, text) in texts {
        all.extend_from_slice(format!("{name}\n{}\n", text.len()).as_bytes());
        all.extend_from_slice(text.as_bytes());
    }
    pack(&all)
}

/// The names and texts that [`pack_texts`] was given.
///
/// # Panics
/// `packed` is not the result of [`pack_texts`].
pub fn unpack_texts(packed: &[u8]) -> Vec<(String, String)> {
    let all = String::from_utf8(unpack(packed)).expect("texts");
    let mut rest = all.as_str();
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('\n').expect("a name");
        let (length, after) = after.split_once('\n').expect("a length");
        let (text, after) = after.split_at(length.parse().expect("a number"));
        texts.push((name.to_owned(), text.to_owned()));
        rest = after;
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let texts = [("a/b.c", "int x;\n"), ("empty", ""), ("c", "no newline at the end: ä")];
        let packed = pack_texts(texts);
        let back = unpack_texts(&packed);
        assert_eq!(back.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect::<Vec<_>>(), texts);
        assert!(unpack_texts(&pack_texts([])).is_empty());
    }

    #[test]
    fn repetition_takes_no_room() {
        let bytes = vec![0; 100_000];
        let packed = pack(&bytes);
        assert!(packed.len() < 500, "{} bytes", packed.len());
        assert_eq!(unpack(&packed), bytes);
    }
}
