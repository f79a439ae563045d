// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables in the Arrow C stream interface: three structs that Arrow's specification defines, filled from our columns.
//!
//! Numbers are handed over where they are; an array keeps its chunk alive. Only bit masks and texts, whose layout differs, are made
//! for the consumer.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use weir::tables::{Chunk, Column, Field, Kind, Table, Values};

const NULLABLE: i64 = 2;
const EINVAL: c_int = 22;

#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: what the pointers lead to belongs to the stream alone, or is shared and constant.
unsafe impl Send for ArrowArrayStream {}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody has taken the stream over, or `release` would be null.
            unsafe { release(self) }
        }
    }
}

/// What a schema keeps alive.
struct SchemaParts {
    _texts: [CString; 2],
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer calls this once; `private_data` is the box that `schema()` made.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        for &child in parts.children.iter().chain([&parts.dictionary]) {
            if !child.is_null() {
                let mut child = Box::from_raw(child);
                if let Some(release) = child.release {
                    release(&mut *child);
                }
            }
        }
        (*schema).release = None;
    }
}

fn schema(
    format: &str,
    name: &str,
    nullable: bool,
    children: Vec<ArrowSchema>,
    dictionary: Option<ArrowSchema>,
) -> ArrowSchema {
    let text = |t: &str| CString::new(t).expect("no zero byte in a format or a name");
    let texts = [text(format), text(name)];
    let (f, n) = (texts[0].as_ptr(), texts[1].as_ptr());
    let children: Vec<*mut ArrowSchema> = children.into_iter().map(|c| Box::into_raw(Box::new(c))).collect();
    let dictionary = dictionary.map_or(ptr::null_mut(), |d| Box::into_raw(Box::new(d)));
    let mut parts = Box::new(SchemaParts { _texts: texts, children, dictionary });
    ArrowSchema {
        format: f,
        name: n,
        metadata: ptr::null(),
        flags: if nullable { NULLABLE } else { 0 },
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary,
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

fn field_schema(field: &Field) -> ArrowSchema {
    let (format, words) = match field.kind {
        Kind::U32 => ("I", false),
        Kind::U64 => ("L", false),
        Kind::F64 => ("g", false),
        Kind::Bool => ("b", false),
        Kind::Text => ("U", false),
        Kind::Word(_) => ("c", true),
    };
    let dictionary = words.then(|| schema("U", "", false, Vec::new(), None));
    schema(format, field.name, field.nullable, Vec::new(), dictionary)
}

/// What an array keeps alive: the chunk, and what was made for it.
struct ArrayParts {
    _chunk: Option<Arc<Chunk>>,
    _bits: Vec<Vec<u8>>,
    _offsets: Vec<i64>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as for schemas. A consumer that has moved a child out has set its `release` to null.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for &child in parts.children.iter().chain([&parts.dictionary]) {
            if !child.is_null() {
                let mut child = Box::from_raw(child);
                if let Some(release) = child.release {
                    release(&mut *child);
                }
            }
        }
        (*array).release = None;
    }
}

fn array(rows: usize, nulls: usize, parts: ArrayParts) -> ArrowArray {
    let mut parts = Box::new(parts);
    ArrowArray {
        length: rows as i64,
        null_count: nulls as i64,
        offset: 0,
        n_buffers: parts.buffers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: if parts.children.is_empty() { ptr::null_mut() } else { parts.children.as_mut_ptr() },
        dictionary: parts.dictionary,
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// A bit per entry, least significant first.
fn bits(entries: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut out = vec![0u8; entries.len().div_ceil(8).max(1)];
    for (i, set) in entries.enumerate() {
        out[i / 8] |= u8::from(set) << (i % 8);
    }
    out
}

fn texts<'a>(list: impl Iterator<Item = &'a str>) -> (Vec<i64>, Vec<u8>) {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for text in list {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(bytes.len() as i64);
    }
    if bytes.is_empty() {
        // Some consumers want a buffer where there is nothing.
        bytes.push(0);
    }
    (offsets, bytes)
}

fn text_array(list: &[&str]) -> ArrowArray {
    let (offsets, bytes) = texts(list.iter().copied());
    let buffers = vec![ptr::null(), offsets.as_ptr().cast(), bytes.as_ptr().cast()];
    let parts = ArrayParts {
        _chunk: None,
        _bits: vec![bytes],
        _offsets: offsets,
        buffers,
        children: Vec::new(),
        dictionary: ptr::null_mut(),
    };
    array(list.len(), 0, parts)
}

fn column_array(chunk: &Arc<Chunk>, column: &Column, field: &Field) -> ArrowArray {
    let mut made = Vec::new();
    let mut offsets = Vec::new();
    let nulls = column.nulls.iter().filter(|n| **n).count();
    let valid = if nulls == 0 {
        ptr::null()
    } else {
        made.push(bits(column.nulls.iter().map(|n| !n)));
        made[0].as_ptr().cast()
    };
    let mut buffers = vec![valid];
    match &column.values {
        Values::U32(v) => buffers.push(v.as_ptr().cast()),
        Values::U64(v) => buffers.push(v.as_ptr().cast()),
        Values::F64(v) => buffers.push(v.as_ptr().cast()),
        Values::Word(v) => buffers.push(v.as_ptr().cast()),
        Values::Bool(v) => {
            made.push(bits(v.iter().copied()));
            buffers.push(made[made.len() - 1].as_ptr().cast());
        }
        Values::Text(v) => {
            let (o, bytes) = texts(v.iter().map(|t| &**t));
            offsets = o;
            made.push(bytes);
            buffers.push(offsets.as_ptr().cast());
            buffers.push(made[made.len() - 1].as_ptr().cast());
        }
    }
    let dictionary = match field.kind {
        Kind::Word(words) => Box::into_raw(Box::new(text_array(words))),
        _ => ptr::null_mut(),
    };
    let parts = ArrayParts {
        _chunk: Some(chunk.clone()),
        _bits: made,
        _offsets: offsets,
        buffers,
        children: Vec::new(),
        dictionary,
    };
    array(chunk.rows, nulls, parts)
}

/// Names of the tasks, and the column of their numbers, which are the places of the names.
pub type Names = (usize, Arc<[String]>);

/// Names that a column of numbers stands for: the numbers as they are, with the names as their dictionary.
fn name_array(chunk: &Arc<Chunk>, (at, names): &Names) -> ArrowArray {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let numbers = match &chunk.columns[*at].values {
        Values::U32(v) => v.as_ptr().cast(),
        _ => ptr::null(),
    };
    let parts = ArrayParts {
        _chunk: Some(chunk.clone()),
        _bits: Vec::new(),
        _offsets: Vec::new(),
        buffers: vec![ptr::null(), numbers],
        children: Vec::new(),
        dictionary: Box::into_raw(Box::new(text_array(&list))),
    };
    array(chunk.rows, 0, parts)
}

fn chunk_array(table: &Table, names: Option<&Names>, chunk: &Arc<Chunk>) -> ArrowArray {
    let mut children: Vec<*mut ArrowArray> = table
        .fields
        .iter()
        .zip(&chunk.columns)
        .map(|(field, column)| Box::into_raw(Box::new(column_array(chunk, column, field))))
        .collect();
    if let Some(names) = names {
        children.insert(names.0 + 1, Box::into_raw(Box::new(name_array(chunk, names))));
    }
    let parts = ArrayParts {
        _chunk: Some(chunk.clone()),
        _bits: Vec::new(),
        _offsets: Vec::new(),
        buffers: vec![ptr::null()],
        children,
        dictionary: ptr::null_mut(),
    };
    array(chunk.rows, 0, parts)
}

/// A stream under way.
struct Position {
    table: Arc<Table>,
    names: Option<Names>,
    next: usize,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes a live stream and room for a schema.
    unsafe {
        if (*stream).private_data.is_null() {
            return EINVAL;
        }
        let position = &*(*stream).private_data.cast::<Position>();
        let mut children: Vec<ArrowSchema> = position.table.fields.iter().map(field_schema).collect();
        if let Some((at, _)) = &position.names {
            let words = schema("U", "", false, Vec::new(), None);
            children.insert(at + 1, schema("I", "name", false, Vec::new(), Some(words)));
        }
        out.write(schema("+s", "", false, children, None));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above. The end is an array that is released already.
    unsafe {
        if (*stream).private_data.is_null() {
            return EINVAL;
        }
        let position = &mut *(*stream).private_data.cast::<Position>();
        match position.table.chunks.get(position.next) {
            Some(chunk) => {
                position.next += 1;
                out.write(chunk_array(&position.table, position.names.as_ref(), chunk));
            }
            None => out.write(std::mem::zeroed()),
        }
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: called once; `private_data` is the box that `stream()` made.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Position>()));
        (*stream).private_data = ptr::null_mut();
        (*stream).release = None;
    }
}

/// The table as a stream of its chunks; with names, these stand in a column beside the numbers of the tasks.
pub fn stream(table: &Arc<Table>, names: Option<Names>) -> ArrowArrayStream {
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(Position { table: table.clone(), names, next: 0 })).cast(),
    }
}
