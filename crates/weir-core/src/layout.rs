// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Size and fields of each struct that Rust mirrors are where C has them. `build/layout.rs` makes both tables.

include!(concat!(env!("OUT_DIR"), "/layouts.rs"));

unsafe extern "C" {
    static weir_layout: [u32; 0];
    static weir_layout_len: u32;
}

#[test]
fn layouts_agree_with_c() {
    // SAFETY: a constant table of C and its length.
    let theirs = unsafe {
        std::slice::from_raw_parts((&raw const weir_layout).cast::<u32>(), weir_layout_len as usize)
    };
    let mut rest = theirs;
    for (name, beginning, ours) in layouts() {
        let (own, more) = rest.split_at(ours.len());
        for ((field, ours), theirs) in ours.iter().zip(own).skip(1) {
            assert_eq!(*ours, *theirs as usize, "offset of {field} in struct {name}");
        }
        let (ours, theirs) = (ours[0].1, own[0] as usize);
        // Where only the beginning is mirrored, C's record is larger.
        assert!(ours == theirs || (beginning && ours < theirs), "size of struct {name}: {ours}, {theirs}");
        rest = more;
    }
    assert!(rest.is_empty());
}
